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

/// All pages below `docs/src`.
fn written_pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut waiting = vec![repository().join("docs/src")];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut links = 0;
    for page in written_pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            assert!(page.parent().unwrap().join(target).exists(), "{}: {link} leads nowhere", page.display());
            links += 1;
        }
    }
    assert!(links > 50, "only {links} links were found");
}

/// The commands that the how-to pages of this tool tell to type, typed. Those that build the kernel are typed by the
/// test of its build.
#[test]
fn commands_in_the_how_to_pages_work() {
    let mut typed = 0;
    for page in ["write-a-layer.md", "add-a-system-call.md"] {
        let text = std::fs::read_to_string(repository().join("docs/src/how-to").join(page)).unwrap();
        let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
        for line in blocks
            .flat_map(str::lines)
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("make -C kernel"))
        {
            let arguments = line.strip_prefix("cargo run -q --manifest-path tools/Cargo.toml -p c2coq -- ");
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_c2coq"));
            command.args(arguments.unwrap_or_else(|| panic!("{page}: `{line}` is not tested")).split(' '));
            let writes = arguments == Some("docs");
            if writes {
                // The tree under test stays as it is; whether its pages are fresh another test asks.
                command.arg("--check");
            }
            let output = command.current_dir(repository()).output().unwrap();
            let stale = writes && output.status.code() == Some(1);
            assert!(output.status.success() || stale, "{page}: {line}\n{}", String::from_utf8_lossy(&output.stderr));
            typed += 1;
        }
    }
    assert_eq!(typed, 2);
}
