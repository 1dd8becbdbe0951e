//! What a user meets of the timing analysis without running it. `ashlar` links this crate, so it depends on none of the
//! analysis.

pub mod codes;
