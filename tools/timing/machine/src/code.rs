//! Codes of the faults of machine files. Numbers are stable; a code that goes is not reused.

macro_rules! codes {
    ($($variant:ident $name:literal $title:literal)*) => {
        /// A kind of fault, with a stable name such as `ASH-M004`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code { $(#[doc = $title] $variant),* }

        impl Code {
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name),* }
            }

            pub fn title(self) -> &'static str {
                match self { $(Code::$variant => $title),* }
            }
        }
    };
}

codes! {
    Unreadable "ASH-M001" "a machine file cannot be read"
    Syntax "ASH-M002" "the text is not TOML"
    UnknownKey "ASH-M003" "a key or table that does not exist"
    WrongType "ASH-M004" "a value of the wrong type"
    Missing "ASH-M005" "a required key or table is missing"
    BadValue "ASH-M006" "a value that cannot be understood or is out of its range"
    BadName "ASH-M007" "a name that cannot be used"
    NoSource "ASH-M008" "a number without a source"
    UnknownSource "ASH-M009" "a source that the file does not describe"
    Geometry "ASH-M010" "size, ways and line of a cache do not fit"
    Reliance "ASH-M011" "more ways relied on than the replacement policy guarantees"
    Hierarchy "ASH-M012" "caches do not form a hierarchy"
    Locking "ASH-M013" "pinned lines and locked ways do not fit"
    Overlap "ASH-M014" "regions overlap, or with pinned lines"
    Timing "ASH-M015" "cycles that contradict each other"
}
