//! Includes, macros and conditional compilation.
//!
//! Constants keep their names: a macro whose body is an expression stays a name in the token stream, and the
//! checker evaluates it. Only macros that are no constants (refused in certified files) are expanded as text.

mod conditional;
mod include;
mod macros;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub use include::locate_file;
use macros::is_value;
pub use macros::{expand, Macro, MacroKind};

use crate::fault::{Fault, Faults};
use crate::lex::{lex, Token, TokenKind};
use crate::order::LayerOrder;
use crate::rule::Rule;
use crate::source::{FileId, Sources, Span};

pub const MAX_NESTING: usize = 200;
const MAX_TOKENS: usize = 4_000_000;

/// What the build says: the same for every file of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `-D NAME=VALUE`; the value of a bare `-D NAME` is 1.
    pub defines: Vec<(String, String)>,
    /// Searched after the directory of the including file.
    pub include_dirs: Vec<PathBuf>,
    pub order: Option<LayerOrder>,
}

#[derive(Debug, Default)]
pub struct Preprocessed {
    pub tokens: Vec<Token>,
    /// The same with every macro expanded: what a C compiler reads.
    pub compiled: Vec<Token>,
    pub macros: HashMap<Rc<str>, Macro>,
    /// Names of macros in order of definition.
    pub macro_order: Vec<Rc<str>>,
    pub stdint: bool,
    /// A header could not be read: names it declares are not known.
    pub incomplete: bool,
}

struct Branch {
    span: Span,
    active: bool,
    /// A branch of this #if was taken.
    taken: bool,
    parent_active: bool,
}

struct Preprocessor<'a> {
    sources: &'a mut Sources,
    faults: &'a mut Faults,
    options: &'a Options,
    out: Preprocessed,
    depth: usize,
    included: usize,
    /// The kernel's directory, if the file stands in one.
    root: Option<PathBuf>,
}

/// Reads `file` with all it includes.
pub fn preprocess(sources: &mut Sources, file: FileId, options: &Options, faults: &mut Faults) -> Preprocessed {
    let root = locate_file(&sources.get(file).path).map(|location| location.root);
    let mut this = Preprocessor { sources, faults, options, out: Preprocessed::default(), depth: 0, included: 0, root };
    this.command_line();
    this.file(file);
    let end = this.sources.get(file).text.len() as u32;
    let span = Span { file, start: end.saturating_sub(1), end };
    this.out.tokens.push(Token { kind: TokenKind::End, span, first: true, spaced: true });
    this.out
}

