//! Mutations of one place in a Coq definition: which token or group of tokens can be changed, and into what.
//!
//! A change that gives no valid term is left to Coq, which refuses the specification itself.

use crate::mutants::gallina::{definitions, depth, fields, Definition, Kind, Token};
use std::collections::BTreeSet;
use std::ops::Range;

/// One place of a text with something else in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub definition: String,
    pub kind: &'static str,
    /// What is replaced, in bytes.
    pub place: Range<usize>,
    pub by: String,
    /// The place with what stands around it, before and after.
    pub before: String,
    pub after: String,
}

impl Change {
    pub fn apply(&self, text: &str) -> String {
        format!("{}{}{}", &text[..self.place.start], self.by, &text[self.place.end..])
    }
}

/// One sign or name for another: kind of change, what, by what.
const OTHERS: &[(&str, &str, &str)] = &[
    ("comparison", "<?", "<=?"),
    ("comparison", "<=?", "<?"),
    ("comparison", "=?", "<=?"),
    ("comparison", "<", "<="),
    ("comparison", "<=", "<"),
    ("comparison", "=", "<>"),
    ("comparison", "<>", "="),
    ("comparison", "<->", "->"),
    ("arithmetic", "+", "-"),
    ("arithmetic", "-", "+"),
    ("arithmetic", "*", "+"),
    ("arithmetic", "/", "*"),
    ("arithmetic", "mod", "/"),
    ("arithmetic", "Z.lor", "Z.land"),
    ("arithmetic", "Z.land", "Z.lor"),
    ("arithmetic", "Z.ldiff", "Z.lor"),
    ("arithmetic", "Z.shiftl", "Z.shiftr"),
    ("arithmetic", "Z.shiftr", "Z.shiftl"),
    ("arithmetic", "Z.max", "Z.min"),
    ("boolean", "&&", "||"),
    ("boolean", "||", "&&"),
    ("boolean", "/\\", "\\/"),
    ("boolean", "\\/", "/\\"),
    ("boolean", "true", "false"),
    ("boolean", "false", "true"),
    ("set", "∪", "∖"),
    ("set", "∖", "∪"),
    ("set", "∈", "∉"),
    ("set", "∉", "∈"),
    ("negation dropped", "negb", ""),
    ("negation dropped", "~", ""),
];

/// Tokens shown on either side of a change.
const AROUND: usize = 4;

/// Every change of the definitions of a file. Of changes that give the same text, the first.
pub fn changes(text: &str) -> Vec<Change> {
    let records = fields(text);
    let definitions = definitions(text);
    let codes: BTreeSet<&str> =
        definitions.iter().flat_map(|one| &one.body).filter(|token| is_code(token)).map(|token| token.text).collect();
    let codes: Vec<&str> = codes.into_iter().collect();
    let mut found = Vec::new();
    for definition in &definitions {
        let mut finder = Finder { text, definition, body: &definition.body, found: Vec::new() };
        finder.tokens();
        finder.codes(&codes);
        finder.updates();
        finder.constants();
        finder.conditions();
        finder.operands();
        finder.results();
        finder.names(&records);
        found.extend(finder.found);
    }
    let mut seen = BTreeSet::new();
    found.retain(|change: &Change| seen.insert((change.place.start, change.place.end, change.by.clone())));
    found
}

struct Finder<'a> {
    text: &'a str,
    definition: &'a Definition<'a>,
    body: &'a [Token<'a>],
    found: Vec<Change>,
}

