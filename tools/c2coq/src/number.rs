//! Number constants: digits, base and suffix.

use crate::ast::Width;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    pub value: u64,
    /// From the suffix; `None` without one.
    pub width: Option<Width>,
}

/// Largest constant without suffix: beyond it C chooses the type by the value.
pub const MAX_PLAIN: u64 = 0x7fff_ffff;

/// Reads a number as the lexer delivers it; the error says what is wrong with it.
pub fn parse_number(text: &str) -> Result<Number, String> {
    let lower = text.to_ascii_lowercase();
    let (base, rest) = if let Some(rest) = lower.strip_prefix("0x") {
        (16, rest)
    } else if let Some(rest) = lower.strip_prefix("0b") {
        (2, rest)
    } else if lower.len() > 1 && lower.starts_with('0') && lower.as_bytes()[1].is_ascii_digit() {
        (8, &lower[1..])
    } else {
        (10, lower.as_str())
    };
    let digits = rest.bytes().take_while(|c| char::from(*c).is_digit(base)).count();
    let (digits, suffix) = rest.split_at(digits);
    if suffix.starts_with('.') || (base == 10 && suffix.starts_with('e')) || suffix.starts_with('p') {
        return Err(format!("`{text}` is a floating-point number"));
    }
    let width = match suffix {
        "" => None,
        "u" => Some(Width::U32),
        "ul" | "lu" | "ull" | "llu" => Some(Width::U64),
        "l" | "ll" => return Err(format!("`{text}` is signed: its suffix must hold a u")),
        _ => return Err(format!("`{text}` is no number")),
    };
    if digits.is_empty() {
        return Err(format!("`{text}` has no digits"));
    }
    let value = u64::from_str_radix(digits, base).map_err(|_| format!("`{text}` does not fit 64 bits"))?;
    match width {
        Some(Width::U32) if value > Width::U32.max() => Err(format!("`{text}` does not fit uint32_t: write ul")),
        _ => Ok(Number { value, width }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_takes_its_type_from_the_suffix() {
        assert_eq!(parse_number("12"), Ok(Number { value: 12, width: None }));
        assert_eq!(parse_number("0xFFu"), Ok(Number { value: 255, width: Some(Width::U32) }));
        assert_eq!(parse_number("010UL"), Ok(Number { value: 8, width: Some(Width::U64) }));
        assert_eq!(parse_number("1LLU").unwrap().width, Some(Width::U64));
    }

    #[test]
    fn number_refuses_what_has_no_unsigned_type() {
        for bad in ["1l", "1.5", "1e3", "0x", "09", "4294967296u", "18446744073709551616ul", "1ux"] {
            assert!(parse_number(bad).is_err(), "{bad}");
        }
    }
}
