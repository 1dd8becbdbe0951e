//! Files damaged at random: never a panic, and whatever is refused has its reasons.

use std::path::PathBuf;
use wcet_hardware::machine::parse;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

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
            if let Err(faults) = parse(name, "damaged.toml", damaged) {
                refused += 1;
                assert!(!faults.is_clean());
                assert!(faults.list.iter().all(|fault| !fault.message.is_empty() && !fault.remedy.is_empty()));
                assert!(faults.list.is_sorted_by_key(|fault| fault.span.start));
            }
        }
    }
    assert!(refused > 600);
}
