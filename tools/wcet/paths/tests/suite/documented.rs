//! The reference page names every code of an error as the program does.

use wcet_paths::analysis::Code;

#[test]
fn every_code_is_on_the_page() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/src/reference/timing.md");
    let page = std::fs::read_to_string(path).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ASH-T")).collect();
    let expected: Vec<String> =
        Code::ALL.iter().map(|code| format!("| {} | {} |", code.name(), code.title())).collect();
    assert_eq!(rows, expected);
}
