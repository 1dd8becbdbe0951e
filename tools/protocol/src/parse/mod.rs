//! The protocol language: text to syntax tree.
//!
//! A faulty line is reported and left out; the lines after it are read.
//!
//! ```text
//! protocol pci 1                      name, number (the high byte of its mailboxes)
//! request work 32                     requests that a message opens and another one closes, at most 32 at a time
//! in  probe remove suspend            messages that the driver receives
//! out probe_ok                        messages that it sends
//! in  transmit
//!   opens work                        its cookie names no open request and opens one
//!   length u16 14..1514               payload field, its type and range
//! state Present fair                  `initial`, `timed`, `fair`, `final`, `needs PROTOCOL STATE`
//!   ?unplug -> Gone                   an edge; several messages: `?a, ?b -> Gone`; no target: the state stays
//!   !irq_on -> On when Enabled        an edge that is there only while another region is in `Enabled`; or `unless`
//!   state Idle initial                states inside make it a superstate; `region` lines make it parallel
//! ```

mod cursor;
mod line;
mod message;
pub mod syntax;
mod tree;

use crate::codes::Code;
use crate::findings::Findings;
use cursor::Cursor;
use diagnostics::{Diagnostic, Source, Span, Spanned};
use line::Token;
use syntax::{EdgeSyntax, StateSyntax, Syntax};
use tree::Node;

const EDGE_FORM: &str =
    "write `?MESSAGE -> STATE` or `!MESSAGE -> STATE`, then guards `when STATE` or `unless STATE`; \
                         without `-> STATE` the state stays";
const STATE_FORM: &str = "write `state NAME`, then any of `initial`, `timed`, `fair`, `final`, `needs PROTOCOL STATE`";

/// What a line became, so that the lines inside it find it.
#[derive(Debug, Clone, Copy)]
enum Owner {
    Protocol,
    /// The messages from the first to before the second.
    Messages(usize, usize),
    State(usize),
    /// Nothing may stand inside.
    Leaf,
    /// A faulty line; what is inside is not read.
    Broken,
}

/// Reads the text of `source`. Every fault goes to `report`.
pub fn parse(source: &Source, report: &mut Findings) -> Syntax {
    let lines = line::lines(&source.text, report);
    let mut parser = Parser { report, syntax: Syntax::default() };
    let nodes = tree::tree(lines, parser.report);
    let mut owners: Vec<Owner> = Vec::new();
    for node in &nodes {
        let around = node.parent.map(|parent| owners[parent]);
        let owner = parser.node(node, around);
        owners.push(owner);
    }
    if parser.syntax.name.is_none() {
        let message = "the text has no `protocol` line";
        let remedy = "begin with `protocol NAME`, then declare messages and states";
        parser.fault(Code::Syntax, message, remedy, &(0..0), "in this file");
    }
    parser.syntax
}

struct Parser<'a> {
    report: &'a mut Findings,
    syntax: Syntax,
}

