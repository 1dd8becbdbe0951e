//! Values with units inside strings: sizes, times, ranges.
//!
//! Knows: the notation. Does not know: which bounds a key has (`schema`).

use crate::layout::{GIB, KIB, MIB};

const SIZES: &[(&str, u64)] = &[("B", 1), ("KiB", KIB), ("MiB", MIB), ("GiB", GIB)];
const TIMES: &[(&str, u64)] = &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Bytes of a size such as `4MiB`.
pub fn size(text: &str) -> Option<u64> {
    scaled(text, SIZES)
}

/// Nanoseconds of a time such as `10ms`.
pub fn duration(text: &str) -> Option<u64> {
    scaled(text, TIMES)
}

/// First and last of a range such as `0x2f8..0x2ff`; the first is at most the last.
pub fn range(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.split_once("..")?;
    let (first, last) = (number(first.trim())?, number(last.trim())?);
    (first <= last).then_some((first, last))
}

/// Number of a PCI function such as `00:1f.2`: bus in bits 8 to 15, device in 3 to 7, function in 0 to 2.
pub fn function(text: &str) -> Option<u64> {
    let (bus, rest) = text.trim().split_once(':')?;
    let (device, function) = rest.split_once('.')?;
    let part = |digits: &str, width: usize, limit: u64| {
        let number = u64::from_str_radix(digits, 16).ok()?;
        (digits.len() == width && !digits.starts_with('+') && number < limit).then_some(number)
    };
    Some(part(bus, 2, 256)? << 8 | part(device, 2, 32)? << 3 | part(function, 1, 8)?)
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
        for wrong in ["128", "MiB", "", "-1KiB", "1.5GiB", "4MB", "99999999999GiB", "1 s s"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn ranges_include_both_ends() {
        assert_eq!(range("0x2f8..0x2ff"), Some((0x2f8, 0x2ff)));
        assert_eq!(range("1 .. 2"), Some((1, 2)));
        assert_eq!(range("2..1"), None);
        assert_eq!(range("1"), None);
    }

    #[test]
    fn functions_have_a_bus_a_device_and_a_function() {
        assert_eq!(function("00:04.0"), Some(0x20));
        assert_eq!(function("ff:1f.7"), Some(0xffff));
        for wrong in ["00:20.0", "00:04.8", "0:4.0", "00:04", "000:04.0", "00:+4.0", "0000:00:04.0", ""] {
            assert_eq!(function(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn shown_values_parse_back() {
        for bytes in [1, 4096, 5 << 20, 3 << 30, 4097] {
            assert_eq!(size(&show_size(bytes)), Some(bytes));
        }
        assert_eq!(show_duration(2_000_000), "2ms");
    }
}
