//! Codes of what stands in the way of a bound. Numbers are stable; a code that goes is not reused.

macro_rules! codes {
    ($($variant:ident $name:literal $status:literal $title:literal)*) => {
        /// A kind of error, with a stable name such as `ASH-T005`.
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

            /// Exit status: 1 for a finding about the program, 2 if the request could not be carried out.
            pub fn status(self) -> u8 {
                match self { $(Code::$variant => $status),* }
            }
        }
    };
}

codes! {
    Unreadable "ASH-T001" 2 "a file cannot be read"
    Executable "ASH-T002" 1 "the file is no executable that can be analysed"
    NoSymbol "ASH-T003" 2 "a name that the executable does not have"
    Instruction "ASH-T004" 1 "an instruction that is not understood"
    Unresolved "ASH-T005" 1 "a jump or call whose targets cannot be told"
    StrangeReturn "ASH-T006" 1 "a return to another place than the caller"
    Recursion "ASH-T007" 1 "recursion without a stated depth"
    Irreducible "ASH-T008" 1 "a loop without a single header"
    SelfModifying "ASH-T009" 1 "code that may be written"
    TooLarge "ASH-T010" 1 "more calling contexts than can be analysed"
    NoCost "ASH-T011" 1 "an instruction for which the machine file has no cost"
    Statement "ASH-T012" 2 "a statement that cannot be understood"
    Refuted "ASH-T013" 1 "a stated constraint that does not hold, or is not shown to hold"
    Tool "ASH-T014" 2 "a part of the analyser that cannot work"
    TimedOut "ASH-T015" 1 "no time left before the first bound"
    Unbounded "ASH-T016" 1 "a loop without a bound"
    Wait "ASH-T017" 1 "an instruction that waits for an event"
    NoEnd "ASH-T018" 1 "no way from the entry to an end"
}

impl Code {
    /// The code of this name.
    pub fn parse(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name() == name)
    }
}
