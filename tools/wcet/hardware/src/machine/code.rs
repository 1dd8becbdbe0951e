//! The codes, which `ashlar explain` knows too.

pub use wcet_report::codes::machine::Code;
