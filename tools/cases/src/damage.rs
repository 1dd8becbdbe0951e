//! Breaking a copy of a file on purpose.

use super::case::Damage;

/// Applies one damage; the fault if it does not fit the file.
pub fn apply(damage: &Damage, bytes: &mut Vec<u8>) -> Result<(), String> {
    if let Some(keep) = damage.keep {
        let keep = usize::try_from(keep).map_err(|error| error.to_string())?;
        if keep >= bytes.len() {
            return Err(format!("the file has only {} bytes, so keeping {keep} breaks nothing", bytes.len()));
        }
        bytes.truncate(keep);
    }
    let (Some(at), Some(with)) = (damage.at, &damage.with) else {
        return if damage.keep.is_some() { Ok(()) } else { Err("give keep, or at and with".into()) };
    };
    let written = parse_hex(with)?;
    let start = if at < 0 { bytes.len() as i64 + at } else { at };
    let place = usize::try_from(start).ok().and_then(|start| bytes.get_mut(start..start + written.len()));
    let place = place.ok_or_else(|| format!("{at} lies outside the file"))?;
    if place == written {
        return Err("the file holds these bytes already".into());
    }
    place.copy_from_slice(&written);
    Ok(())
}

fn parse_hex(text: &str) -> Result<Vec<u8>, String> {
    if text.len() % 2 != 0 || !text.is_ascii() {
        return Err(format!("{text} is not bytes in hexadecimal"));
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).map_err(|error| error.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::apply;
    use crate::case::{Damage, DamagedFile};

    fn damage(at: Option<i64>, with: Option<&str>, keep: Option<u64>) -> Damage {
        Damage { file: DamagedFile::Image, at, with: with.map(String::from), keep }
    }

    #[test]
    fn breaks_what_it_should_and_never_nothing() {
        let mut bytes = vec![1, 2, 3, 4];
        apply(&damage(Some(1), Some("ff00"), None), &mut bytes).unwrap();
        assert_eq!(bytes, [1, 0xff, 0, 4]);
        apply(&damage(Some(-1), Some("07"), None), &mut bytes).unwrap();
        assert_eq!(bytes, [1, 0xff, 0, 7]);
        assert!(apply(&damage(Some(0), Some("01"), None), &mut bytes).is_err());
        assert!(apply(&damage(Some(4), Some("01"), None), &mut bytes).is_err());
        assert!(apply(&damage(None, None, Some(9)), &mut bytes).is_err());
        apply(&damage(None, None, Some(2)), &mut bytes).unwrap();
        assert_eq!(bytes.len(), 2);
    }
}
