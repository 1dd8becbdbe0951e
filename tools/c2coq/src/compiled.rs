//! Compares what the C compiler reads with what was checked.
//!
//! The kernel's Makefile preprocesses each file with all the flags of the build, and compiles the result, FILE.i. Its tokens
//! must be those that this crate's own preprocessor finds: then the text that is checked and translated is the text that is
//! compiled, whatever the compiler, its flags and its headers define. The compiler may read two things more: the integer
//! types of its own <stdint.h>, and prototypes that only add attributes on inlining.

use std::path::{Path, PathBuf};

use crate::fault::Faults;
use crate::finding::{Code, Finding};
use crate::lex::{lex, Token, TokenKind};
use crate::preprocess::{locate_file, preprocess, Options};
use crate::source::Sources;
use crate::Error;

/// Attributes that do not change what a function does.
const ATTRIBUTES: [&str; 3] = ["noinline", "noclone", "flatten"];

/// The spelling of each type that the subset knows, in GCC's words for this machine.
const TYPES: [(&str, &[&str]); 4] = [
    ("uint8_t", &["unsigned", "char"]),
    ("uint16_t", &["short", "unsigned", "int"]),
    ("uint32_t", &["unsigned", "int"]),
    ("uint64_t", &["long", "unsigned", "int"]),
];

/// Compares each file of each layer with `folder/LAYER/FILE.i`.
pub fn compare(kernel: &Path, options: &Options, folder: &Path) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    let mut sources = Sources::default();
    for path in layer_files(kernel)? {
        let read = |error| Error::Read { path: path.clone(), error };
        let layer = locate_file(&path).map(|location| location.layer).unwrap_or_default();
        let text = folder.join(layer).join(path.with_extension("i").file_name().unwrap_or_default());
        let file = sources.load(&path).map_err(read)?;
        let Ok(compiled) = std::fs::read(&text) else {
            findings.push(Finding {
                code: Code::NoText,
                file: text,
                line: None,
                message: format!("the text that the compiler reads of {} is not here", path.display()),
                remedy: "run make -C kernel".to_string(),
            });
            continue;
        };
        // Faults of the file are found by the check; here only its tokens count.
        let checked = preprocess(&mut sources, file, options, &mut Faults::default()).compiled;
        findings.extend(difference(&mut sources, &path, &checked, &text, &String::from_utf8_lossy(&compiled)));
    }
    Ok(findings)
}

