//! Messages, their payload and their requests.

use super::cursor::Cursor;
use super::syntax::{FieldSyntax, MessageSyntax, RequestSyntax, RuleSyntax};
use super::tree::Node;
use super::{Owner, Parser};
use diagnostics::Spanned;

const MESSAGES_FORM: &str = "write `in NAME` or `out NAME`, several names if nothing more is said about them";
const REQUEST_FORM: &str = "write `request NAME LIMIT`: how many may be open at a time";
const FIELD_FORM: &str = "write `NAME TYPE`, `NAME TYPE FIRST..LAST` or `NAME TYPE[COUNT]`, TYPE u8, u16, u32 or u64";

/// What a message may say about requests.
pub const VERBS: &[&str] = &["opens", "closes", "names", "drained", "drops"];

impl Parser<'_> {
    pub(super) fn messages(&mut self, node: &Node, mut cursor: Cursor, incoming: bool) -> Owner {
        let first = self.syntax.messages.len();
        while let Some(name) = cursor.word() {
            let doc = node.comment.clone();
            let (fields, rules, is_local, is_owed) = (Vec::new(), Vec::new(), false, false);
            self.syntax.messages.push(MessageSyntax { name, incoming, doc, fields, rules, is_local, is_owed });
        }
        let end = self.syntax.messages.len();
        if end == first {
            return self.form("no message is named", MESSAGES_FORM, &cursor.span());
        }
        self.done(cursor, MESSAGES_FORM, Owner::Messages(first, end))
    }

    pub(super) fn request(&mut self, node: &Node, mut cursor: Cursor) -> Owner {
        match (cursor.word(), cursor.number()) {
            (Some(name), Some(limit)) => {
                self.syntax.requests.push(RequestSyntax { name, limit, doc: node.comment.clone() });
                self.done(cursor, REQUEST_FORM, Owner::Leaf)
            }
            _ => self.form("a request has a name and a limit", REQUEST_FORM, &node.span),
        }
    }

    /// A line inside `in` or `out`: a field, or a rule on requests. It holds for every message of the line above.
    pub(super) fn message_line(&mut self, node: &Node, first: usize, end: usize) -> Owner {
        let mut cursor = Cursor::new(&node.tokens);
        let Some(name) = cursor.word() else {
            return self.form("a field begins with its name", FIELD_FORM, &cursor.span());
        };
        if VERBS.contains(&name.value.as_str()) {
            let Some(request) = cursor.word() else {
                return self.form("the request is not named", "write its name: `opens transmit`", &cursor.span());
            };
            for message in &mut self.syntax.messages[first..end] {
                message.rules.push(RuleSyntax { verb: name.clone(), request: request.clone() });
            }
            return self.done(cursor, "a rule names one request", Owner::Leaf);
        }
        if name.value == "local" {
            self.syntax.messages[first..end].iter_mut().for_each(|message| message.is_local = true);
            return self.done(cursor, "`local` stands alone", Owner::Leaf);
        }
        if name.value == "owed" {
            self.syntax.messages[first..end].iter_mut().for_each(|message| message.is_owed = true);
            return self.done(cursor, "`owed` stands alone", Owner::Leaf);
        }
        let Some(kind) = cursor.word() else {
            return self.form("the field has no type", FIELD_FORM, &cursor.span());
        };
        let mut count = None;
        if cursor.symbol("[") {
            count = cursor.number();
            if count.is_none() || !cursor.symbol("]") {
                return self.form("the array's length is not given", FIELD_FORM, &cursor.span());
            }
        }
        let mut range = None;
        if let Some(least) = cursor.number() {
            let most = if cursor.symbol("..") { cursor.number() } else { Some(least.clone()) };
            let Some(most) = most else {
                return self.form("the range has no end", FIELD_FORM, &cursor.span());
            };
            range = Some(Spanned::new((least.value, most.value), least.span.start..most.span.end));
        }
        let field = FieldSyntax { name, kind, count, range, doc: node.comment.clone() };
        for message in &mut self.syntax.messages[first..end] {
            message.fields.push(field.clone());
        }
        self.done(cursor, FIELD_FORM, Owner::Leaf)
    }
}