impl Finder<'_> {
    /// Tokens `range` of the body become `by`.
    fn change(&mut self, kind: &'static str, range: Range<usize>, by: &str) {
        let place = self.body[range.start].place.start..self.body[range.end - 1].place.end;
        let start = self.body[range.start.saturating_sub(AROUND)].place.start;
        let end = self.body[(range.end + AROUND).min(self.body.len()) - 1].place.end;
        let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (head, tail) = (&self.text[start..place.start], &self.text[place.end..end]);
        self.found.push(Change {
            definition: self.definition.name.clone(),
            kind,
            before: words(self.text[start..end].to_string()),
            after: words(format!("{head} {by} {tail}")),
            place,
            by: by.to_string(),
        });
    }

    fn is(&self, at: usize, text: &str) -> bool {
        self.body.get(at).is_some_and(|token| token.is(text))
    }

    /// The token that closes what the token opens.
    fn closing(&self, open: usize) -> Option<usize> {
        let mut level = 0;
        (open..self.body.len()).find(|&at| {
            level += depth(&self.body[at]);
            level == 0
        })
    }

    /// An argument that begins there: a name, a number, or something in brackets.
    fn argument(&self, start: usize) -> Option<Range<usize>> {
        let token = self.body.get(start)?;
        match (depth(token), token.kind) {
            (1, _) => Some(start..self.closing(start)? + 1),
            (0, Kind::Name | Kind::Number) => Some(start..start + 1),
            _ => None,
        }
    }

    fn tokens(&mut self) {
        for at in 0..self.body.len() {
            // A sign of a number, not a subtraction.
            let sign = self.is(at, "-") && (at == 0 || self.is(at - 1, "("));
            if let Some((kind, _, by)) = OTHERS.iter().find(|(_, what, _)| !sign && self.is(at, what)) {
                self.change(kind, at..at + 1, by);
            }
        }
    }

    /// Another code of the file: the next, and that all went well.
    fn codes(&mut self, codes: &[&str]) {
        for at in 0..self.body.len() {
            let Some(place) = codes.iter().position(|code| self.is(at, code)) else { continue };
            let next = codes[(place + 1) % codes.len()];
            for by in BTreeSet::from([next, "STATUS_OK"]).into_iter().filter(|by| *by != codes[place]) {
                self.change("code", at..at + 1, by);
            }
        }
    }

    fn updates(&mut self) {
        for at in 0..self.body.len() {
            let update = self.is(at, "<[").then(|| self.closing(at)).flatten().map(|end| at..end + 1);
            let arguments = if self.is(at, "delete") { 1 } else { 2 * usize::from(self.is(at, "alter")) };
            let call = (0..arguments)
                .try_fold(at + 1, |start, _| Some(self.argument(start)?.end))
                .filter(|_| arguments > 0)
                .map(|end| at..end);
            let single = self.is(at, "{[").then(|| self.closing(at)).flatten();
            let joined = single.filter(|end| self.is(end + 1, "∪")).map(|end| at..end + 2);
            let removed =
                single.filter(|_| at > 0 && (self.is(at - 1, "∖") || self.is(at - 1, "∪"))).map(|end| at - 1..end + 1);
            for range in [update, call, joined, removed].into_iter().flatten() {
                self.change("update dropped", range, "");
            }
        }
    }

    fn constants(&mut self) {
        for at in 0..self.body.len() {
            let token = &self.body[at];
            let projection = at > 0 && self.body[at - 1].is(".") && self.body[at - 1].place.end == token.place.start;
            match token.text.parse::<u128>() {
                Ok(number) if token.kind == Kind::Number && !projection => {
                    self.change("constant", at..at + 1, &(number + 1).to_string());
                }
                _ if is_constant(token) && !is_code(token) => {
                    let by = format!("({} + 1)", token.text);
                    self.change("constant", at..at + 1, &by);
                }
                _ => {}
            }
        }
    }

    /// `if c then`: the other branch.
    fn conditions(&mut self) {
        for at in 0..self.body.len() {
            if !self.is(at, "if") {
                continue;
            }
            let mut open = 0;
            let then = (at..self.body.len()).find(|&one| {
                open += i32::from(self.is(one, "if")) - i32::from(self.is(one, "then"));
                open == 0
            });
            let Some(then) = then else { continue };
            let condition = &self.text[self.body[at + 1].place.start..self.body[then - 1].place.end];
            let by = match condition.strip_prefix("decide ") {
                Some(proposition) => format!("decide (~ {proposition})"),
                None => format!("negb ({condition})"),
            };
            self.change("condition negated", at + 1..then, &by);
        }
    }

    /// One side of `/\`, `&&` or `||` dropped.
    fn operands(&mut self) {
        const ENDS: &[&str] =
            &["->", "<->", ",", ";", "|", "then", "else", "with", "=>", "end", "in", "if", ":=", "return"];
        const OPERATORS: &[&str] = &["/\\", "&&", "||", "\\/"];
        let ends = |at: usize| OPERATORS.iter().chain(ENDS).any(|end| self.is(at, end));
        let mut dropped = Vec::new();
        for at in (0..self.body.len()).filter(|&at| ["/\\", "&&", "||"].iter().any(|sign| self.is(at, sign))) {
            let mut level = 0;
            let right = (at + 1..self.body.len()).find(|&one| {
                level += depth(&self.body[one]);
                level < 0 || level == 0 && ends(one)
            });
            dropped.push(at..right.unwrap_or(self.body.len()));
            let mut level = 0;
            let before = (0..at).rev().find(|&one| {
                level -= depth(&self.body[one]);
                level < 0 || level == 0 && ends(one)
            });
            // The left side, if it is the first.
            if !before.is_some_and(|before| OPERATORS.iter().any(|sign| self.is(before, sign))) {
                dropped.push(before.map_or(0, |before| before + 1)..at + 1);
            }
        }
        dropped.into_iter().for_each(|range| self.change("operand dropped", range, ""));
    }

    /// `Some (value, state)`: another state, no requirement, or a requirement that no call meets.
    fn results(&mut self) {
        let plain =
            |of: &str| ["Z", "nat", "bool", "cell", "string", "list Z", "mem"].contains(&of) || of.contains("->");
        let states: Vec<String> =
            self.definition.binders.iter().filter(|one| !plain(&one.of)).flat_map(|one| one.names.clone()).collect();
        let expression =
            |at: usize| ["then", "else", "=>"].iter().any(|word| at > 0 && self.is(at - 1, word)) || at == 0;
        let mut changes = Vec::new();
        for at in 0..self.body.len() {
            if self.is(at, "None") && expression(at) && !self.is(at + 1, "=>") && !states.is_empty() {
                changes.push(("requirement dropped", at..at + 1, format!("Some (0, {})", states.join(", "))));
            }
            let Some(end) = (self.is(at, "Some") && self.is(at + 1, "(")).then(|| self.closing(at + 1)).flatten()
            else {
                continue;
            };
            if self.is(end + 1, "=>") {
                continue;
            }
            if expression(at) {
                changes.push(("answer refused", at..end + 1, "None".to_string()));
            }
            for (part, state) in self.parts(at + 2..end).into_iter().skip(1).zip(&states) {
                if part.len() > 1 {
                    changes.push(("old state", part, state.clone()));
                }
            }
        }
        changes.into_iter().for_each(|(kind, range, by)| self.change(kind, range, &by));
    }

    /// What stands between the commas of these tokens.
    fn parts(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let (mut parts, mut level, mut start) = (Vec::new(), 0, range.start);
        for at in range.clone() {
            level += depth(&self.body[at]);
            if level == 0 && self.is(at, ",") {
                parts.push(start..at);
                start = at + 1;
            }
        }
        parts.push(start..range.end);
        parts
    }

    /// A field, or a variable, in the place of another of the same type.
    fn names(&mut self, records: &[Vec<(String, String)>]) {
        let binders =
            self.definition.binders.iter().flat_map(|one| one.names.iter().map(|name| (name.clone(), one.of.clone())));
        let mut groups = vec![("variable", binders.collect::<Vec<_>>())];
        groups.extend(records.iter().map(|record| ("field", record.clone())));
        for at in 0..self.body.len() {
            // `x := ...` names an argument, `x =>` binds.
            if self.body[at].kind != Kind::Name || self.is(at + 1, ":=") || self.is(at + 1, "=>") {
                continue;
            }
            for (kind, names) in &groups {
                let Some(place) = names.iter().position(|(name, _)| name == self.body[at].text) else { continue };
                let alike = |other: &&(String, String)| other.1 == names[place].1 && other.0 != names[place].0;
                let next = names[place..].iter().find(alike).or_else(|| names.iter().find(alike));
                if let Some((by, _)) = next {
                    self.change(kind, at..at + 1, by);
                }
            }
        }
    }
}

