//! `explain`: what a code means and what to do about it.

use crate::cli::ExplainOptions;
use crate::failure::Failure;
use crate::output::Output;
use serde_json::json;
use wcet_command::codes::{analysis, machine};

/// What is told of a code.
struct Told {
    name: &'static str,
    title: &'static str,
    explanation: &'static str,
}

pub fn explain(options: &ExplainOptions, output: &Output) -> Result<(), Failure> {
    let Some(name) = &options.code else {
        let all = all();
        all.iter().for_each(|code| output.human(&format!("{}  {}", code.name, code.title)));
        let codes: Vec<_> = all.iter().map(|code| json!({ "code": code.name, "title": code.title })).collect();
        output.json(&json!({ "codes": codes }));
        return Ok(());
    };
    let Told { name, title, explanation } = parse(name).ok_or_else(|| {
        Failure::unable(format!("there is no code {name}"), "`ashlar explain` without a code lists them all")
    })?;
    output.human(&format!("{name}: {title}\n\n{}", wrapped(explanation, 80)));
    output.json(&json!({ "code": name, "title": title, "explanation": explanation }));
    Ok(())
}

fn of_system(code: system::Code) -> Told {
    Told { name: code.name(), title: code.title(), explanation: code.explanation() }
}

fn of_analysis(code: analysis::Code) -> Told {
    Told { name: code.name(), title: code.title(), explanation: code.explanation() }
}

fn of_machine(code: machine::Code) -> Told {
    Told { name: code.name(), title: code.title(), explanation: code.explanation() }
}

/// Codes of system descriptions, of machine files, and of the timing analysis.
fn all() -> Vec<Told> {
    let systems = system::Code::ALL.iter().copied().map(of_system);
    let machines = machine::Code::ALL.iter().copied().map(of_machine);
    systems.chain(machines).chain(analysis::Code::ALL.iter().copied().map(of_analysis)).collect()
}

fn parse(name: &str) -> Option<Told> {
    let system = || system::Code::parse(name).map(of_system);
    let machine = || machine::Code::parse(name).map(of_machine);
    system().or_else(machine).or_else(|| analysis::Code::parse(name).map(of_analysis))
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
