//! Layout of Coq terms: parentheses, indentation and the width of a line.

use std::fmt::Write;

const WIDTH: usize = 110;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    Atom(String),
    /// A constructor with its arguments.
    Apply(&'static str, Vec<Term>),
    List(Vec<Term>),
    /// Statements one after the other, at least two: nested to the right.
    Chain(Vec<Term>),
}

pub fn string(text: &str) -> Term {
    Term::Atom(format!("\"{text}\""))
}

impl Term {
    /// On one line.
    fn flat(&self) -> String {
        match self {
            Term::Atom(text) => text.clone(),
            Term::Apply(head, arguments) if arguments.is_empty() => (*head).to_string(),
            Term::Apply(head, arguments) => {
                let arguments: Vec<String> = arguments.iter().map(Term::flat).collect();
                format!("({head} {})", arguments.join(" "))
            }
            Term::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.bare(item.flat())).collect();
                format!("[{}]", items.join("; "))
            }
            Term::Chain(items) => {
                let mut items = items.iter().rev().map(Term::flat);
                let last = items.next().unwrap_or_default();
                items.fold(last, |rest, item| format!("(Seq {item} {rest})"))
            }
        }
    }

    /// A text of this term without the parentheses that an item of a list does not need.
    fn bare(&self, text: String) -> String {
        match self {
            Term::Apply(_, arguments) if !arguments.is_empty() => text[1..text.len() - 1].to_string(),
            _ => text,
        }
    }

    /// As a text whose first line begins in column `indent`; later lines bring their own indentation.
    pub fn laid_out(&self, indent: usize) -> String {
        let flat = self.flat();
        if !matches!(self, Term::Chain(_)) && indent + flat.len() <= WIDTH {
            return flat;
        }
        match self {
            Term::Atom(text) => text.clone(),
            Term::Chain(items) => {
                let parts: Vec<String> = items.iter().map(|item| item.laid_out(indent + 5)).collect();
                chain(&parts, indent)
            }
            Term::Apply(head, arguments) => fill(&format!("({head}"), arguments, " ", ")", indent),
            Term::List(items) => fill("[", items, "; ", "]", indent),
        }
    }
}

fn chain(parts: &[String], indent: usize) -> String {
    let space = " ".repeat(indent);
    let mut out = String::new();
    for (at, part) in parts.iter().enumerate() {
        if at + 1 < parts.len() {
            if at > 0 {
                out.push_str(&space);
            }
            out.push_str(&format!("(Seq {part}\n"));
        } else {
            out.push_str(&format!("{space}     {part}{}", ")".repeat(at)));
        }
    }
    out
}

/// Puts as many items on a line as it holds; an item that spans lines begins one.
fn fill(open: &str, items: &[Term], separator: &str, close: &str, indent: usize) -> String {
    let inner = indent + 2;
    let mut out = open.to_string();
    let mut column = indent + open.len();
    let list = open == "[";
    let text = |item: &Term, text: String| if list { item.bare(text) } else { text };
    for (at, item) in items.iter().enumerate() {
        let flat = text(item, item.flat());
        let lead = if at > 0 || open.len() > 1 { separator } else { "" };
        if at == 0 && column + flat.len() >= WIDTH {
            // The first item stays beside what opens.
            let laid_out = text(item, item.laid_out(column + lead.len()));
            let _ = write!(out, "{lead}{laid_out}");
            column = if laid_out.contains('\n') { WIDTH } else { column + lead.len() + laid_out.len() };
            continue;
        }
        let fits = column + lead.len() + flat.len() <= WIDTH && !matches!(item, Term::Chain(_));
        if fits {
            out.push_str(lead);
            out.push_str(&flat);
            column += lead.len() + flat.len();
        } else {
            let laid_out = text(item, item.laid_out(inner));
            out.push_str(if at > 0 { separator.trim_end() } else { "" });
            out.push_str(&format!("\n{}{laid_out}", " ".repeat(inner)));
            column = if laid_out.contains('\n') { WIDTH } else { inner + laid_out.len() };
        }
    }
    out.push_str(close);
    out
}