impl Parser<'_> {
    fn fault(&mut self, code: Code, message: &str, remedy: &str, span: &Span, label: &str) {
        self.report.push(Diagnostic::new(code, message, remedy).at(&self.report.source, span, label));
    }

    fn form(&mut self, message: &str, remedy: &str, span: &Span) -> Owner {
        self.fault(Code::Syntax, message, remedy, span, "here");
        Owner::Broken
    }

    fn node(&mut self, node: &Node, around: Option<Owner>) -> Owner {
        match around {
            Some(Owner::Broken) => Owner::Broken,
            Some(Owner::Leaf) => self.form("nothing can stand inside this", "let it stand less deep", &node.span),
            Some(Owner::Messages(first, end)) => self.message_line(node, first, end),
            Some(Owner::State(state)) => self.state_line(node, Some(state)),
            // What belongs to the protocol may stand inside its line or below it.
            Some(Owner::Protocol) | None => self.outer_line(node),
        }
    }

    fn outer_line(&mut self, node: &Node) -> Owner {
        let mut cursor = Cursor::new(&node.tokens);
        match cursor.word().as_ref().map(|word| word.value.as_str()) {
            Some("protocol") => self.protocol(node, cursor),
            Some("in") => self.messages(node, cursor, true),
            Some("out") => self.messages(node, cursor, false),
            Some("request") => self.request(node, cursor),
            _ => self.state_line(node, None),
        }
    }

    fn protocol(&mut self, node: &Node, mut cursor: Cursor) -> Owner {
        let remedy = "write `protocol NAME` or `protocol NAME NUMBER`, once";
        let Some(name) = cursor.word() else {
            return self.form("the protocol has no name", remedy, &cursor.span());
        };
        if self.syntax.name.is_some() {
            return self.form("a second `protocol` line", remedy, &node.span);
        }
        self.syntax.number = cursor.number();
        self.syntax.name = Some(name);
        self.syntax.doc.clone_from(&node.comment);
        self.done(cursor, remedy, Owner::Protocol)
    }

    /// `owner`, if the line ends here.
    fn done(&mut self, cursor: Cursor, remedy: &str, owner: Owner) -> Owner {
        if !cursor.is_done() {
            self.form("the line goes on where it should end", remedy, &cursor.rest());
        }
        owner
    }

    fn state_line(&mut self, node: &Node, parent: Option<usize>) -> Owner {
        let mut cursor = Cursor::new(&node.tokens);
        if matches!(node.tokens.first(), Some((Token::Symbol("?" | "!"), _))) {
            return match parent {
                Some(state) => self.edge(node, cursor, state),
                None => self.form("an edge outside of any state", "let it stand inside a `state`", &node.span),
            };
        }
        let kind = cursor.word().map(|word| word.value).unwrap_or_default();
        if kind == "state" || kind == "region" {
            return self.state(node, cursor, parent, kind == "region");
        }
        let remedy = match parent {
            Some(_) => "inside a state stand edges (`?message -> State`), `state` and `region` lines",
            None => "outermost stand `protocol`, `request`, `in`, `out` and `state` lines",
        };
        self.form("this line is not understood", remedy, &node.span)
    }

    fn state(&mut self, node: &Node, mut cursor: Cursor, parent: Option<usize>, is_region: bool) -> Owner {
        let Some(name) = cursor.word() else {
            return self.form("the state has no name", STATE_FORM, &cursor.span());
        };
        if is_region && parent.is_none() {
            return self.form("a region outside of any state", "let it stand inside a `state`", &node.span);
        }
        let doc = node.comment.clone();
        let mut state = StateSyntax {
            name,
            is_region,
            parent,
            initial: None,
            timed: None,
            fair: None,
            is_final: None,
            needs: Vec::new(),
            doc,
        };
        while let Some(word) = cursor.word() {
            let mark = match word.value.as_str() {
                _ if is_region => None,
                "initial" => Some(&mut state.initial),
                "timed" => Some(&mut state.timed),
                "fair" => Some(&mut state.fair),
                "final" => Some(&mut state.is_final),
                "needs" => {
                    match (cursor.word(), cursor.word()) {
                        (Some(protocol), Some(other)) => state.needs.push((protocol, other)),
                        _ => {
                            self.form("`needs` names a protocol and a state of it", STATE_FORM, &word.span);
                        }
                    }
                    continue;
                }
                _ => None,
            };
            match mark {
                Some(mark) => *mark = Some(word.span),
                None if is_region => {
                    self.form("a region has a name only", "mark the states inside it", &word.span);
                }
                None => {
                    let known = ["initial", "timed", "fair", "final", "needs"];
                    let remedy = diagnostics::suggest::remedy(&word.value, "mark", &known);
                    self.form(&format!("`{}` is no mark of a state", word.value), &remedy, &word.span);
                }
            }
        }
        self.syntax.states.push(state);
        let state = self.syntax.states.len() - 1;
        self.done(cursor, STATE_FORM, Owner::State(state))
    }

    fn edge(&mut self, node: &Node, mut cursor: Cursor, source: usize) -> Owner {
        let mut messages: Vec<(bool, Spanned<String>)> = Vec::new();
        loop {
            let start = cursor.span();
            let incoming = cursor.symbol("?");
            if !incoming && !cursor.symbol("!") {
                return self.form("`?` or `!` and a message should stand here", EDGE_FORM, &start);
            }
            let Some(message) = cursor.word() else {
                return self.form("the message is missing", EDGE_FORM, &cursor.span());
            };
            messages.push((incoming, message));
            if !cursor.symbol(",") {
                break;
            }
        }
        let mut target = None;
        if cursor.symbol("->") {
            target = cursor.word();
            if target.is_none() {
                return self.form("the state after `->` is missing", EDGE_FORM, &cursor.span());
            }
        }
        let mut guards = Vec::new();
        while let Some(word) = cursor.word() {
            let is_when = word.value == "when";
            if !is_when && word.value != "unless" {
                return self.form("`when` or `unless` should stand here", EDGE_FORM, &word.span);
            }
            let Some(state) = cursor.word() else {
                return self.form("the guard names no state", EDGE_FORM, &cursor.span());
            };
            guards.push((is_when, state));
        }
        for (incoming, message) in messages {
            let (guards, target) = (guards.clone(), target.clone());
            let (span, doc) = (message.span.clone(), node.comment.clone());
            self.syntax.edges.push(EdgeSyntax { source, incoming, message, target, guards, span, doc });
        }
        self.done(cursor, EDGE_FORM, Owner::Leaf)
    }
}
