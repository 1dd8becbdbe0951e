//! Copies of parts of the tree in which a test or a campaign plants faults.

use serde::Deserialize;
use std::io;
use std::path::Path;

/// One text in the place of another.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// Relative to the root of the tree.
    pub file: String,
    pub replace: String,
    pub by: String,
}

impl Edit {
    /// The edited text; why not, if what is to be replaced does not stand there exactly once.
    pub fn apply(&self, text: &str) -> Result<String, String> {
        match text.matches(&self.replace).count() {
            1 if self.replace != self.by => Ok(text.replace(&self.replace, &self.by)),
            count => Err(format!("{}: `{}` stands there {count} times, not once", self.file, self.replace)),
        }
    }
}

/// What Coq leaves beside its sources.
const LEFT_BY_COQ: &[&str] = &["vo", "vok", "vos", "glob"];

/// Makes the folder `below` of `to` the same as that of `from`. Files that are the same already stay untouched, so that make
/// compiles only what has changed. What Coq leaves beside sources is taken along only if `compiled` says so.
pub fn mirror(from: &Path, to: &Path, below: &str, compiled: bool) -> io::Result<()> {
    let target = to.join(below);
    std::fs::create_dir_all(&target)?;
    let wanted = |path: &Path| {
        let left = path.extension().is_some_and(|end| LEFT_BY_COQ.contains(&end.to_string_lossy().as_ref()));
        compiled || !left
    };
    for entry in std::fs::read_dir(&target)? {
        let path = entry?.path();
        if !path.file_name().is_some_and(|name| from.join(below).join(name).exists()) && path.is_file() {
            std::fs::remove_file(path)?;
        }
    }
    for entry in std::fs::read_dir(from.join(below))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Caches and locks of programs that were here.
        if name.starts_with('.') {
            continue;
        }
        let name = format!("{below}/{name}");
        if entry.file_type()?.is_dir() {
            mirror(from, to, &name, compiled)?;
        } else if wanted(&entry.path()) {
            let bytes = std::fs::read(entry.path())?;
            if !std::fs::read(to.join(&name)).is_ok_and(|old| old == bytes) {
                std::fs::write(to.join(&name), bytes)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{mirror, Edit};

    #[test]
    fn an_edit_changes_one_place() {
        let edit = Edit { file: "f".into(), replace: "x + 1".into(), by: "x + 2".into() };
        assert_eq!(edit.apply("y = x + 1;").as_deref(), Ok("y = x + 2;"));
        assert!(edit.apply("x + 1, x + 1").is_err());
        assert!(edit.apply("x").is_err());
        assert!(Edit { by: "x + 1".into(), ..edit }.apply("x + 1").is_err());
    }

    #[test]
    fn a_mirror_follows_its_source() {
        let root = testing::Folder::new("mirror");
        let (from, to) = (root.join("from"), root.join("to"));
        for (name, text) in [("a/x.v", "1"), ("a/x.vo", "2"), ("a/b/y.v", "3")] {
            root.write(from.join(name), text);
        }
        mirror(&from, &to, "a", false).unwrap();
        assert_eq!(std::fs::read_to_string(to.join("a/b/y.v")).unwrap(), "3");
        assert!(!to.join("a/x.vo").exists());
        std::fs::remove_file(from.join("a/x.v")).unwrap();
        mirror(&from, &to, "a", true).unwrap();
        assert!(to.join("a/x.vo").exists() && !to.join("a/x.v").exists());
    }
}
