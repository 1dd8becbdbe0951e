//! Values with units inside strings: sizes, times, frequencies, ranges.

const SIZES: &[(&str, u64)] = &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
const TIMES: &[(&str, u64)] = &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
const FREQUENCIES: &[(&str, u64)] = &[("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)];

/// Bytes of a size such as `4MiB`.
pub fn size(text: &str) -> Option<u64> {
    scaled(text, SIZES)
}

/// Nanoseconds of a time such as `10ms`.
pub fn duration(text: &str) -> Option<u64> {
    scaled(text, TIMES)
}

/// Cycles per second of a frequency such as `532MHz`.
pub fn frequency(text: &str) -> Option<u64> {
    scaled(text, FREQUENCIES)
}

/// First and last of a range such as `0x2f8..0x2ff`; the first is at most the last.
pub fn range(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.split_once("..")?;
    let (first, last) = (number(first.trim())?, number(last.trim())?);
    (first <= last).then_some((first, last))
}

/// What was probably meant by a text that is no size: `64MiB` for `64MB`, `64mib` or `64 M`.
pub fn meant_size(text: &str) -> Option<String> {
    let (number, unit) = parts(text)?;
    let index = "bkmg".find(unit.to_lowercase().chars().next()?)?;
    exact(number, SIZES, index)
}

/// What was probably meant by a text that is no time: `10ms` for `10msec`, `100us` for `100µs`.
pub fn meant_duration(text: &str) -> Option<String> {
    let (number, unit) = parts(text)?;
    let unit = unit.to_lowercase().replace(['\u{b5}', '\u{3bc}'], "u");
    let index = match unit.as_str() {
        _ if unit.starts_with('n') => 0,
        _ if unit.starts_with('u') || unit.starts_with("mic") => 1,
        "m" => return None,
        _ if unit.starts_with("ms") || unit.starts_with("mil") => 2,
        _ if unit.starts_with('s') => 3,
        _ => return None,
    };
    exact(number, TIMES, index)
}

/// Number, perhaps with a decimal point, and unit.
fn parts(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && !"._".contains(c))?;
    let (number, unit) = text.split_at(split);
    (!number.is_empty()).then(|| (number, unit.trim()))
}

/// A number of a unit, in that unit or in a smaller one if it is a fraction.
fn exact(number: &str, units: &[(&str, u64)], index: usize) -> Option<String> {
    let digits = number.replace('_', "");
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    if fraction.is_empty() {
        return Some(format!("{}{}", whole.parse::<u64>().ok()?, units[index].0));
    }
    let scale = u128::from(units[index].1);
    let denominator = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let numerator = format!("{whole}{fraction}").parse::<u128>().ok()?.checked_mul(scale)?;
    (numerator % denominator == 0).then(|| show(u64::try_from(numerator / denominator).unwrap_or(u64::MAX), units))
}

/// A size as a person would write it: the largest unit that divides it.
pub fn show_size(bytes: u64) -> String {
    show(bytes, SIZES)
}

/// A time as a person would write it.
pub fn show_duration(ns: u64) -> String {
    show(ns, TIMES)
}

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '_')?;
    let (digits, unit) = text.split_at(split);
    let (_, scale) = units.iter().find(|(name, _)| *name == unit.trim())?;
    digits.replace('_', "").parse::<u64>().ok()?.checked_mul(*scale)
}

fn number(text: &str) -> Option<u64> {
    let digits = text.replace('_', "");
    match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

fn show(value: u64, units: &[(&str, u64)]) -> String {
    let unit = units.iter().rev().find(|(_, scale)| value >= *scale && value % scale == 0);
    match unit {
        Some((name, scale)) => format!("{}{name}", value / scale),
        None => format!("{value}{}", units[0].0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_want_a_unit() {
        assert_eq!(size("128MiB"), Some(128 << 20));
        assert_eq!(size("1_024 KiB"), Some(1 << 20));
        assert_eq!(duration("10ms"), Some(10_000_000));
        assert_eq!(frequency("532MHz"), Some(532_000_000));
        for wrong in ["128", "MiB", "", "-1KiB", "1.5GiB", "4MB", "99999999999GiB", "1 s s"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_was_meant_is_suggested() {
        let sizes =
            [("64MB", "64MiB"), ("64mib", "64MiB"), ("64 M", "64MiB"), ("1.5GiB", "1536MiB"), ("1_0k", "10KiB")];
        for (wrong, right) in sizes {
            assert_eq!(meant_size(wrong).as_deref(), Some(right), "{wrong}");
            assert!(size(right).is_some());
        }
        let times = [("10msec", "10ms"), ("100\u{b5}s", "100us"), ("1.5 seconds", "1500ms"), ("3 NS", "3ns")];
        for (wrong, right) in times {
            assert_eq!(meant_duration(wrong).as_deref(), Some(right), "{wrong}");
            assert!(duration(right).is_some());
        }
        for wrong in ["many", "", "MiB", "10 minutes", "0.3", "1.2.3MB"] {
            assert_eq!(meant_duration(wrong), None, "{wrong}");
        }
        assert_eq!((meant_size("64 apples"), meant_size("0.0001KiB")), (None, None));
    }

    #[test]
    fn ranges_include_both_ends() {
        assert_eq!(range("0x2f8..0x2ff"), Some((0x2f8, 0x2ff)));
        assert_eq!(range("1 .. 2"), Some((1, 2)));
        assert_eq!(range("2..1"), None);
        assert_eq!(range("1"), None);
    }

    #[test]
    fn shown_values_parse_back() {
        for bytes in [1, 4096, 5 << 20, 3 << 30, 4097] {
            assert_eq!(size(&show_size(bytes)), Some(bytes));
        }
        assert_eq!(show_duration(2_000_000), "2ms");
    }
}
