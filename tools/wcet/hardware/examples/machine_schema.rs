//! Prints the JSON schema of machine files: `cargo run -p wcet-hardware --example machine_schema >
//! machines/timing/schema.json`.

fn main() {
    println!("{:#}", wcet_hardware::machine::json_schema());
}
