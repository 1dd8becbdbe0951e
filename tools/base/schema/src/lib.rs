//! A JSON schema that values are held against.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;
use std::path::Path;

pub struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    /// # Errors
    /// The text cannot be read, or is no schema; with the reason.
    pub fn read(path: &Path) -> Result<Schema, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
        Schema::new(serde_json::from_str(&text).map_err(|error| failed(&error))?)
    }

    /// # Errors
    /// The value is no schema; with the reason.
    pub fn new(schema: Value) -> Result<Schema, String> {
        const NAME: &str = "schema.json";
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource(NAME, schema).map_err(|error| error.to_string())?;
        let index = compiler.compile(NAME, &mut schemas).map_err(|error| error.to_string())?;
        Ok(Schema { schemas, index })
    }

    /// # Errors
    /// Where the value differs from the schema.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        self.schemas.validate(value, self.index).map_err(|error| format!("{error:#}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Schema;
    use serde_json::json;

    #[test]
    fn a_value_of_another_type_is_refused_with_its_place() {
        let schema =
            Schema::new(json!({ "type": "object", "properties": { "count": { "type": "integer" } } })).unwrap();
        assert_eq!(schema.check(&json!({ "count": 3 })), Ok(()));
        assert!(schema.check(&json!({ "count": "three" })).unwrap_err().contains("/count"));
    }
}
