//! Texts with damage, for readers that must survive any text.

use crate::Random;

/// The text up to a random place.
pub fn cut<'t>(random: &mut Random, text: &'t str) -> &'t str {
    let mut end = random.below(text.len() + 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The text, or bytes, after one to four changes: a few items removed, some copied elsewhere, one of `pieces` put in.
pub fn damage<T: Clone>(random: &mut Random, whole: &mut Vec<T>, pieces: &[Vec<T>]) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(whole.len() + 1);
        match random.below(4) {
            0 => drop(whole.drain(at..(at + 1 + random.below(12)).min(whole.len()))),
            1 => {
                let from = random.below(whole.len() + 1);
                let copy = whole[from..(from + random.below(40)).min(whole.len())].to_vec();
                whole.splice(at..at, copy);
            }
            _ => drop(whole.splice(at..at, pieces[random.below(pieces.len())].iter().cloned())),
        }
    }
}
