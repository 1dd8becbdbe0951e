//! Tokens and definitions of a Coq file, each with its place in the text.

use crate::sources::words::without_comments;
use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A name, qualified or with projections: `a`, `lang.Words.b`, `k.1`.
    Name,
    Number,
    Text,
    Sign,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    /// Where it stands, in bytes.
    pub place: Range<usize>,
}

impl Token<'_> {
    pub fn is(&self, text: &str) -> bool {
        self.kind != Kind::Text && self.text == text
    }
}

/// Names that a definition binds, and their type as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binders {
    pub names: Vec<String>,
    pub of: String,
}

/// `Definition name binders : type := body.` or `Fixpoint ...`.
#[derive(Debug, Clone)]
pub struct Definition<'a> {
    pub name: String,
    pub binders: Vec<Binders>,
    pub body: Vec<Token<'a>>,
}

/// What is written with several signs; a longer one comes before what it begins with.
const SIGNS: &[&str] = &[
    "<->", "<=?", "<$>", "<[", "<?", "<=", "<>", "=?", "=>", "->", ":=", "::", "]>", "{[", "]}", "&&", "||", "!!",
    "++", "/\\", "\\/",
];
const OPEN: &[&str] = &["(", "[", "<[", "{[", "{"];
const CLOSED: &[&str] = &[")", "]", "]>", "]}", "}"];

/// How much deeper what follows the token lies than the token.
pub fn depth(token: &Token<'_>) -> i32 {
    i32::from(OPEN.iter().any(|sign| token.is(sign))) - i32::from(CLOSED.iter().any(|sign| token.is(sign)))
}

/// The sentences of a file, without the periods at their ends.
pub fn sentences(text: &str) -> Vec<Vec<Token<'_>>> {
    // Comments become spaces, as many bytes as they had.
    let plain: String = without_comments_bytes(text);
    let (mut sentences, mut sentence) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(c) = plain[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let (kind, length) = token(&plain[at..], c);
        let place = at..at + length;
        at = place.end;
        if &text[place.clone()] == "." && plain[at..].chars().next().is_none_or(char::is_whitespace) {
            sentences.push(std::mem::take(&mut sentence));
        } else {
            sentence.push(Token { kind, text: &text[place.clone()], place });
        }
    }
    if !sentence.is_empty() {
        sentences.push(sentence);
    }
    sentences
}

fn token(rest: &str, first: char) -> (Kind, usize) {
    if first == '"' {
        return (Kind::Text, rest[1..].find('"').map_or(rest.len(), |end| end + 2));
    }
    if first.is_ascii_digit() {
        return (Kind::Number, rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    }
    if is_name(first) {
        let mut end = 0;
        let mut chars = rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let goes_on = chars.peek().is_some_and(|(_, next)| is_name(*next));
            if !(is_name(c) || c == '.' && goes_on) {
                break;
            }
            end = at + c.len_utf8();
        }
        return (Kind::Name, end);
    }
    let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
    (Kind::Sign, sign.map_or(first.len_utf8(), |sign| sign.len()))
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '\''
}

/// [`without_comments`] counts characters; here every byte keeps its place.
fn without_comments_bytes(text: &str) -> String {
    let plain = without_comments(text);
    let mut out = String::with_capacity(text.len());
    for (old, new) in text.chars().zip(plain.chars()) {
        if old == new {
            out.push(new);
        } else {
            out.extend(std::iter::repeat_n(' ', old.len_utf8()));
        }
    }
    out
}

/// The definitions and fixpoints of a file.
pub fn definitions(text: &str) -> Vec<Definition<'_>> {
    sentences(text).into_iter().filter_map(definition).collect()
}

fn definition(sentence: Vec<Token<'_>>) -> Option<Definition<'_>> {
    let start = sentence.iter().position(|token| !token.is("Local") && !token.is("Global"))?;
    if !sentence[start].is("Definition") && !sentence[start].is("Fixpoint") {
        return None;
    }
    let name = sentence.get(start + 1)?.text.to_string();
    let mut level = 0;
    let mut head_end = None;
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, token) in sentence.iter().enumerate().skip(start + 2) {
        if level == 0 && (token.is(":=") || token.is(":")) {
            head_end.get_or_insert(at);
        }
        if level == 0 && token.is(":=") {
            let binders = groups.into_iter().filter_map(|group| binders(&sentence[group])).collect();
            return Some(Definition { name, binders, body: sentence[at + 1..].to_vec() });
        }
        if level == 0 && head_end.is_none() && token.is("(") {
            groups.push(at + 1..at + 1);
        }
        level += depth(token);
        if let Some(group) = groups.last_mut().filter(|group| level == 0 && token.is(")") && group.start == group.end) {
            *group = group.start..at;
        }
    }
    None
}

