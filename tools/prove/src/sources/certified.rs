//! The claims of `proof/certified.toml`: which theorem certifies which C function.
//!
//! ```toml
//! [container]
//! container_split = "Ashlar.layers.container.Proof.container_split_correct"
//! ```
//!
//! A second build of a layer has a name of its own, as `[spinlock-mcs]`. Whether each theorem exists, mentions its function and
//! uses no axiom is asked of Coq.

use crate::coq::query::{module, Answer};
use crate::error::Error;
use crate::finding::Finding;
use crate::sources::tree::{functions, logical, Tree};
use std::collections::{BTreeMap, BTreeSet};

pub const FILE: &str = "proof/certified.toml";

/// Theorems by layer and function, as claimed.
pub type Claims = BTreeMap<String, BTreeMap<String, String>>;

/// A function of a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// The theorem that certifies it.
    pub theorem: Option<String>,
}

/// A layer and its functions, those of its generated code first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub name: String,
    pub functions: Vec<Function>,
    /// How many of them are in generated code.
    pub translated: usize,
}

impl Layer {
    pub fn certified(&self) -> usize {
        self.functions.iter().filter(|function| function.theorem.is_some()).count()
    }
}

/// Reads the claims; a file that is not well formed is a finding.
pub fn claims(tree: &Tree) -> Result<(Claims, Vec<Finding>), Error> {
    let path = tree.folder.join("certified.toml");
    if !path.exists() {
        return Ok((Claims::new(), vec![]));
    }
    match toml::from_str(&crate::sources::tree::read(&path)?) {
        Ok(claims) => Ok((claims, vec![])),
        Err(error) => Ok((Claims::new(), vec![Finding::at("bad-claims", FILE, None, error.to_string())])),
    }
}

/// The layers of `order`, each build of one separately, with their functions, and claims that fit none of them. `all` are the
/// functions of each layer, also of files that are not translated.
pub fn layers(
    order: &[String],
    tree: &Tree,
    claims: &Claims,
    all: &BTreeMap<String, Vec<String>>,
) -> Result<(Vec<Layer>, Vec<Finding>), Error> {
    let mut layers = Vec::new();
    for layer in order {
        let code = tree.code(layer);
        for (name, file) in &code {
            let claimed = claims.get(name);
            let function = |function: String| Function {
                theorem: claimed.and_then(|claimed| claimed.get(&function)).cloned(),
                name: function,
            };
            let text = if tree.folder.join(file).is_file() { tree.text(file)? } else { String::new() };
            let functions: Vec<Function> = functions(&text).into_iter().map(function).collect();
            layers.push(Layer { name: name.clone(), translated: functions.len(), functions });
        }
        if code.is_empty() {
            layers.push(Layer { name: layer.clone(), functions: vec![], translated: 0 });
        }
        // What no build of the layer translates is shown with its first.
        let builds = layers.len() - code.len().max(1);
        let translated =
            |name: &String| layers[builds..].iter().any(|one| one.functions.iter().any(|known| known.name == *name));
        let rest: Vec<String> =
            all.get(layer).into_iter().flatten().filter(|name| !translated(name)).cloned().collect();
        layers[builds].functions.extend(rest.into_iter().map(|name| Function { name, theorem: None }));
    }
    let findings = misfits(&layers, &tree.files, claims);
    Ok((layers, findings))
}

/// Claims about layers, functions or files that are not there.
fn misfits(layers: &[Layer], files: &[String], claims: &Claims) -> Vec<Finding> {
    let modules: BTreeSet<String> = files.iter().map(|file| logical(file)).collect();
    let mut findings = Vec::new();
    let mut find = |text: String| findings.push(Finding::at("bad-claims", FILE, None, text));
    for (name, claimed) in claims {
        let Some(layer) = layers.iter().find(|layer| layer.name == *name) else {
            find(format!("there is no layer {name}"));
            continue;
        };
        for (function, theorem) in claimed {
            if !layer.functions[..layer.translated].iter().any(|known| known.name == *function) {
                find(format!("{name}: the generated code has no function {function}"));
            }
            if !modules.contains(module(theorem)) {
                find(format!("{name}: {function}: proof/_CoqProject lists no file for {theorem}"));
            }
        }
    }
    findings
}

