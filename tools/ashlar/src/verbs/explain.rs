//! `explain`: what a code means and what to do about it.

use crate::cli::ExplainOptions;
use crate::failure::Failure;
use crate::output::Output;
use serde_json::json;
use system::Code;

pub fn explain(options: &ExplainOptions, output: &Output) -> Result<(), Failure> {
    let Some(name) = &options.code else {
        for code in Code::ALL {
            output.human(&format!("{}  {}", code.name(), code.title()));
        }
        let codes: Vec<_> =
            Code::ALL.iter().map(|code| json!({ "code": code.name(), "title": code.title() })).collect();
        output.json(&json!({ "codes": codes }));
        return Ok(());
    };
    let code = Code::parse(name).ok_or_else(|| {
        Failure::unable(format!("there is no code {name}"), "`ashlar explain` without a code lists them all")
    })?;
    output.human(&format!("{}: {}\n\n{}", code.name(), code.title(), wrapped(code.explanation(), 80)));
    output.json(&json!({ "code": code.name(), "title": code.title(), "explanation": code.explanation() }));
    Ok(())
}

/// `text` in lines of at most `width` characters.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn wraps_at_words() {
        assert_eq!(super::wrapped("one two  three", 7), "one two\nthree");
        assert_eq!(super::wrapped("extraordinary", 4), "extraordinary");
    }
}
