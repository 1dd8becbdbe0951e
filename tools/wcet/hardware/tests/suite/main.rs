//! The integration tests of this crate, in one binary to save link time.

mod cache;
mod machine_corruption;
mod machine_faults;
mod machine_shipped;
mod pipeline;
mod pipeline_errors;
