//! Prints the reference page of machine files:
//! `cargo run -p wcet-hardware --example reference > docs/src/reference/timing-machine.md`.

fn main() {
    print!("{}", wcet_hardware::machine::reference());
}