/// A result of a function, as `abi.h` names it.
fn is_code(token: &Token<'_>) -> bool {
    token.kind == Kind::Name && (token.text.starts_with("ERR_") || token.text == "STATUS_OK")
}

/// A name in capitals.
fn is_constant(token: &Token<'_>) -> bool {
    let last = token.text.rsplit('.').next().unwrap_or_default();
    let capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    token.kind == Kind::Name
        && last.len() > 1
        && last.starts_with(|c: char| c.is_ascii_uppercase())
        && last.chars().all(capital)
}

#[cfg(test)]
mod tests {
    use super::changes;

    const RECORD: &str = "Record box := Box { size : Z; used : Z; full : bool }.\n";

    /// The changed bodies of the last definition, with their kinds.
    fn bodies(text: &str) -> Vec<(String, &'static str)> {
        let after = |text: &str, mark: &str| text.split_once(mark).unwrap().1.to_string();
        let body =
            |text: &str| after(&after(text, "Definition"), " := ").split_whitespace().collect::<Vec<_>>().join(" ");
        changes(text).into_iter().map(|change| (body(&change.apply(text)), change.kind)).collect()
    }

    fn has(text: &str, kind: &str, body: &str) {
        let found = bodies(text);
        assert!(found.iter().any(|one| one.0 == body && one.1 == kind), "{kind}: {body} not in {found:#?}");
    }

