//! From the text to calls.

use super::{Argument, Call, ErrorCase, Outcome, Return, Table};
use crate::fault::Code;
use crate::table::{parse, Keys};
use diagnostics::{Faults, Spanned};

pub(super) fn table(faults: &mut Faults) -> Table {
    let source = faults.source.clone();
    let Some(root) = parse(&source, &mut faults.report) else { return Table { calls: Vec::new() } };
    let mut keys = Keys::new(&root, 0..0, "file");
    let mut calls = keys.list("call", "call", faults, call);
    keys.finish(faults);
    calls.sort_by_key(|call| call.number.value);
    Table { calls }
}

fn call(keys: &mut Keys, faults: &mut Faults) -> Call {
    Call {
        number: keys.number("number", faults),
        name: keys.text("name", faults),
        object: keys.text("object", faults),
        summary: keys.text("summary", faults).value,
        outcome: outcome(keys, faults),
        fast: keys.flag("fast", faults),
        never_returns: keys.flag("never_returns", faults),
        hand_stub: keys.optional_text("hand_stub", faults),
        arguments: keys.list("arguments", "argument", faults, |keys, faults| Argument {
            name: keys.text("name", faults),
            register: keys.text("register", faults),
            ctype: keys.optional_text("type", faults),
            unit: keys.text("unit", faults).value,
            meaning: keys.text("meaning", faults).value,
        }),
        returns: keys.list("returns", "result", faults, |keys, faults| Return {
            name: keys.text("name", faults),
            register: keys.text("register", faults),
            ctype: keys.optional_text("type", faults),
            meaning: keys.text("meaning", faults).value,
        }),
        errors: keys.list("errors", "error", faults, |keys, faults| ErrorCase {
            code: keys.text("code", faults),
            when: keys.text("when", faults).value,
        }),
        on_error: keys.text("on_error", faults).value,
    }
}

fn outcome(keys: &mut Keys, faults: &mut Faults) -> Spanned<Outcome> {
    let Some(text) = keys.optional_text("outcome", faults) else {
        return Spanned::new(Outcome::Status, 0..0);
    };
    let value = match text.value.as_str() {
        "status" => Outcome::Status,
        "stored" => Outcome::Stored,
        "switch" => Outcome::Switch,
        "ends" => Outcome::Ends,
        other => {
            let message = format!("`{other}` is no outcome");
            let remedy = "write \"status\", \"stored\", \"switch\" or \"ends\"";
            faults.add(Code::Outcome, &text.span, &message, remedy);
            Outcome::Status
        }
    };
    Spanned::new(value, text.span)
}
