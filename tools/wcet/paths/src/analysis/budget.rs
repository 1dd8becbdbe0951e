//! A budget: cycles, or a time that the machine's clock turns into cycles.

use wcet_report::Budget;

use crate::analysis::code::Code;
use crate::analysis::faults::{fault, Found};

/// The budget in `text`: `2000 cycles`, `50us`, `1.5ms`. A time becomes the cycles that fit into it, rounded down.
pub fn parse(text: &str, clock: u64) -> Found<Budget> {
    let unit_at = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (text[..unit_at].replace('_', ""), text[unit_at..].trim());
    let cycles = match unit {
        "cycles" | "cycle" => number.parse::<u64>().ok(),
        _ => {
            let nanoseconds: Option<u128> = match unit {
                "ns" => Some(1),
                "us" | "µs" => Some(1_000),
                "ms" => Some(1_000_000),
                "s" => Some(1_000_000_000),
                _ => None,
            };
            if nanoseconds.is_some() && clock == 0 {
                let message = format!("the budget `{text}` is a time, but the machine's clock is not known");
                return Err(vec![fault(Code::Statement, message, "give the budget in cycles, or the machine a clock")]);
            }
            nanoseconds.and_then(|unit| cycles_in(&number, unit, clock))
        }
    };
    let cycles = cycles.ok_or_else(|| {
        vec![fault(Code::Statement, format!("`{text}` is no budget"), "write it as `50us`, `1.5ms` or `2000 cycles`")]
    })?;
    Ok(Budget { text: text.to_string(), cycles, slack_cycles: None, met: false })
}

/// The budget held against a bound.
pub fn judge(budget: &mut Budget, wcet: Option<u64>) {
    let slack = wcet.map(|wcet| i128::from(budget.cycles) - i128::from(wcet));
    budget.met = slack.is_some_and(|slack| slack >= 0);
    budget.slack_cycles = slack.map(|slack| slack.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64);
}

/// Whole cycles in a decimal number of a unit of so many nanoseconds.
fn cycles_in(number: &str, nanoseconds: u128, clock: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.len() > 12 {
        return None;
    }
    let scale = 10_u128.pow(fraction.len() as u32);
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let cycles = digits.checked_mul(nanoseconds)?.checked_mul(u128::from(clock))? / scale / 1_000_000_000;
    u64::try_from(cycles).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_in_cycles_and_times() {
        let cycles = |text, clock| parse(text, clock).map(|budget| budget.cycles).ok();
        assert_eq!(cycles("2000 cycles", 0), Some(2000));
        assert_eq!(cycles("2_000cycles", 0), Some(2000));
        assert_eq!(cycles("50us", 532_000_000), Some(26_600));
        assert_eq!(cycles("1.5 ms", 1_000_000_000), Some(1_500_000));
        assert_eq!(cycles("1.9ns", 1_000_000_000), Some(1), "rounded down");
        assert_eq!(cycles("50us", 0), None);
        for wrong in ["", "50", "us", "-5us", "5 apples", "1.2.3us", "99999999999999999999999 cycles", "1e3us"] {
            assert_eq!(cycles(wrong, 1_000_000_000), None, "{wrong}");
        }
    }

    #[test]
    fn slack_has_a_sign() {
        let judged = |wcet| {
            let mut budget = parse("100 cycles", 0).unwrap();
            judge(&mut budget, wcet);
            (budget.slack_cycles, budget.met)
        };
        assert_eq!(judged(Some(100)), (Some(0), true));
        assert_eq!(judged(Some(101)), (Some(-1), false));
        assert_eq!(judged(Some(u64::MAX)), (Some(i64::MIN), false));
        assert_eq!(judged(None), (None, false));
    }
}
