//! The proofs' sources: `proof/_CoqProject`, and the functions of each layer's generated code.

use crate::error::Error;
use crate::finding::Finding;
use crate::sources::words;
use project::{folders, Project};
use std::path::{Path, PathBuf};

/// Logical name of the folder `proof`.
pub const ROOT: &str = "Ashlar";

/// `proof/_CoqProject`, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    pub folder: PathBuf,
    /// Options for coqc besides the logical path.
    pub options: Vec<String>,
    /// Files relative to `folder`, as listed.
    pub files: Vec<String>,
}

impl Tree {
    /// Reads the list; a file that it names twice or that is not there is a finding.
    pub fn read(project: &Project) -> Result<(Tree, Vec<Finding>), Error> {
        let folder = project.proof();
        let list = folder.join("_CoqProject");
        let text = read(&list)?;
        let (tree, mut findings) = parse(&folder, &text);
        for file in &tree.files {
            if !folder.join(file).is_file() {
                findings.push(Finding::at("missing-file", "proof/_CoqProject", None, format!("{file} does not exist")));
            }
        }
        Ok((tree, findings))
    }

    /// The text of one listed file.
    pub fn text(&self, file: &str) -> Result<String, Error> {
        read(&self.folder.join(file))
    }

    /// Generated code of `layer` in the list: what it is called, and its file. A second build of a layer has a name of its
    /// own: `layers/spinlock/CodeMcs.v` is `spinlock-mcs`.
    pub fn code(&self, layer: &str) -> Vec<(String, String)> {
        let prefix = format!("layers/{layer}/Code");
        let code = |file: &String| {
            let build = file.strip_prefix(&prefix)?.strip_suffix(".v")?.to_lowercase();
            let name = if build.is_empty() { layer.to_string() } else { format!("{layer}-{build}") };
            Some((name, file.clone()))
        };
        self.files.iter().filter_map(code).collect()
    }

    /// Sources below `proof` that the list does not name: nothing is said about them.
    pub fn unlisted(&self) -> Vec<String> {
        let mut found = Vec::new();
        walk(&self.folder, &self.folder, &mut found);
        found.retain(|file| !self.files.contains(file) && !file.starts_with("extract/"));
        found
    }
}

/// Names of the functions that generated code states, in its order: `Definition NAME_code : fundef`.
pub fn functions(code: &str) -> Vec<String> {
    let plain = words::without_comments(code);
    let name = |line: &str| {
        let (name, kind) = line.strip_prefix("Definition ")?.split_once(':')?;
        let name = name.trim().strip_suffix("_code")?;
        kind.trim_start().starts_with("fundef").then(|| name.to_string())
    };
    plain.lines().filter_map(name).collect()
}

/// Logical name of a file: `layers/queue/Proof.v` is `Ashlar.layers.queue.Proof`.
pub fn logical(file: &str) -> String {
    format!("{ROOT}.{}", file.trim_end_matches(".v").replace('/', "."))
}

pub fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|error| Error::unreadable(path, error))
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
    found.extend(project::stems(folder, "v").iter().filter_map(|stem| {
        let path = folder.join(format!("{stem}.v"));
        Some(path.strip_prefix(root).ok()?.display().to_string())
    }));
    folders(folder).iter().for_each(|name| walk(root, &folder.join(name), found));
}

fn parse(folder: &Path, text: &str) -> (Tree, Vec<Finding>) {
    let mut tree = Tree { folder: folder.to_path_buf(), options: Vec::new(), files: Vec::new() };
    let mut findings = Vec::new();
    let mut find =
        |line: usize, text: String| findings.push(Finding::at("bad-list", "proof/_CoqProject", Some(line), text));
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] | ["-Q", ".", ROOT] => {}
            // Only what cannot weaken the checks: warnings.
            ["-arg", "-w", "-arg", warnings] => tree.options.extend(["-w".to_string(), warnings.to_string()]),
            [file] if file.ends_with(".v") => {
                if tree.files.iter().any(|known| known == file) {
                    find(index + 1, format!("{file} is listed twice"));
                }
                tree.files.push(file.to_string());
            }
            _ => find(index + 1, format!("`{line}` is neither a file nor an option about warnings")),
        }
    }
    (tree, findings)
}

#[cfg(test)]
mod tests {
    use super::{functions, logical, parse};
    use std::path::Path;

    #[test]
    fn files_in_their_order_and_no_dangerous_option() {
        let text = "-Q . Ashlar\n-arg -w -arg -notation\n# a remark\na/B.v\nlayers/queue/Code.v # another\n\na/C.v\n";
        let (tree, findings) = parse(Path::new("proof"), text);
        assert_eq!(tree.files, ["a/B.v", "layers/queue/Code.v", "a/C.v"]);
        assert_eq!(tree.options, ["-w", "-notation"]);
        assert_eq!(tree.code("queue"), [("queue".to_string(), "layers/queue/Code.v".to_string())]);
        assert_eq!(tree.code("frame"), []);
        assert!(findings.is_empty());
        let (_, findings) = parse(Path::new("proof"), "-arg -type-in-type\na.v\na.v\n-R . Else\n");
        let lines: Vec<Option<usize>> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [Some(1), Some(3), Some(4)]);
    }

    #[test]
    fn functions_are_the_definitions_of_code() {
        let code = "(* Definition no_code : fundef := *)\nDefinition N : Z := 1.\nDefinition f_code : fundef := Fun 1 0\n  Skip.\n\
                    Definition g_check_code : fundef := Fun.\nDefinition m : module := module_of [(\"f\", f_code)].";
        assert_eq!(functions(code), ["f", "g_check"]);
        assert!(functions("Definition x").is_empty());
    }

    #[test]
    fn logical_names() {
        assert_eq!(logical("layers/queue/Proof.v"), "Ashlar.layers.queue.Proof");
    }
}
