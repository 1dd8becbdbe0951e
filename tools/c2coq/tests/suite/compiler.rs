//! The C compiler accepts what the checker accepts, on random changes of an accepted file.

use std::path::{Path, PathBuf};
use std::process::Command;

use c2coq::{check, Options};
use testing::{Folder, Random};

/// Words and signs, with the space before each.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut current = String::new();
    for c in text.chars() {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let joins = current.chars().last().is_none_or(|last| last.is_whitespace() || (word(last) && word(c)));
        if !joins {
            pieces.push(std::mem::take(&mut current));
        }
        current.push(c);
    }
    pieces.push(current);
    pieces
}

#[test]
fn what_is_accepted_compiles() {
    const INSERTED: &str = "uint32_t uint64_t 0 1u 1ul ( ) { } ; , = + - * ! ~ return if while break static const [ ] . used NONE void else (uint32_t) ++ owner";
    let inserted: Vec<&str> = INSERTED.split(' ').collect();
    let accept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/accept");
    let dir = Folder::new("compiler");
    for header in ["layer.h", "arch.h"] {
        std::fs::copy(accept.join(header), dir.join(header)).unwrap();
    }
    let original = pieces(&std::fs::read_to_string(accept.join("layer.c")).unwrap());
    let path: PathBuf = dir.join("layer.c");
    let mut random = Random(0x5eed_1234_5678_9abc);
    let mut accepted = 0;
    for _ in 0..800 {
        let mut changed = original.clone();
        let at = random.below(changed.len());
        match random.below(4) {
            0 => drop(changed.remove(at)),
            1 => changed[at] = format!(" {}", random.pick(&inserted)),
            2 => changed.insert(at, format!(" {} ", random.pick(&inserted))),
            _ => {
                let other = random.below(changed.len());
                changed.swap(at, other);
            }
        }
        let text = changed.concat();
        std::fs::write(&path, &text).unwrap();
        let checked = check(std::slice::from_ref(&path), &Options::default()).unwrap();
        if !checked.faults.is_empty() || changed == original {
            continue;
        }
        accepted += 1;
        let output = Command::new("gcc").args(["-std=gnu11", "-fsyntax-only"]).arg(&path).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "accepted, but gcc says:\n{message}");
    }
    assert!(accepted > 15, "only {accepted} changed files were accepted: the comparison means little");
}