    #[test]
    fn signs_names_and_numbers() {
        has("Definition f (a b : Z) := a <? b + 1.", "comparison", "a <=? b + 1.");
        has("Definition f (a b : Z) := a <? b + 1.", "arithmetic", "a <? b - 1.");
        has("Definition f (a b : Z) := a <? b + 1.", "constant", "a <? b + 2.");
        has("Definition f (a b : Z) := a <? b + 1.", "variable", "b <? b + 1.");
        has("Definition f (b : bool) := negb b.", "negation dropped", "b.");
        has("Definition f (n : Z) := n + NUM_CPU.", "constant", "n + (NUM_CPU + 1).");
        // Not in strings, comments, projections, and no sign of a number.
        assert!(bodies("Definition f (k : t) := g k.1 (* 1 < 2 *) \"1 < 2\" (k).2.").is_empty());
        assert_eq!(bodies("Definition f := g (-1).").len(), 1);
    }

    #[test]
    fn fields_of_the_same_type() {
        let text = format!("{RECORD}Definition f (x : box) := size x.");
        assert_eq!(bodies(&text), [("used x.".to_string(), "field")]);
        assert!(bodies(&format!("{RECORD}Definition f (x : box) := full x.")).is_empty());
    }

    #[test]
    fn operands_are_dropped() {
        let text = "Definition f (x : t) := forall c, (p c /\\ q c) -> r c /\\ s (c && d) /\\ u c.";
        for body in [
            "forall c, (p c ) -> r c /\\ s (c && d) /\\ u c.",
            "forall c, ( q c) -> r c /\\ s (c && d) /\\ u c.",
            "forall c, (p c /\\ q c) -> s (c && d) /\\ u c.",
            "forall c, (p c /\\ q c) -> r c /\\ u c.",
            "forall c, (p c /\\ q c) -> r c /\\ s (c && d) .",
            "forall c, (p c /\\ q c) -> r c /\\ s (c ) /\\ u c.",
        ] {
            has(text, "operand dropped", body);
        }
    }

    #[test]
    fn results_and_updates() {
        let text = "Definition f (s : t) (k : Z) : r := if decide (k ∈ s) then Some (ERR_A, <[k := 1]> s) else None.";
        let after = "if decide (k ∈ s) then";
        has(text, "update dropped", &format!("{after} Some (ERR_A, s) else None."));
        has(text, "old state", &format!("{after} Some (ERR_A, s) else None."));
        has(text, "code", &format!("{after} Some (STATUS_OK, <[k := 1]> s) else None."));
        has(text, "answer refused", &format!("{after} None else None."));
        has(text, "requirement dropped", &format!("{after} Some (ERR_A, <[k := 1]> s) else Some (0, s)."));
        has(text, "condition negated", "if decide (~ (k ∈ s)) then Some (ERR_A, <[k := 1]> s) else None.");
        let pair = "Definition g (s : t) (h : u) (k : Z) := match m with Some (v, w) => Some (v, k ∪ {[v]}, delete k h) | None => None end.";
        let after = "match m with Some (v, w) =>";
        has(pair, "old state", &format!("{after} Some (v, s, delete k h) | None => None end."));
        has(pair, "old state", &format!("{after} Some (v, k ∪ {{[v]}}, h) | None => None end."));
        has(pair, "update dropped", &format!("{after} Some (v, k , delete k h) | None => None end."));
        assert!(bodies(pair).iter().all(|(body, _)| body.contains("Some (v, w) =>")));
    }

    #[test]
    fn a_change_says_what_stands_around_it() {
        let text = "Definition f (a b : Z) := a + b <? 2 * a + 7 * b.";
        let change = changes(text).into_iter().find(|change| change.kind == "comparison").unwrap();
        assert_eq!(change.definition, "f");
        assert_eq!((change.before.as_str(), change.after.as_str()), ("a + b <? 2 * a +", "a + b <=? 2 * a +"));
    }
}
