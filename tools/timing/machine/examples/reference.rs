//! Prints the reference page of machine files:
//! `cargo run -p timing-machine --example reference > docs/src/reference/timing-machine.md`.

fn main() {
    print!("{}", timing_machine::reference());
}
