//! The integration tests of this crate, in one binary to save link time.

mod arm_system;
mod debug_information;
mod emulated_arm;
mod emulated_riscv;
mod emulated_thumb;
mod execution;
mod lift_robustness;
mod load_corruption;
mod native_x86;
mod position_independent;
