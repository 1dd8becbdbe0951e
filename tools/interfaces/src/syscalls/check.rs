//! Whether the calls make sense together and with kernel/abi.h.

use std::collections::{BTreeMap, BTreeSet};

use super::{stubs, Call, Outcome, Table, PREFIX};
use crate::fault::{refuse, Code, Refuse};
use crate::table::is_word;
use diagnostics::{Faults, Spanned};

pub(super) fn check(table: &Table, abi: &str, faults: &mut Faults) {
    let mut fault = refuse(faults);
    let defined: BTreeSet<&str> =
        abi.lines().filter_map(|line| line.strip_prefix("#define ")?.split_whitespace().next()).collect();
    let mut names = BTreeSet::new();
    let mut numbers: BTreeMap<u64, &str> = BTreeMap::new();
    for call in &table.calls {
        let name = call.name.value.as_str();
        let stem = name.strip_prefix(PREFIX).unwrap_or("");
        if !is_word(stem, char::is_uppercase) {
            fault(
                Code::Name,
                &call.name,
                format!("`{name}` is no name of a call"),
                "write SYS_ and capitals, as in SYS_PORT_IN",
            );
        }
        if !names.insert(name) {
            fault(Code::Twice, &call.name, format!("{name} is described twice"), "keep one of the two");
        }
        if let Some(other) = numbers.insert(call.number.value, name) {
            let message = format!("{name} and {other} have the number {}", call.number.value);
            let place = Spanned::new(String::new(), call.number.span.clone());
            fault(Code::Twice, &place, message, "give each call a number of its own");
        }
        if !is_word(&call.object.value, char::is_lowercase) {
            let message = format!("`{}` is no kind of object", call.object.value);
            fault(
                Code::Name,
                &call.object,
                message,
                "write one word in lower case; the call's function stands in syscall_OBJECT.c",
            );
        }
        for case in call.errors.iter().filter(|case| !defined.contains(case.code.value.as_str())) {
            let message = format!("{name} returns {}, which kernel/abi.h does not define", case.code.value);
            fault(Code::UnknownError, &case.code, message, "name an ERR_ constant of kernel/abi.h, or define it there");
        }
        let at_once = call.outcome.value == Outcome::Status && !call.takes_thread();
        if call.fast && call.outcome.value != Outcome::Stored && !at_once {
            fault(
                Code::Outcome,
                &call.name,
                format!("{name} is fast, but its outcome is not \"stored\", and it takes or returns something"),
                "remove `fast`",
            );
        }
        if call.outcome.value == Outcome::Ends && call.takes_thread() {
            let message = format!("{name} ends the thread, so it neither takes nor returns anything");
            fault(Code::Outcome, &call.name, message, "remove its arguments and results, or its outcome");
        }
        check_stub(call, &mut fault);
    }
}

/// Names, registers and types must allow a stub to be generated, unless it is written by hand.
fn check_stub(call: &Call, fault: &mut Refuse) {
    if call.hand_stub.is_some() {
        return;
    }
    let by_hand = "or name the file with a stub by hand: hand_stub = \"...\"";
    let mut names = BTreeSet::new();
    let mut registers = BTreeSet::new();
    for argument in &call.arguments {
        check_name(&argument.name, &mut names, fault);
        let register = &argument.register.value;
        if !stubs::ARGUMENTS.contains(&register.as_str()) {
            let remedy = format!("take one of {}, {by_hand}", stubs::ARGUMENTS.join(", "));
            fault(Code::Stub, &argument.register, format!("a stub passes nothing in `{register}`"), &remedy);
        } else if !registers.insert(register) {
            fault(
                Code::Stub,
                &argument.register,
                format!("two arguments are passed in {register}"),
                "take another register",
            );
        }
        match &argument.ctype {
            None => fault(Code::Stub, &argument.name, format!("argument {} has no type", argument.name.value), TYPES),
            Some(ctype) => check_type(ctype, fault),
        }
    }
    for result in &call.returns {
        let Some(ctype) = &result.ctype else { continue };
        check_type(ctype, fault);
        check_name(&result.name, &mut names, fault);
        if !stubs::RESULTS.contains(&result.register.value.as_str()) {
            let remedy = format!("take one of {}, {by_hand}", stubs::RESULTS.join(", "));
            fault(
                Code::Stub,
                &result.register,
                format!("a stub stores nothing from `{}`", result.register.value),
                &remedy,
            );
        }
    }
}

const TYPES: &str = "add type = \"uint32_t\" or type = \"uint64_t\"";

fn check_type(ctype: &Spanned<String>, fault: &mut Refuse) {
    if !matches!(ctype.value.as_str(), "uint32_t" | "uint64_t") {
        fault(
            Code::Stub,
            ctype,
            format!("`{}` is no type of a register", ctype.value),
            "write \"uint32_t\" or \"uint64_t\"",
        );
    }
}

fn check_name<'a>(name: &'a Spanned<String>, names: &mut BTreeSet<&'a str>, fault: &mut Refuse) {
    if !is_word(&name.value, char::is_lowercase) {
        fault(
            Code::Name,
            name,
            format!("`{}` is no name of a C parameter", name.value),
            "write lower case, digits and _",
        );
    }
    if !names.insert(&name.value) {
        fault(Code::Stub, name, format!("the stub would have two parameters `{}`", name.value), "choose another name");
    }
}
