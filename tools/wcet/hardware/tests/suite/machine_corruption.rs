//! Files damaged at random: never a panic, and whatever is refused has its reasons.

use std::path::{Path, PathBuf};
use testing::Random;
use wcet_hardware::machine::parse;

fn damage(random: &mut Random, text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    for _ in 0..1 + random.below(3) {
        let line = random.below(lines.len());
        let other = lines[random.below(lines.len())].clone();
        match random.below(6) {
            0 => drop(lines.remove(line)),
            1 => lines[line] = other,
            2 => lines[line] = lines[line].replacen(|c: char| c.is_ascii_digit(), "99999999999999999999", 1),
            3 => lines[line] = lines[line].replacen(|c: char| c.is_ascii_digit(), "0", 4),
            4 => lines[line] = lines[line].replacen(['"', '{', '}', '=', '['], "", 1),
            _ => lines[line].push_str(&other),
        }
    }
    lines.join("\n")
}

#[test]
fn damaged_files_are_read_or_refused_with_reasons() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../machines/timing");
    let mut refused = 0;
    for name in ["arm1136-kzm-l2", "x86-inorder"] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.toml"))).expect("it is shipped");
        for seed in 0..600 {
            let damaged = damage(&mut Random(seed), &text);
            if let Err(faults) = parse(name, Path::new("damaged.toml"), damaged) {
                refused += 1;
                assert!(!faults.is_clean());
                let all = &faults.diagnostics;
                assert!(all.iter().all(|fault| !fault.message.is_empty() && !fault.remedy.is_empty()));
                assert!(all.is_sorted_by_key(|fault| fault.labels.first().map(|label| label.span.start)));
            }
        }
    }
    assert!(refused > 600);
}
