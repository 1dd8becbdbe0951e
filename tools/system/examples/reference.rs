//! Prints the reference page of descriptions: `cargo run --example reference > docs/src/reference/description.md`.

fn main() {
    print!("{}", system::reference());
}
