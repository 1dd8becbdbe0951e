//! Links between pages lead to files that exist, every page stands in the summary, and every picture in a page.

use crate::{files_below, read, Error, Finding, PICTURES};
use std::path::{Component, Path, PathBuf};

pub fn check(root: &Path) -> Result<Vec<Finding>, Error> {
    let book = root.join("docs/src");
    let mut pages = files_below(&root.join("docs"), &[".md"])?;
    // The links of a page are relative to where it really lies, and there it is checked.
    pages.retain(|page| !page.is_symlink());
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        pages.push(root.join(name));
    }
    let summary = read(&book.join("SUMMARY.md"))?;
    let listed: Vec<PathBuf> = targets(&summary).map(|(_, target)| book.join(target)).collect();
    let mut findings = Vec::new();
    for page in &pages {
        let text = read(page)?;
        let own = page.strip_prefix(root).unwrap_or(page).to_path_buf();
        let folder = page.parent().unwrap_or(root);
        for (line, target) in targets(&text) {
            let path = target.split('#').next().unwrap_or_default();
            let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
            if is_elsewhere || path.is_empty() || plain(&folder.join(path)).exists() {
                continue;
            }
            findings.push(Finding { file: own.clone(), line, message: format!("the link to {target} leads nowhere") });
        }
        let in_book = page.starts_with(&book) && !page.ends_with("SUMMARY.md");
        if in_book && !listed.iter().any(|one| plain(one) == *page) {
            findings.push(Finding { file: own, line: 1, message: "the page does not stand in SUMMARY.md".to_string() });
        }
    }
    findings.extend(unseen_pictures(root, &pages)?);
    Ok(findings)
}

/// Pictures of the book that no page shows.
fn unseen_pictures(root: &Path, pages: &[PathBuf]) -> Result<Vec<Finding>, Error> {
    let texts = pages.iter().map(|page| read(page)).collect::<Result<Vec<String>, Error>>()?;
    let mut findings = Vec::new();
    for picture in files_below(&root.join(PICTURES), &[".svg"])? {
        let name = picture.file_name().map_or_else(String::new, |name| format!("pictures/{}", name.to_string_lossy()));
        if !texts.iter().any(|text| text.contains(&name)) {
            let file = picture.strip_prefix(root).unwrap_or(&picture).to_path_buf();
            findings.push(Finding { file, line: 1, message: "no page shows this picture".to_string() });
        }
    }
    Ok(findings)
}

/// Targets of the links of a page with their lines; blocks of code have none.
fn targets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().flat_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let parts = if in_code { Vec::new() } else { links_of(line) };
        parts.into_iter().map(move |target| (index + 1, target))
    })
}

fn links_of(line: &str) -> Vec<&str> {
    let outside = line.split('`').step_by(2);
    let of_part = |part| str::split(part, "](").skip(1).filter_map(|rest: &str| rest.split(')').next());
    outside.flat_map(of_part).collect()
}

/// Without `..` and `.`, as far as the text says.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut whole, part| {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            other => whole.push(other),
        }
        whole
    })
}

#[cfg(test)]
mod tests {
    use super::{targets, unseen_pictures};

    #[test]
    fn links_stand_outside_of_code() {
        let text = "see [a](b.md) and `[c](d)`\n```\n[e](f)\n```\n[g](h.md#i)\n";
        assert_eq!(targets(text).collect::<Vec<_>>(), [(1, "b.md"), (5, "h.md#i")]);
    }

    #[test]
    fn a_picture_that_no_page_shows_is_found() {
        let root = testing::Folder::new("pictures");
        let page = root.write("docs/src/page.md", "{{#include pictures/shown.svg}}");
        root.write("docs/src/pictures/shown.svg", "");
        root.write("docs/src/pictures/stale.svg", "");
        let found = unseen_pictures(&root, &[page]).unwrap();
        assert_eq!(
            found.iter().map(|one| one.file.display().to_string()).collect::<Vec<_>>(),
            ["docs/src/pictures/stale.svg"]
        );
    }
}
