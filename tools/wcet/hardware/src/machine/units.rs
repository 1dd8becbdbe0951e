//! Values with units inside strings: sizes, frequencies, ranges.

const SIZES: &[(&str, u64)] = &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20)];
const FREQUENCIES: &[(&str, u64)] = &[("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)];

/// Bytes of a size such as `16KiB`.
pub fn size(text: &str) -> Option<u64> {
    scaled(text, SIZES)
}

/// Cycles per second of a frequency such as `532MHz`.
pub fn frequency(text: &str) -> Option<u64> {
    scaled(text, FREQUENCIES)
}

/// First and last of a range such as `0x1000..0x1fff`; the first is at most the last.
pub fn range(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.split_once("..")?;
    let (first, last) = (number(first.trim())?, number(last.trim())?);
    (first <= last).then_some((first, last))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_want_their_unit() {
        assert_eq!(size("16KiB"), Some(16 << 10));
        assert_eq!(frequency("532MHz"), Some(532_000_000));
        assert_eq!(range("0x1000..0x1fff"), Some((0x1000, 0x1fff)));
        for wrong in ["16", "KiB", "", "-1KiB", "16KB"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
        assert_eq!(range("2..1"), None);
    }
}
