//! The codes of the timing analysis, each with name, title, meaning and remedy.
//! `wcet-hardware`). It is a crate of its own so that `ashlar explain` knows them without the analyser.
//!
//! Names are stable; a code that goes is not reused.

pub mod analysis;
pub mod machine;

macro_rules! codes {
    ($about:literal; $($variant:ident $name:literal $title:literal $explanation:literal)*) => {
        #[doc = $about]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code { $(#[doc = $title] $variant),* }

        impl Code {
            /// Every code, in order.
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name),* }
            }

            pub fn title(self) -> &'static str {
                match self { $(Code::$variant => $title),* }
            }

            /// What it means, why it is refused, and what to do about it.
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$variant => $explanation),* }
            }

            /// The code named `name`, in any case, with or without its `ASH-` prefix.
            pub fn parse(name: &str) -> Option<Code> {
                let wanted = name.trim().to_ascii_uppercase();
                let is = |code: &Code| code.name() == wanted || code.name().strip_prefix("ASH-") == Some(wanted.as_str());
                Code::ALL.iter().copied().find(is)
            }
        }
    };
}
use codes;

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
