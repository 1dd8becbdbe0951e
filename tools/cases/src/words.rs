//! Words that must not come back: `tests/words/banned.toml` names them, with what to write instead.

use super::Outcome;
use regex::Regex;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Of files that people read and write.
const EXTENSIONS: &[&str] = &["S", "c", "h", "ld", "md", "mk", "proto", "rs", "sh", "toml", "v"];
/// Relative to the root of the tree.
const LIST: &str = "tests/words/banned.toml";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    places: Vec<String>,
    word: Vec<Word>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Word {
    pattern: String,
    instead: String,
}

pub fn test(root: &Path) -> Outcome {
    match findings(root) {
        Err(why) => Outcome::Failed(why),
        Ok(found) if found.is_empty() => Outcome::Passed,
        Ok(found) => Outcome::Failed(format!("{}\nmend: reword these lines; {LIST} has the list", found.join("\n"))),
    }
}

/// Every line with a banned word: place, word, and what to write instead.
fn findings(root: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(root.join(LIST)).map_err(|error| format!("{LIST}: {error}"))?;
    let list: List = toml::from_str(&text).map_err(|error| format!("{LIST}: {error}"))?;
    let compiled = |word: &Word| Regex::new(&word.pattern).map_err(|error| format!("{LIST}: {error}"));
    let patterns = list.word.iter().map(compiled).collect::<Result<Vec<Regex>, String>>()?;
    let mut files = Vec::new();
    for place in &list.places {
        collect(&root.join(place), true, &mut files).map_err(|error| format!("{LIST}: {place}: {error}"))?;
    }
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let shown = file.strip_prefix(root).unwrap_or(&file).display();
        let bytes = std::fs::read(&file).map_err(|error| format!("{shown}: {error}"))?;
        for (index, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
            for (word, pattern) in list.word.iter().zip(&patterns) {
                if let Some(hit) = pattern.find(line) {
                    found.push(format!("{shown}:{}: \"{}\": {}", index + 1, hit.as_str(), word.instead));
                }
            }
        }
    }
    Ok(found)
}

/// The text files of `place`; a place that is named in the list counts whatever its extension.
fn collect(place: &Path, named: bool, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !place.is_dir() {
        let text = place.extension().is_some_and(|end| EXTENSIONS.contains(&end.to_string_lossy().as_ref()));
        if named || text {
            files.push(place.to_path_buf());
        }
        return Ok(());
    }
    for entry in std::fs::read_dir(place)? {
        collect(&entry?.path(), false, files)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::findings;
    use testing::Folder;

    fn tree(list: &str) -> Folder {
        let root = Folder::new("words");
        root.write("tests/words/banned.toml", list);
        root.write("a/b/x.c", "fine\nand a splendid day\n");
        root.write("a/picture.png", "splendid");
        root.write("else.c", "splendid");
        root
    }

    const WORD: &str = "[[word]]\npattern = '\\bsplendid\\b'\ninstead = 'name it'\n";

    #[test]
    fn finds_words_in_text_files_of_the_places() {
        let root = tree(&format!("places = ['a']\n{WORD}"));
        assert_eq!(findings(&root).unwrap(), ["a/b/x.c:2: \"splendid\": name it"]);
    }

    #[test]
    fn a_list_that_names_nothing_is_a_fault() {
        for list in [format!("places = ['gone']\n{WORD}"), "places = []".into(), WORD.replace("\\b", "(")] {
            let root = tree(&list);
            assert!(findings(&root).is_err(), "{list}");
        }
    }
}