/// `a b : T`
fn binders(tokens: &[Token<'_>]) -> Option<Binders> {
    let colon = tokens.iter().position(|token| token.is(":"))?;
    let words = |tokens: &[Token<'_>]| tokens.iter().map(|token| token.text.to_string()).collect::<Vec<_>>();
    Some(Binders { names: words(&tokens[..colon]), of: words(&tokens[colon + 1..]).join(" ") })
}

/// The fields of the file's records, in order, with their types.
pub fn fields(text: &str) -> Vec<Vec<(String, String)>> {
    let record = |sentence: Vec<Token<'_>>| {
        let open = sentence.iter().position(|token| token.is("{"))?;
        let close = sentence.iter().rposition(|token| token.is("}"))?;
        let named = |tokens: &[Token<'_>]| binders(tokens).and_then(|one| Some((one.names.first()?.clone(), one.of)));
        let parts = sentence.get(open + 1..close)?.split(|token| token.is(";"));
        sentence[0].is("Record").then(|| parts.filter_map(named).collect())
    };
    sentences(text).into_iter().filter(|sentence| !sentence.is_empty()).filter_map(record).collect()
}

/// Whether the line stands in a proof that ends with `Qed`: there Coq refuses because something is no longer true.
pub fn in_proof(text: &str, line: usize) -> bool {
    let line_of = |at: usize| text[..at].bytes().filter(|&byte| byte == b'\n').count() + 1;
    let mut begun = None;
    for sentence in sentences(text) {
        let Some((first, last)) = sentence.first().zip(sentence.last()) else { continue };
        if first.is("Proof") {
            begun = Some(line_of(first.place.start));
        } else if last.is("Qed") || last.is("Defined") {
            if begun.is_some_and(|begun| (begun..=line_of(last.place.end)).contains(&line)) {
                return last.is("Qed");
            }
            begun = None;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{definitions, fields, in_proof, sentences, Kind};

    fn texts(text: &str) -> Vec<Vec<&str>> {
        sentences(text).iter().map(|tokens| tokens.iter().map(|token| token.text).collect()).collect()
    }

    #[test]
    fn tokens_stand_where_the_text_has_them() {
        let text = "(* ∅ \"*)\" *) Definition a := k.1 <=? \"x. y\" ∪ lang.Words.b.\nEnd s.";
        let found = sentences(text);
        assert_eq!(texts(text)[0], ["Definition", "a", ":=", "k.1", "<=?", "\"x. y\"", "∪", "lang.Words.b"]);
        assert_eq!(texts(text)[1], ["End", "s"]);
        assert!(found.concat().iter().all(|token| text[token.place.clone()] == *token.text));
        assert_eq!((found[0][3].kind, found[0][5].kind), (Kind::Name, Kind::Text));
    }

    #[test]
    fn notations_are_one_token() {
        assert_eq!(
            texts("<[k := v]> m !! 12 <> {[x]}.")[0],
            ["<[", "k", ":=", "v", "]>", "m", "!!", "12", "<>", "{[", "x", "]}"]
        );
        assert_eq!(texts("(f x).2 <-> a.")[0], ["(", "f", "x", ")", ".", "2", "<->", "a"]);
    }

    #[test]
    fn a_definition_has_binders_and_a_body() {
        let text = "Lemma l : a := b. Local Fixpoint f (s : gmap (Z * Z) Z) (p c : Z) {struct p} : option (Z * t) := g (C := t) s.";
        let found = definitions(text);
        assert_eq!((found.len(), found[0].name.as_str(), found[0].binders.len()), (1, "f", 2));
        assert_eq!(found[0].binders[0].of, "gmap ( Z * Z ) Z");
        assert_eq!(found[0].binders[1].names, ["p", "c"]);
        assert_eq!(found[0].body[0].text, "g");
    }

    #[test]
    fn records_have_fields() {
        let found = fields("Record r := R { a : Z; (* one *) b : gmap Z Z; c : Z; }. Definition d := {| a := 1 |}.");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0][1], ("b".to_string(), "gmap Z Z".to_string()));
        assert_eq!(found[0].len(), 3);
    }

    #[test]
    fn only_a_proof_that_ends_with_qed_counts() {
        let text =
            "Definition a := 1.\nLemma b : c.\nProof.\n  { done. }\nQed.\nInstance d : e.\nProof.\n  f. Defined.\n";
        let lines: Vec<usize> = (1..=8).filter(|line| in_proof(text, *line)).collect();
        assert_eq!(lines, [3, 4, 5]);
    }
}
