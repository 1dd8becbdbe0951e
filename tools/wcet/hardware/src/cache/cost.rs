//! Verdicts as cycles.

use crate::cache::outcome::Outcome;
use crate::cache::path::{lines, path, Lines};
use crate::cache::{Access, Kind, Target};
use crate::machine::Cache;

/// Names of the lines of walks are above all numbers of lines, and below those of the stack.
const WALKS: u64 = 2 << 62;
/// A walk through more lines is an access to any line each time.
pub const FARTHEST: u64 = 1 << 16;

/// What an access costs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cost {
    /// At each execution.
    pub cycles: u64,
    /// It may go beyond the first level at each execution: `cycles` covers that.
    pub beyond: bool,
    /// It may go beyond the first level at some: the charges cover that.
    pub late: bool,
    pub charges: Vec<Charge>,
}

/// To be paid at most once for each entry of a scope, however many accesses name it: of several with the same scope,
/// cache and line the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Charge {
    pub scope: usize,
    pub cache: usize,
    pub line: u64,
    pub cycles: u64,
}

impl Outcome {
    /// The cost of access number `access` of `node`.
    pub fn cost(&self, node: usize, access: usize) -> Cost {
        let asked = &self.graph.nodes[node].accesses[access];
        if asked.kind == Kind::Forget {
            return Cost::default();
        }
        let (touched, device) = match lines(&self.machine, asked, 1) {
            Lines::These { lines, device } => (Some(lines), device),
            Lines::Any { device } => (self.named_lines(asked), device),
        };
        let mut cost = match &touched {
            Some(lines) if lines.is_empty() => Cost::default(),
            _ => {
                self.cached((node, access), asked, &path(&self.machine, asked.kind), touched.as_deref().unwrap_or(&[]))
            }
        };
        if let Some(cycles) = device {
            cost.cycles = cost.cycles.max(cycles);
            cost.beyond = true;
        }
        let first = path(&self.machine, asked.kind).first().map(|&first| self.verdict(node, access, first));
        if !cost.beyond {
            let first = first.unwrap_or_default();
            cost.late = !first.always_hit && first.persistent.is_some();
            cost.beyond = !first.always_hit && first.persistent.is_none();
        }
        cost
    }

    /// Names for the lines that an access to the stack can touch, or a walk.
    fn named_lines(&self, asked: &Access) -> Option<Vec<u64>> {
        match (asked.target, &self.stack) {
            (Target::Walk { name, lines }, _) => {
                Some((0..lines.clamp(1, FARTHEST)).map(|line| WALKS + name * FARTHEST + line).collect())
            }
            (Target::Stack(first, last), Some(stack)) => stack.names(first, last),
            _ => None,
        }
    }

    /// Whether lines of a cache can be written: not if a nearer one takes in every line that is, for it is marked there.
    fn keeps_written(&self, index: usize) -> bool {
        let cache = &self.machine.caches[index];
        let takes_all = |nearer: &Cache| {
            nearer.level < cache.level
                && nearer.holds_data()
                && nearer.allocate_on_write
                && nearer.locked_ways < nearer.ways
        };
        cache.holds_data() && !self.machine.caches.iter().any(takes_all)
    }

    /// The cost if no device is touched, from the first cache of `path` on.
    fn cached(&self, at: (usize, usize), asked: &Access, path: &[usize], lines: &[u64]) -> Cost {
        let Some((&index, further)) = path.split_first() else {
            let memory = &self.machine.memory;
            let cycles = if asked.kind == Kind::Write { memory.write } else { memory.latency };
            return Cost { cycles, ..Cost::default() };
        };
        let cache = &self.machine.caches[index];
        let verdict = self.verdict(at.0, at.1, index);
        if verdict.always_hit {
            return Cost { cycles: cache.latency, ..Cost::default() };
        }
        let mut miss = self.cached(at, asked, further, lines);
        if self.keeps_written(index) && (asked.kind != Kind::Write || cache.allocate_on_write) {
            miss.cycles += cache.write_back;
        }
        if let Some(scope) = verdict.persistent {
            let cycles = miss.cycles.saturating_sub(cache.latency);
            // Only a miss here gets to a cache behind, and there is one for each entry of the scope. So what a cache behind charges
            // for entries of the scope, or of one inside, is part of that miss. A larger scope is entered less often: its charge
            // stays apart.
            let nodes = |scope: usize| self.graph.scopes[scope].nodes.len();
            let (once, further): (Vec<Charge>, Vec<Charge>) =
                miss.charges.into_iter().partition(|charge| nodes(charge.scope) <= nodes(scope));
            let behind =
                |line: u64| once.iter().filter(|charge| charge.line == line).map(|charge| charge.cycles).sum::<u64>();
            let free = lines.iter().copied().filter(|line| !cache.is_pinned(*line));
            let here = free.map(|line| Charge { scope, cache: index, line, cycles: cycles + behind(line) });
            miss.charges = further.into_iter().chain(here).collect();
            miss.cycles = cache.latency;
        }
        miss
    }
}
