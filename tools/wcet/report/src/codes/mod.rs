//! The codes of the timing analysis and of its machine files. Names are stable; a code that goes is not used again.

pub mod analysis;
pub mod machine;

use diagnostics::Table;

/// Codes of the timing analysis and of its machine files.
pub const CODES: &[Table] = &[
    Table { subject: "Machine files of the timing analysis", codes: machine::Code::TABLE, details: None },
    Table { subject: "Timing analysis", codes: analysis::Code::TABLE, details: None },
];

#[cfg(test)]
mod tests {
    use super::{analysis, machine};

    #[test]
    fn names_are_numbered_and_found() {
        for (number, code) in analysis::Code::ALL.iter().enumerate() {
            assert_eq!(code.name(), format!("ASH-T{:03}", number + 1));
            assert_eq!(analysis::Code::parse(&code.name()[4..].to_lowercase()), Some(*code));
        }
        for (number, code) in machine::Code::ALL.iter().enumerate() {
            assert_eq!(code.name(), format!("ASH-M{:03}", number + 1));
            assert_eq!(machine::Code::parse(code.name()), Some(*code));
        }
        assert_eq!((analysis::Code::parse("T0"), machine::Code::parse("ASH-T001")), (None, None));
    }
}
