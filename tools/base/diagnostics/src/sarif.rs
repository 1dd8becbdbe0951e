//! Findings as SARIF 2.1.0, for editors and code hosts.

use serde_json::{json, Value};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// One run of a tool.
#[derive(Debug, Clone, Default)]
pub struct Run<'a> {
    /// Name of the tool, such as `ashlar timing`.
    pub tool: &'a str,
    pub version: Option<&'a str>,
    /// The kinds of findings: name, and what it means if the tool says so.
    pub rules: Vec<Rule<'a>>,
    /// Files that were examined, with their SHA-256.
    pub artifacts: Vec<(&'a str, &'a str)>,
    pub results: Vec<Finding>,
    /// Further facts about the run, an object; nothing if null.
    pub properties: Value,
}

/// A kind of finding.
#[derive(Debug, Clone)]
pub struct Rule<'a> {
    pub id: &'a str,
    pub name: Option<&'a str>,
    pub title: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Error,
    Warning,
}

/// One finding.
#[derive(Debug, Clone)]
pub struct Finding {
    pub rule: String,
    pub level: Level,
    pub message: String,
    pub places: Vec<Place>,
    /// The steps that lead to it.
    pub steps: Vec<Place>,
}

/// A place in a source file or an executable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    /// From 1.
    pub line: Option<usize>,
    /// In an executable, if the line is not known.
    pub address: Option<u64>,
    pub symbol: Option<Symbol>,
    pub message: Option<String>,
}

/// A function or label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub full_name: String,
}

/// A log of one run.
pub fn log(run: &Run) -> Value {
    let mut driver = json!({ "name": run.tool, "rules": run.rules.iter().map(rule).collect::<Vec<_>>() });
    if let Some(version) = run.version {
        driver["version"] = json!(version);
    }
    let mut body = json!({
        "tool": { "driver": driver },
        "results": run.results.iter().map(result).collect::<Vec<_>>(),
    });
    if !run.artifacts.is_empty() {
        let artifact =
            |(file, sha): &(&str, &str)| json!({ "location": { "uri": uri(file) }, "hashes": { "sha-256": sha } });
        body["artifacts"] = run.artifacts.iter().map(artifact).collect();
    }
    if !run.properties.is_null() {
        body["properties"] = run.properties.clone();
    }
    json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [body] })
}

fn rule(rule: &Rule) -> Value {
    let mut made = json!({ "id": rule.id });
    if let Some(name) = rule.name {
        made["name"] = json!(name);
    }
    if let Some(title) = rule.title {
        made["shortDescription"] = json!({ "text": title });
    }
    made
}

fn result(finding: &Finding) -> Value {
    let level = match finding.level {
        Level::Error => "error",
        Level::Warning => "warning",
    };
    let mut made = json!({
        "ruleId": finding.rule,
        "level": level,
        "message": { "text": finding.message },
        "locations": finding.places.iter().map(location).collect::<Vec<_>>(),
    });
    if !finding.steps.is_empty() {
        let steps: Vec<Value> = finding.steps.iter().map(|step| json!({ "location": location(step) })).collect();
        made["codeFlows"] = json!([{ "threadFlows": [{ "locations": steps }] }]);
    }
    made
}

fn location(place: &Place) -> Value {
    let mut physical = json!({ "artifactLocation": { "uri": uri(&place.file) } });
    // SARIF has signed numbers.
    match (place.line, place.address.filter(|address| *address <= i64::MAX as u64)) {
        (Some(line), _) => physical["region"] = json!({ "startLine": line.max(1) }),
        (None, Some(address)) => physical["address"] = json!({ "absoluteAddress": address }),
        (None, None) => {}
    }
    let mut made = json!({ "physicalLocation": physical });
    if let Some(symbol) = &place.symbol {
        made["logicalLocations"] = json!([{ "name": symbol.name, "fullyQualifiedName": symbol.full_name }]);
    }
    if let Some(message) = &place.message {
        made["message"] = json!({ "text": message });
    }
    made
}

/// A path as a URI reference.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    if path.starts_with('/') {
        format!("file://{out}")
    } else {
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_uris_lines_and_addresses() {
        let line = Place { file: "a b.c".into(), line: Some(0), address: Some(7), ..Place::default() };
        let at = location(&line);
        assert_eq!(at["physicalLocation"]["artifactLocation"]["uri"], "a%20b.c");
        assert_eq!(at["physicalLocation"]["region"]["startLine"], 1);
        assert!(at["physicalLocation"].get("address").is_none());
        let far = Place { file: "/k.elf".into(), address: Some(u64::MAX), ..Place::default() };
        assert_eq!(location(&far), json!({ "physicalLocation": { "artifactLocation": { "uri": "file:///k.elf" } } }));
    }

    #[test]
    fn a_finding_without_steps_has_no_flow() {
        let finding =
            Finding { rule: "r".into(), level: Level::Warning, message: "m".into(), places: vec![], steps: vec![] };
        assert!(result(&finding).get("codeFlows").is_none());
        let with = Finding { steps: vec![Place::default()], ..finding };
        assert_eq!(result(&with)["codeFlows"][0]["threadFlows"][0]["locations"].as_array().map(Vec::len), Some(1));
    }
}
