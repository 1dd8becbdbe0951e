//! Codes: the stable names of the kinds of findings, each with a title and an explanation.

use std::cmp::Ordering;

/// Title and explanation of one code. Two are equal if their names are.
#[derive(Debug, Clone, Copy)]
pub struct CodeInfo {
    /// Such as `ASH-S012` or `subset::pointer`. A name is stable; one that goes is not used again.
    pub name: &'static str,
    /// The finding in a few words.
    pub title: &'static str,
    /// What it means, why it is refused, and what to do about it.
    pub explanation: &'static str,
    pub example: Option<Example>,
}

/// Source text that has the finding, and what to write instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Example {
    pub refused: &'static str,
    pub accepted: &'static str,
}

/// All codes of one subject.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Heading of the reference page and of the list.
    pub subject: &'static str,
    pub codes: &'static [CodeInfo],
    /// The reference page that explains each under its short name, if there is one.
    pub details: Option<&'static str>,
}

impl CodeInfo {
    pub const fn new(name: &'static str, title: &'static str, explanation: &'static str) -> CodeInfo {
        CodeInfo { name, title, explanation, example: None }
    }

    /// The same with an example.
    pub const fn with_example(self, refused: &'static str, accepted: &'static str) -> CodeInfo {
        CodeInfo { example: Some(Example { refused, accepted }), ..self }
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The name without what stands before `-` or `::`.
    pub fn short_name(&self) -> &'static str {
        match self.name.strip_prefix("ASH-") {
            Some(short) => short,
            None => self.name.rsplit("::").next().unwrap_or(self.name),
        }
    }

    /// Whether a person who writes `text` means this code: in any case, with or without what stands before `-` or `::`.
    pub fn is_named(&self, text: &str) -> bool {
        let text = text.trim();
        text.eq_ignore_ascii_case(self.name) || text.eq_ignore_ascii_case(self.short_name())
    }
}

impl PartialEq for CodeInfo {
    fn eq(&self, other: &CodeInfo) -> bool {
        self.name == other.name
    }
}

impl Eq for CodeInfo {}

impl PartialOrd for CodeInfo {
    fn partial_cmp(&self, other: &CodeInfo) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CodeInfo {
    fn cmp(&self, other: &CodeInfo) -> Ordering {
        self.name.cmp(other.name)
    }
}

/// Declares the codes of a tool: an enum, and its table of [`CodeInfo`] in the same order.
#[macro_export]
macro_rules! codes {
    ($(#[$meta:meta])* pub enum $Code:ident; $($variant:ident $name:literal $title:literal $explanation:literal)*) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $Code { $(#[doc = $title] $variant),* }

        impl $Code {
            /// Every code, in order.
            pub const ALL: &'static [$Code] = &[$($Code::$variant),*];

            /// Title and explanation of each, in the same order.
            pub const TABLE: &'static [$crate::CodeInfo] = &[$($crate::CodeInfo::new($name, $title, $explanation)),*];

            pub fn info(self) -> $crate::CodeInfo {
                Self::TABLE[self as usize]
            }

            pub fn name(self) -> &'static str {
                self.info().name
            }

            pub fn title(self) -> &'static str {
                self.info().title
            }

            pub fn explanation(self) -> &'static str {
                self.info().explanation
            }

            /// The code that `name` means, in any case, with or without its prefix.
            pub fn parse(name: &str) -> Option<$Code> {
                Self::ALL.iter().copied().find(|code| code.info().is_named(name))
            }
        }

        impl From<$Code> for $crate::CodeInfo {
            fn from(code: $Code) -> $crate::CodeInfo {
                code.info()
            }
        }

        impl PartialEq<$Code> for $crate::CodeInfo {
            fn eq(&self, code: &$Code) -> bool {
                *self == code.info()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::CodeInfo;

    #[test]
    fn a_code_is_found_by_what_people_write() {
        let numbered = CodeInfo::new("ASH-S012", "", "");
        let named = CodeInfo::new("subset::goto", "", "");
        for text in ["ASH-S012", "ash-s012", "s012", " S012 "] {
            assert!(numbered.is_named(text), "{text}");
        }
        assert!(named.is_named("subset::goto") && named.is_named("Goto"));
        assert!(!numbered.is_named("S01") && !named.is_named("subset") && !numbered.is_named(""));
    }
}
