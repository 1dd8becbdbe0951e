//! The codes, which `ashlar explain` knows too.

pub use wcet_command::codes::analysis::Code;
