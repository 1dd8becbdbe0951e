//! "Did you mean": the nearest of a set of names.

/// What to write instead of an unknown name: the nearest one, or all there are.
pub fn remedy(wanted: &str, noun: &str, known: &[&str]) -> String {
    let limit = (wanted.chars().count() / 3).min(3);
    let near = known.iter().map(|name| (edits(wanted, name), *name)).min();
    match near {
        None => format!("there is no {noun} yet: declare `{wanted}`"),
        Some((distance, name)) if distance <= limit => format!("did you mean `{name}`?"),
        Some(_) if known.len() > 12 => format!("declare the {noun} `{wanted}`, or name one that is declared"),
        Some(_) => format!("known here: {}", known.join(", ")),
    }
}

/// Letters to insert, delete or replace to turn one word into the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = corner + usize::from(a != *b);
            corner = row[j + 1];
            row[j + 1] = replaced.min(corner + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        assert_eq!(remedy("suspnd", "message", &["probe", "suspend"]), "did you mean `suspend`?");
        assert_eq!(remedy("banana", "message", &["probe", "suspend"]), "known here: probe, suspend");
        assert_eq!(edits("kitten", "sitting"), 3);
    }
}
