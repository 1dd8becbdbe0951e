//! Damaged protocols: reading any text ends, reports faults inside the text and never panics.

use crate::common;
use protocol::check_text;
use std::path::Path;
use std::time::{Duration, Instant};
use testing::{cut, damage, Random};

fn texts() -> Vec<String> {
    let broken = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken");
    let mut paths = common::files(&broken);
    paths.extend(common::protocols());
    paths.iter().map(|path| std::fs::read_to_string(path).expect("it is text")).collect()
}

/// Reads a text; every fault must stand inside it. Returns whether it was refused.
fn survive(text: &str, what: &str) -> bool {
    let begin = Instant::now();
    let Err(report) = check_text(Path::new("/nowhere/damaged.proto"), text) else { return false };
    assert!(begin.elapsed() < Duration::from_secs(20), "{what}: too slow on\n{text}");
    assert!(!report.diagnostics.is_empty(), "{what}: refused without a fault\n{text}");
    for fault in &report.diagnostics {
        assert!(!fault.labels.is_empty(), "{what}: {fault:?} has no place\n{text}");
        for span in fault.labels.iter().map(|label| &label.span) {
            assert!(span.start <= span.end && span.end <= text.len(), "{what}: {fault:?}\n{text}");
            assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end), "{what}: {fault:?}\n{text}");
        }
    }
    if text.len() < 20_000 {
        assert!(!report.to_string().is_empty());
        assert!(report.to_json()["diagnostics"].is_array());
    }
    true
}

#[test]
fn truncated_protocols_are_survived() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for text in texts() {
        for _ in 0..20 {
            survive(cut(&mut random, &text), "truncated");
        }
    }
}

#[test]
fn mutated_protocols_are_survived() {
    const PIECES: &[&str] = &[
        "?",
        "!",
        "->",
        ",",
        "..",
        "[",
        "]",
        "#",
        "\n",
        "\n\n",
        "  ",
        "\t",
        "\n      ",
        " initial",
        " timed",
        " fair",
        " final",
        " needs pci Bound",
        " when Bound",
        " unless Enabled",
        "state ",
        "region R",
        "in ",
        "out ",
        "request r 4",
        "opens r",
        "protocol x 7",
        "0x",
        "99999999999999999999999",
        "u8",
        "u64[5]",
        "5..3",
        "é",
        "\u{0}",
        "\r",
        "local",
        "-",
        ">",
    ];
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let pieces: Vec<Vec<char>> = PIECES.iter().map(|piece| piece.chars().collect()).collect();
    let mut refused = 0;
    for text in texts() {
        for _ in 0..60 {
            let mut damaged: Vec<char> = text.chars().collect();
            damage(&mut random, &mut damaged, &pieces);
            if random.one_in(2) {
                // Whole lines change places, so that much of the result still makes sense.
                let text: String = damaged.iter().collect();
                let mut lines: Vec<&str> = text.split('\n').collect();
                let (one, two) = (random.below(lines.len()), random.below(lines.len()));
                lines.swap(one, two);
                damaged = lines.join("\n").chars().collect();
            }
            let damaged: String = damaged.into_iter().collect();
            refused += usize::from(survive(&damaged, "mutated"));
        }
    }
    assert!(refused > 800, "only {refused} mutants were refused: the mutations do nothing");
}

#[test]
fn random_words_are_survived() {
    const WORDS: &[&str] = &[
        "protocol x",
        "in a",
        "out b",
        "state S",
        "state T initial",
        "state U timed fair",
        "region R",
        "?a -> S",
        "!b -> T",
        "?a, !b",
        "request r 3",
        "opens r",
        "closes r",
        "x u8",
        "->",
        "..",
        "5",
        "final",
        "when S",
    ];
    let mut random = Random(42);
    for _ in 0..3000 {
        let mut text = String::from("protocol x\nin a\nout b\n");
        for _ in 0..random.below(30) {
            text.push_str(&" ".repeat(2 * random.below(5)));
            text.push_str(random.pick(WORDS));
            text.push('\n');
        }
        survive(&text, "random");
    }
}

#[test]
fn deep_and_long_protocols_are_survived() {
    for depth in [10, 30, 3000] {
        let mut text = String::from("protocol x\nin a\n");
        for level in 0..depth {
            text.push_str(&format!("{}state S{level} initial final\n", " ".repeat(level)));
        }
        survive(&text, "deep");
    }
    let many: String = (0..3000).map(|index| format!("state S{index} final\n  ?a -> S{}\n", index + 1)).collect();
    survive(&format!("protocol x\nin a\nstate Z initial final\n  ?a -> S0\n{many}state S3000 final\n  ?a\n"), "long");
    survive(&format!("protocol x\nin {}\n", "m ".repeat(5000)), "many messages");
    survive(&"[".repeat(5000), "many signs");
    survive("", "empty");
    survive("#\n#\n", "comments only");
}
