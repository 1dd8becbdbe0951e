//! What can be wrong with a table.

use diagnostics::{Faults, Spanned};

diagnostics::codes! {
    /// The kinds of faults.
    pub enum Code;
    Syntax "interfaces::syntax" "the text is not TOML"
        "The table cannot be read. Correct the syntax; what follows from it is not reported."
    Key "interfaces::key" "a key is missing, unknown, or of the wrong type"
        "The comment at the top of the table lists the keys and their values."
    Name "interfaces::name" "a name that C does not allow"
        "Names become constants, functions and parameters in C. Calls are named SYS_ and capitals, objects and parameters \
         with lower case."
    Twice "interfaces::twice" "two calls have one name or one number"
        "Give each call a name and a number of its own. Numbers may have gaps."
    UnknownError "interfaces::unknown-error" "an error that does not exist"
        "A call is said to return an error that `kernel/abi.h` does not define. Name an ERR_ constant, or define it there."
    Outcome "interfaces::outcome" "an outcome that does not fit the call"
        "A call of the fast path stores its status itself; a call that ends the thread has no function, so it takes and \
         returns nothing."
    Layout "interfaces::layout" "a record that compilers would lay out differently"
        "Fields have the types u32, u64 and name. Each stands at a multiple of its size and a record's size is a multiple of \
         8, so that no compiler adds padding."
    Stub "interfaces::stub" "no stub can be generated"
        "A stub passes typed arguments in rdi, rsi, rdx, r10 and r8, and stores typed results from rdi and rsi. A call that \
         needs more names the file of a stub by hand: `hand_stub`."
}

/// Takes a fault: its kind, where it is, what is wrong and what to write.
pub(crate) type Refuse<'a> = dyn FnMut(Code, &Spanned<String>, String, &str) + 'a;

/// Adds faults to those that there are.
pub(crate) fn refuse(faults: &mut Faults) -> impl FnMut(Code, &Spanned<String>, String, &str) + '_ {
    |code, place, message, remedy| faults.add(code, &place.span, &message, remedy)
}
