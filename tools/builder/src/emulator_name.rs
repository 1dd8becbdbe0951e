//! The emulator that a run asks for.

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum EmulatorName {
    /// That of the machine that the description names.
    #[default]
    Own,
    /// Bochs, in place of it: a PC of Intel's make, which runs guests by VT-x.
    Bochs,
}

impl EmulatorName {
    /// The machine file to be used whatever the description names.
    pub fn machine(self) -> Option<String> {
        match self {
            EmulatorName::Own => None,
            EmulatorName::Bochs => Some("bochs".into()),
        }
    }
}
