//! The schemas of descriptions and machine files as JSON Schema, with which editors complete and check them.

use crate::schema::{machine, project, system, KeySpec, Kind, Need, TableSpec};
use serde_json::{json, Map, Value};

/// Of `systems/NAME.toml`.
pub fn description_schema() -> Value {
    file("A system description", system::TABLES)
}

/// Of `machines/NAME.toml`.
pub fn machine_schema() -> Value {
    file("A machine description", machine::TABLES)
}

/// Of a project's `ashlar.toml`.
pub fn project_schema() -> Value {
    file("A project", project::TABLES)
}

const NAME: &str = "^[a-z][a-z0-9_-]{0,30}$";

fn file(title: &str, specs: &[TableSpec]) -> Value {
    let required: Vec<&str> = specs.iter().filter(|spec| spec.required).map(|spec| spec.name).collect();
    let properties: Map<String, Value> = specs.iter().map(|spec| (spec.name.to_string(), family(spec))).collect();
    json!({
        // Drafts after 7 are not known to the TOML extensions of all editors.
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": title,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// One table, or tables by names of the user's choice.
fn family(spec: &TableSpec) -> Value {
    if !spec.named {
        return table(spec);
    }
    json!({
        "type": "object",
        "description": spec.meaning,
        "propertyNames": { "pattern": NAME },
        "additionalProperties": table(spec),
    })
}

fn table(spec: &TableSpec) -> Value {
    let properties: Map<String, Value> = spec.all_keys().map(|spec| (spec.name.to_string(), key(spec))).collect();
    let required: Vec<&str> = spec.all_keys().filter(|key| key.need == Need::Required).map(|key| key.name).collect();
    json!({
        "type": "object",
        "description": spec.meaning,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn key(spec: &KeySpec) -> Value {
    let mut schema = kind(spec.kind);
    let default = match spec.need {
        Need::Required => String::new(),
        Need::Default(text) => format!(" Default: {text}."),
    };
    schema["description"] = json!(format!("{}{default}", spec.meaning));
    schema
}

fn kind(kind: Kind) -> Value {
    let matching = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    let names = || json!({ "type": "object", "propertyNames": { "pattern": NAME } });
    match kind {
        Kind::Text | Kind::Name(_) => json!({ "type": "string" }),
        Kind::Regex => json!({ "type": "string", "format": "regex" }),
        Kind::Texts | Kind::Names(_) => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Integer(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Kind::Integers(low, high) => json!({
            "type": "array", "minItems": 1, "items": { "type": "integer", "minimum": low, "maximum": high }
        }),
        Kind::Size(..) => matching(r"^\s*[0-9_]+\s*(B|KiB|MiB|GiB)\s*$"),
        Kind::Duration(..) => matching(r"^\s*[0-9_]+\s*(ns|us|ms|s)\s*$"),
        Kind::Range => matching(r"^\s*(0x[0-9a-fA-F_]+|[0-9_]+)\s*\.\.\s*(0x[0-9a-fA-F_]+|[0-9_]+)\s*$"),
        Kind::Function => matching(r"^\s*[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\s*$"),
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::Choices(words) => json!({ "type": "array", "items": { "enum": words } }),
        Kind::Arguments => {
            let mut schema = names();
            schema["additionalProperties"] = json!({ "type": ["string", "integer", "boolean"] });
            schema
        }
        Kind::Files => {
            let mut schema = names();
            schema["additionalProperties"] = json!({ "type": "string" });
            schema
        }
        Kind::Tables(spec) => family(spec),
    }
}
