//! The reference page of the book is the one that the schema gives.

use crate::common;
#[test]
fn the_reference_page_is_up_to_date() {
    let path = common::root().join("docs/src/reference/description.md");
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == system::reference(),
        "{} is out of date: regenerate it as its first line says",
        path.display()
    );
}
