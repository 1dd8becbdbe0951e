//! "Did you mean": the nearest of a set of names.

/// Longer lists of names are not printed.
const MOST_LISTED: usize = 16;

/// The nearest candidate, if its distance is small enough for a typing error.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    let limit = (wanted.chars().count() / 3).min(3);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A remedy: the nearest name, or all there are.
pub fn remedy(wanted: &str, noun: &str, candidates: &[&str]) -> String {
    if let Some(near) = nearest(wanted, candidates.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    let mut known = candidates.to_vec();
    known.sort_unstable();
    known.dedup();
    match known.len() {
        0 => format!("there is no {noun} at all: declare `{wanted}`"),
        1..=MOST_LISTED => format!("choose one of: {}", known.join(", ")),
        _ => format!("declare the {noun} `{wanted}`, or name one that is declared"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        assert_eq!(nearest("sever", ["server", "client"]), Some("server"));
        assert_eq!(nearest("proirity", ["period", "priority"]), Some("priority"));
        assert_eq!(nearest("Server", ["server", "client"]), Some("server"));
        assert_eq!(nearest("banana", ["server", "client"]), None);
        assert_eq!(nearest("ab", ["ac"]), None);
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn a_remedy_names_what_there_is() {
        assert_eq!(remedy("suspnd", "message", &["probe", "suspend"]), "did you mean `suspend`?");
        assert_eq!(remedy("flush", "message", &["suspend", "probe"]), "choose one of: probe, suspend");
        assert_eq!(remedy("flush", "message", &[]), "there is no message at all: declare `flush`");
    }
}
