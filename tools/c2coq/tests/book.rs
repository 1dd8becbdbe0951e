//! The committed pages are what their sources give, and the book's table of contents names them all.

use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn generated_pages_are_fresh() {
    for page in c2coq::book::pages(&repository().join("kernel")).unwrap() {
        let path = repository().join("docs/src").join(&page.path);
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == page.text, "{} is stale: run `c2coq docs` and commit it", path.display());
    }
}

#[test]
fn the_table_of_contents_names_every_page() {
    let summary = std::fs::read_to_string(repository().join("docs/src/SUMMARY.md")).unwrap();
    for page in c2coq::book::pages(&repository().join("kernel")).unwrap() {
        let path = page.path.display().to_string();
        assert!(summary.contains(&format!("({path})")), "docs/src/SUMMARY.md lacks {path}");
    }
}

#[test]
fn the_table_of_contents_names_only_pages_that_exist() {
    let source = repository().join("docs/src");
    let summary = std::fs::read_to_string(source.join("SUMMARY.md")).unwrap();
    let mut links = 0;
    for link in summary.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(source.join(link).is_file(), "docs/src/SUMMARY.md names {link}, which does not exist");
        links += 1;
    }
    assert!(links > 10);
}

#[test]
fn the_example_of_the_subset_keeps_to_it() {
    let page = std::fs::read_to_string(repository().join("docs/src/explanation/subset.md")).unwrap();
    let example = page.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let mut sources = c2coq::source::Sources::default();
    let path = PathBuf::from("/nowhere/channel.c");
    let declared = "#include \"channel.h\"\n#define NUM_CHANNEL 8u\n";
    sources.add(
        Path::new("/nowhere/channel.h"),
        "#include <stdint.h>\nuint32_t channel_put(uint32_t c, uint64_t word);\n",
    );
    sources.add(&path, &format!("{declared}{example}"));
    let checked = c2coq::check_with(sources, &[path], &c2coq::Options::default()).unwrap();
    assert_eq!(checked.faults, []);
    assert!(checked.program.units[0].functions[0].body.is_some());
}