impl Preprocessor<'_> {
    fn fault(&mut self, span: Span, rule: Rule, message: String) {
        self.faults.push(self.sources, Fault { rule, span, message, remedy: None });
    }

    fn command_line(&mut self) {
        let mut text = String::new();
        for (name, value) in &self.options.defines {
            text.push_str(&format!("#define {name} {value}\n"));
        }
        let id = self.sources.add(Path::new("<command line>"), &text);
        self.sources.set_trusted(id);
        self.file(id);
    }

    fn file(&mut self, id: FileId) {
        let tokens = lex(self.sources, id, self.faults);
        let mut branches: Vec<Branch> = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let active = branches.last().is_none_or(|branch| branch.active);
            if tokens[at].first && tokens[at].is("#") {
                let length = tokens[at + 1..].iter().take_while(|token| !token.first).count();
                let guarded = at == 0 && self.guards(id, &tokens);
                if guarded && tokens[2].name().is_some_and(|name| self.out.macros.contains_key(name)) {
                    // The header was read before.
                    return;
                }
                self.directive(&tokens[at], &tokens[at + 1..at + 1 + length], &mut branches, active, guarded);
                at += 1 + length;
                continue;
            }
            if active {
                self.token(&tokens[at]);
            }
            at += 1;
        }
        if let Some(branch) = branches.pop() {
            self.fault(branch.span, Rule::Syntax, "this #if has no #endif".to_string());
        }
    }

    /// The header opens with `#ifndef NAME` and `#define NAME`, and closes with the `#endif` that belongs to it.
    fn guards(&self, id: FileId, tokens: &[Token]) -> bool {
        let header = self.sources.get(id).path.extension().is_some_and(|extension| extension == "h");
        let opens = matches!(tokens, [_, word, name, hash, define, again, next, ..]
            if word.is_name("ifndef") && name.name().is_some() && !name.first && hash.first && hash.is("#")
                && define.is_name("define") && again.kind == name.kind && next.first);
        let mut depth = 0_usize;
        let mut closes = None;
        for (at, pair) in tokens.windows(2).enumerate().filter(|(_, pair)| pair[0].first && pair[0].is("#")) {
            match pair[1].name().unwrap_or("") {
                "if" | "ifdef" | "ifndef" => depth += 1,
                "endif" => depth = depth.saturating_sub(1),
                "else" | "elif" if depth == 1 => return false,
                _ => continue,
            }
            if depth == 0 {
                closes = Some(at);
                break;
            }
        }
        header && opens && closes == Some(tokens.len().saturating_sub(2))
    }

    fn token(&mut self, token: &Token) {
        if self.out.tokens.len() >= MAX_TOKENS {
            self.fault(token.span, Rule::Nesting, "the file with its headers is too long to be read".to_string());
            return;
        }
        let Some(found) = token.name().and_then(|name| self.out.macros.get(name)) else {
            self.out.tokens.push(token.clone());
            self.out.compiled.push(token.clone());
            return;
        };
        let as_text = matches!(found.kind, MacroKind::Text | MacroKind::Empty);
        let all = |found: &Macro| found.kind != MacroKind::Function;
        let mut fails = expand(&self.out.macros, token, &all, &mut Vec::new(), &mut self.out.compiled).is_err();
        if as_text {
            let text = |found: &Macro| matches!(found.kind, MacroKind::Text | MacroKind::Empty);
            fails |= expand(&self.out.macros, token, &text, &mut Vec::new(), &mut self.out.tokens).is_err();
        } else {
            self.out.tokens.push(token.clone());
        }
        if fails {
            self.fault(token.span, Rule::Nesting, "this macro expands without end".to_string());
        }
    }

    /// `guard`: this `#ifndef` guards the header that it opens, which is read for the first time.
    fn directive(&mut self, hash: &Token, line: &[Token], branches: &mut Vec<Branch>, active: bool, guard: bool) {
        let Some(word) = line.first() else { return };
        let rest = &line[1..];
        let span = hash.span.to(word.span);
        match word.name().unwrap_or("") {
            "if" | "ifdef" | "ifndef" => {
                let taken = active && (guard || self.condition(word, rest));
                branches.push(Branch { span, active: taken, taken, parent_active: active });
            }
            "elif" | "else" => {
                let Some(branch) = branches.last() else {
                    self.fault(span, Rule::Syntax, "no #if stands before this".to_string());
                    return;
                };
                let open = branch.parent_active && !branch.taken;
                let taken = open && (word.is_name("else") || self.condition(word, rest));
                if let Some(branch) = branches.last_mut() {
                    branch.active = taken;
                    branch.taken |= taken;
                }
            }
            "endif" => {
                if branches.pop().is_none() {
                    self.fault(span, Rule::Syntax, "no #if stands before this".to_string());
                }
            }
            _ if !active => {}
            "define" => self.define(rest, span),
            "include" => self.include(rest, span),
            "error" => {
                let text = self.text(rest);
                self.fault(span, Rule::Directive, format!("#error {text}"));
            }
            "undef" => self.undef(rest, span),
            other => self.fault(span, Rule::Directive, format!("#{other} is not a directive of the subset")),
        }
    }

    fn text(&self, tokens: &[Token]) -> String {
        match (tokens.first(), tokens.last()) {
            (Some(first), Some(last)) => {
                let all = first.span.to(last.span);
                let text = &self.sources.get(all.file).text;
                text.get(all.start as usize..all.end as usize).unwrap_or("").to_string()
            }
            _ => String::new(),
        }
    }

    fn condition(&mut self, word: &Token, rest: &[Token]) -> bool {
        if !word.is_name("if") && !word.is_name("elif") {
            let Some((token, name)) = rest.first().and_then(|token| Some((token, token.name()?))) else {
                self.fault(word.span, Rule::Syntax, "a name is missing behind this".to_string());
                return false;
            };
            let defined = self.out.macros.contains_key(name);
            if !conditional::is_switch(name) {
                self.fault(token.span, Rule::BuildSwitch, format!("`{name}` is no switch of the build"));
            }
            return defined == word.is_name("ifdef");
        }
        match conditional::evaluate(&self.out.macros, word.span, rest) {
            Ok(value) => value != 0,
            Err((span, rule, message)) => {
                self.fault(span, rule, message);
                false
            }
        }
    }

    fn undef(&mut self, rest: &[Token], span: Span) {
        self.fault(span, Rule::MacroRedefined, "#undef takes a macro's meaning away".to_string());
        if let Some(name) = rest.first().and_then(Token::name) {
            self.out.macros.remove(name);
        }
    }

    fn define(&mut self, rest: &[Token], span: Span) {
        let Some((name_token, name)) = rest.first().and_then(|token| match &token.kind {
            TokenKind::Name(name) => Some((token, name.clone())),
            _ => None,
        }) else {
            self.fault(span, Rule::Syntax, "#define needs a name".to_string());
            return;
        };
        let body = rest[1..].to_vec();
        let kind = match body.first() {
            None => MacroKind::Empty,
            Some(first) if first.is("(") && !first.spaced => MacroKind::Function,
            _ if is_value(&body) => MacroKind::Value,
            _ => MacroKind::Text,
        };
        let trusted = self.sources.trusted(span.file);
        match kind {
            MacroKind::Function => {
                self.fault(name_token.span, Rule::FunctionMacro, format!("`{name}` is a macro with arguments"));
            }
            MacroKind::Text if !trusted => {
                let message = format!("macro `{name}` stands for something that is no constant");
                self.fault(name_token.span, Rule::MacroBody, message);
            }
            _ => {}
        }
        if let Some(old) = self.out.macros.get(&name) {
            let same = old.kind == kind && old.body.iter().map(|t| &t.kind).eq(body.iter().map(|t| &t.kind));
            if !same {
                let message = format!("macro `{name}` was defined with another meaning before");
                self.fault(name_token.span, Rule::MacroRedefined, message);
            }
            return;
        }
        self.out.macro_order.push(name.clone());
        self.out.macros.insert(name.clone(), Macro { name, span: name_token.span, body, kind });
    }
}
