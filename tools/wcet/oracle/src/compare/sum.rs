//! Sums over rows.

use serde::Serialize;

use crate::compare::row::{Row, Verdict};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Sum {
    pub binaries: usize,
    /// Those that the analysis refuses.
    pub refused: usize,
    pub loops: usize,
    pub bounded: usize,
    pub exact: usize,
    pub above: usize,
    pub below: usize,
    pub unbounded: usize,
}

impl Sum {
    pub fn of<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Sum {
        let mut sum = Sum::default();
        for row in rows {
            sum.binaries += 1;
            sum.refused += usize::from(!row.errors.is_empty());
            for found in &row.loops {
                sum.loops += 1;
                match found.verdict {
                    Verdict::Exact => sum.exact += 1,
                    Verdict::Above => sum.above += 1,
                    Verdict::Below => sum.below += 1,
                    Verdict::Unbounded | Verdict::Missing => sum.unbounded += 1,
                }
            }
        }
        sum.bounded = sum.exact + sum.above + sum.below;
        sum
    }

    /// Bounded loops in a hundred.
    pub fn bounded_percent(&self) -> f64 {
        percent(self.bounded, self.loops)
    }

    /// Loops whose bound is what was measured, in a hundred.
    pub fn exact_percent(&self) -> f64 {
        percent(self.exact, self.loops)
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        100.0
    } else {
        100.0 * part as f64 / whole as f64
    }
}
