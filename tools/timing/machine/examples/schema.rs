//! Prints the JSON schema of machine files: `cargo run -p timing-machine --example schema >
//! machines/timing/schema.json`.

fn main() {
    println!("{:#}", timing_machine::json_schema());
}
