//! What programs read, and small kernels.

mod arch;
mod early;
mod fused;
mod guarded;
mod guests;
mod joins;
mod mutants;
mod outlive;
mod ownership;
mod small;
mod solvers;

use std::path::Path;

#[test]
fn the_committed_schema_is_the_one_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/reference/schemas/prove-binary.schema.json");
    let committed = std::fs::read_to_string(path).unwrap();
    let command = "tools/target/release/validate --schema > docs/src/reference/schemas/prove-binary.schema.json";
    assert_eq!(committed, format!("{:#}\n", validation::schema()), "make it anew: {command}");
}
