//! A second solver that does not say what z3 says: the function is refused.

use super::small::{symbol, validated_by};

const C: &str =
    "uint32_t least(uint32_t a, uint32_t b)\n{\n    if (a < b) {\n        return a;\n    }\n    return b;\n}\n";
const CODE: &str = "    cmp edi, esi\n    mov eax, esi\n    cmovb eax, edi\n    ret\n";

/// A solver whose answer to each question is the same; what it is asked is written to the file.
fn says(answer: &str) -> String {
    format!("echo one\nwhile read -r size; do head -c \"$size\" >>\"$0.asked\"; {answer}; done\n")
}

fn least(test: &str, answer: &str) -> validation::FunctionResult {
    let declared = "uint32_t least(uint32_t a, uint32_t b);";
    validated_by((test, "least"), declared, C, &symbol("least", CODE), &[], Some(&says(answer)))
}

#[test]
fn what_two_solvers_say_is_confirmed() {
    let found = least("agreed", "echo unsat");
    assert!(found.validated && found.confirmed && found.answers > 0, "{found:?}");
}

#[test]
fn a_solver_that_disagrees_refuses_the_function_and_shows_the_question() {
    let found = least("disagreed", "echo sat");
    assert!(!found.validated && !found.confirmed, "{found:?}");
    assert!(found.reasons[0].contains("disagree") && found.reasons[0].contains("(assert"), "{found:?}");
}

#[test]
fn a_solver_without_an_answer_confirms_nothing() {
    for (test, answer) in [("unknown", "echo unknown"), ("faulty", "echo 'no such sort'"), ("gone", "exit 1")] {
        let found = least(test, answer);
        assert!(!found.validated && !found.confirmed && !found.reasons.is_empty(), "{found:?}");
    }
}
