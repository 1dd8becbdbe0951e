//! The documentation's page about the kernel's regions: it is one that the command makes, and of this kernel.

use std::path::{Path, PathBuf};

use wcet_kernel::Description;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The rows of the table under a heading, without its head.
fn rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    let from = page.find(heading).unwrap_or_else(|| panic!("the page has no heading {heading}"));
    let table = page[from..].lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect();
    table.skip(2).map(cells).collect()
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/src/reference/timing-kernel.md")).expect("the page is there")
}

#[test]
fn the_page_has_every_entry_of_the_kernel() {
    let description = Description::load(&root().join("kernel/timing.toml")).expect("the description is well formed");
    let entries: Vec<String> = rows(&page(), "## Entries").into_iter().map(|mut row| row.remove(0)).collect();
    let calls = description.calls.expect("system calls are described");
    assert!(calls.numbers.len() > 40, "the header is read: {:?}", calls.numbers);
    let mut wanted: Vec<String> = calls.numbers.keys().map(|name| format!("system call {name}")).collect();
    wanted.extend(description.vectors.exceptions.iter().map(|vector| format!("exception {vector}")));
    wanted.push("system call with another number".to_string());
    wanted.push("interrupt timer".to_string());
    for name in wanted {
        assert!(entries.contains(&name), "{name} is missing: make the page anew, as its first line says");
    }
}

#[test]
fn the_page_has_the_ten_longest_regions_and_what_dominates_them() {
    let longest = rows(&page(), "## The 10 longest regions");
    assert_eq!(longest.len(), 10);
    let cycles =
        |row: &Vec<String>| if row[0] == "no bound" { Some(u64::MAX) } else { row[0].replace(',', "").parse().ok() };
    for row in &longest {
        assert_eq!(row.len(), 3, "{row:?}");
        // What has no bound comes first, as one row, and nothing can be said to dominate it.
        assert!(cycles(row).is_some() && (row[0] == "no bound" || row[2].contains('%')), "{row:?}");
    }
    assert!(longest.windows(2).all(|pair| cycles(&pair[0]) >= cycles(&pair[1])), "longest first");
}

#[test]
fn loops_say_how_their_bound_is_known_and_every_stack_fits_a_page_of_memory() {
    let loops = rows(&page(), "## Loops");
    assert!(loops.len() > 50, "{}", loops.len());
    for row in &loops {
        assert_eq!(row[1] == "no bound", row[2] == "not known", "{row:?}");
    }
    for row in rows(&page(), "## Entries") {
        let bytes: u64 = row[2].replace(',', "").parse().unwrap_or_else(|_| panic!("{row:?} has no depth"));
        assert!(bytes <= 4096, "{row:?}");
    }
}

#[test]
fn no_bound_of_a_loop_rests_on_what_a_person_says() {
    let page = page();
    assert!(page.contains("| loops: stated, not validated | 0 |"), "the sums say that there is none");
    assert!(rows(&page, "## Loops").iter().all(|row| row[2] != "stated, not validated"));
    let description = Description::load(&root().join("kernel/timing.toml")).expect("the description is well formed");
    assert!(description.loops.iter().all(|one| one.theorem.is_some()), "a loop is bounded, but nothing validates it");
}
