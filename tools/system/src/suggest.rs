//! "Did you mean": the nearest of a set of names.

/// The nearest candidate, if it is near enough to be meant.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (wanted.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (distance(wanted, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A remedy: the nearest name, or all there are.
pub fn remedy(wanted: &str, noun: &str, candidates: &[&str]) -> String {
    match nearest(wanted, candidates.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if candidates.is_empty() => format!("there is no {noun} at all: add one"),
        None => {
            let mut known = candidates.to_vec();
            known.sort_unstable();
            known.dedup();
            format!("known here: {}", known.join(", "))
        }
    }
}

/// Edits (insert, delete, replace, swap of neighbours) that turn one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        assert_eq!(nearest("sever", ["server", "client"]), Some("server"));
        assert_eq!(nearest("proirity", ["period", "priority"]), Some("priority"));
        assert_eq!(nearest("banana", ["server", "client"]), None);
        assert_eq!(nearest("x", []), None);
    }
}