/// The files of all layers, without unit tests, and without the invariant walks, which other files include.
fn layer_files(kernel: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    let mut folders = vec![kernel.join("layers")];
    while let Some(folder) = folders.pop() {
        let read = |error| Error::Read { path: folder.clone(), error };
        for entry in std::fs::read_dir(&folder).map_err(read)? {
            let path = entry.map_err(read)?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".c") && !name.ends_with("_test.c") && !name.ends_with("_check.c") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// A token with the place that the compiler gives it.
struct Placed {
    token: Token,
    place: String,
}

/// The first token in which the two differ.
fn difference(sources: &mut Sources, path: &Path, checked: &[Token], text: &Path, compiled: &str) -> Option<Finding> {
    let compiled = match placed(sources, text, compiled) {
        Ok(compiled) => compiled,
        Err(message) => return Some(finding(path.to_path_buf(), None, message)),
    };
    let mut rest = &compiled[..];
    let mut expected = checked.iter().peekable();
    loop {
        // Certified files have neither typedefs nor attributes.
        if let Some(length) = integer_type(rest).or_else(|| attributes_only(rest)) {
            rest = &rest[length..];
            continue;
        }
        match (expected.peek(), rest.first()) {
            (None, None) => return None,
            (Some(token), Some(read)) if token.kind == read.token.kind => {
                expected.next();
                rest = &rest[1..];
            }
            (token, read) => {
                let reads = read
                    .map_or("nothing more".to_string(), |read| format!("`{}` ({})", spelling(&read.token), read.place));
                let says = token.map_or("nothing more".to_string(), |token| format!("`{}`", spelling(token)));
                let (file, line) = match token {
                    Some(token) => {
                        let (line, _) = sources.position(token.span.file, token.span.start);
                        (sources.get(token.span.file).path.clone(), Some(line))
                    }
                    None => (path.to_path_buf(), None),
                };
                let message = format!("the compiler reads {reads} where the checked text has {says}");
                return Some(finding(file, line, message));
            }
        }
    }
}

fn finding(file: PathBuf, line: Option<u32>, message: String) -> Finding {
    let remedy = "take away the macro, the header or the option of the Makefile that changes the text";
    Finding { code: Code::OtherText, file, line, message, remedy: remedy.to_string() }
}

/// The tokens of preprocessed text, without its line markers; an error if anything else stands there.
fn placed(sources: &mut Sources, path: &Path, text: &str) -> Result<Vec<Placed>, String> {
    let id = sources.add(path, text);
    let mut faults = Faults::default();
    let tokens = lex(sources, id, &mut faults);
    if let Some(fault) = faults.into_sorted().first() {
        return Err(format!("the compiler reads what is no token of C: {}", fault.message));
    }
    let mut out = Vec::new();
    let (mut file, mut offset) = (path.display().to_string(), 0);
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        let line = sources.position(id, token.span.start).0;
        if !(token.first && token.is("#")) {
            let place = format!("{file}:{}", i64::from(line) + offset);
            out.push(Placed { token: token.clone(), place });
            at += 1;
            continue;
        }
        let (Some(TokenKind::Number(number)), Some(TokenKind::Str(name))) =
            (tokens.get(at + 1).map(|token| &token.kind), tokens.get(at + 2).map(|token| &token.kind))
        else {
            return Err(format!("the compiler reads a directive in {file}:{}", i64::from(line) + offset));
        };
        offset = number.parse::<i64>().unwrap_or(0) - i64::from(line) - 1;
        file = name.trim_matches('"').to_string();
        at += 1 + tokens[at + 1..].iter().take_while(|token| !token.first).count();
    }
    Ok(out)
}

/// The length of `typedef WORDS NAME;`, where the words are of the integer types and mean what the subset means.
fn integer_type(tokens: &[Placed]) -> Option<usize> {
    let end = tokens.iter().take(8).position(|placed| placed.token.is(";"))?;
    let names: Option<Vec<&str>> = tokens[..end].iter().map(|placed| placed.token.name()).collect();
    let names = names?;
    let (first, rest) = names.split_first()?;
    let (name, words) = rest.split_last()?;
    let integer = |word: &&str| ["signed", "unsigned", "char", "short", "int", "long"].contains(word);
    let meant = TYPES.iter().find(|(known, _)| known == name).is_none_or(|(_, meant)| *meant == words);
    (*first == "typedef" && !words.is_empty() && words.iter().all(integer) && !integer(name) && meant)
        .then_some(end + 1)
}

/// The length of a prototype that carries attributes, all of them harmless.
fn attributes_only(tokens: &[Placed]) -> Option<usize> {
    let before = attribute(tokens);
    let mut at = before;
    let result = tokens.get(at)?.token.name()?;
    if result != "void" && TYPES.iter().all(|(name, _)| *name != result) {
        return None;
    }
    tokens.get(at + 1)?.token.name()?;
    if !tokens.get(at + 2)?.token.is("(") {
        return None;
    }
    at += 3;
    let inner = |placed: &&Placed| placed.token.name().is_some() || placed.token.is(",") || placed.token.is("*");
    at += tokens[at..].iter().take_while(inner).count();
    if !tokens.get(at)?.token.is(")") {
        return None;
    }
    at += 1;
    let after = attribute(&tokens[at..]);
    at += after;
    (before + after > 0 && tokens.get(at)?.token.is(";")).then_some(at + 1)
}

/// The length of `__attribute__((NAMES))`, 0 if there is none or a name is not harmless.
fn attribute(tokens: &[Placed]) -> usize {
    let opens = matches!(tokens, [word, first, second, ..]
        if word.token.is_name("__attribute__") && first.token.is("(") && second.token.is("("));
    if !opens {
        return 0;
    }
    let mut at = 3;
    loop {
        let harmless = |name| ATTRIBUTES.contains(&name);
        match tokens.get(at..at + 2) {
            Some([name, comma]) if name.token.name().is_some_and(harmless) && comma.token.is(",") => at += 2,
            Some([name, close]) if name.token.name().is_some_and(harmless) && close.token.is(")") => {
                let closed = tokens.get(at + 2).is_some_and(|placed| placed.token.is(")"));
                return if closed { at + 3 } else { 0 };
            }
            _ => return 0,
        }
    }
}

fn spelling(token: &Token) -> String {
    match &token.kind {
        TokenKind::Name(text) | TokenKind::Number(text) => text.to_string(),
        TokenKind::Str(text) => text.to_string(),
        TokenKind::Char(value) => value.map_or("a character".to_string(), |value| format!("'{}'", char::from(value))),
        TokenKind::Punct(text) => (*text).to_string(),
        TokenKind::End => "the end".to_string(),
    }
}