/// Every theorem that is claimed.
pub fn theorems(claims: &Claims) -> BTreeSet<String> {
    claims.values().flat_map(|claimed| claimed.values().cloned()).collect()
}

/// Holds Coq's answers against the claims.
pub fn hold(claims: &Claims, answers: &BTreeMap<String, Answer>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (layer, claimed) in claims {
        for (function, theorem) in claimed {
            let about = format!("{layer}: {function}: {theorem}");
            let Some(answer) = answers.get(theorem) else {
                findings.push(Finding::at("no-theorem", FILE, None, format!("{about} does not exist")));
                continue;
            };
            if ![function.clone(), format!("{function}_code")].iter().any(|name| mentions(&answer.statement, name)) {
                let text = format!("{about} does not speak of {function}; it states\n{}", answer.statement);
                findings.push(Finding::at("wrong-theorem", FILE, None, text));
            }
            if !answer.assumptions.is_empty() {
                let text = format!("{about} rests on {}", answer.assumptions.join(", "));
                findings.push(Finding::at("assumption", FILE, None, text));
            }
        }
    }
    findings
}

/// Whether `name` stands in `statement` as a whole word.
fn mentions(statement: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    statement.split(|c: char| !is_word(c)).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::{hold, mentions, misfits, Answer, Claims, Function, Layer};
    use std::collections::BTreeMap;

    const THEOREM: &str = "Ashlar.layers.queue.Proof.queue_peek_correct";

    fn claims(text: &str) -> Claims {
        toml::from_str(text).unwrap()
    }

    fn layers() -> Vec<Layer> {
        let functions = ["queue_peek", "queue_far"].map(|name| Function { name: name.into(), theorem: None });
        vec![Layer { name: "queue".into(), functions: functions.into(), translated: 1 }]
    }

    fn answers(statement: &str, assumptions: &[&str]) -> BTreeMap<String, Answer> {
        let assumptions = assumptions.iter().map(|name| name.to_string()).collect();
        BTreeMap::from([(THEOREM.to_string(), Answer { statement: statement.into(), assumptions })])
    }

    #[test]
    fn claims_must_fit_the_tree() {
        let files = ["layers/queue/Proof.v".to_string()];
        let good = claims(&format!("[queue]\nqueue_peek = \"{THEOREM}\""));
        assert!(misfits(&layers(), &files, &good).is_empty());
        assert_eq!(misfits(&layers(), &[], &good).len(), 1);
        let layer = claims(&format!("[queues]\nqueue_peek = \"{THEOREM}\""));
        assert_eq!(misfits(&layers(), &files, &layer)[0].message, "there is no layer queues");
        for other in ["queue_poke", "queue_far"] {
            let function = claims(&format!("[queue]\n{other} = \"{THEOREM}\""));
            assert_eq!(misfits(&layers(), &files, &function).len(), 1);
        }
    }

    #[test]
    fn claims_must_hold() {
        let claims = claims(&format!("[queue]\nqueue_peek = \"{THEOREM}\""));
        assert!(hold(&claims, &answers("fwp \"queue_peek\" [q]", &[])).is_empty());
        assert_eq!(hold(&claims, &BTreeMap::new())[0].kind, "no-theorem");
        assert_eq!(hold(&claims, &answers("True", &[]))[0].kind, "wrong-theorem");
        assert_eq!(hold(&claims, &answers("queue_peek", &["foo"]))[0].kind, "assumption");
    }

    #[test]
    fn a_name_is_a_whole_word() {
        assert!(mentions("fwp \"queue_peek\"%string", "queue_peek"));
        assert!(!mentions("queue_peek_locked", "queue_peek"));
    }
}
