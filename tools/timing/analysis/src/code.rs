//! The codes, which `ashlar explain` knows too.

pub use timing_codes::analysis::Code;
