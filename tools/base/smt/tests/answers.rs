//! Answers that are kept in a file. All sessions of a process share that, so one test does it all.

use std::path::{Path, PathBuf};

use smt::{keep_answers, questions, Answer, Options, Questions, Session, SmtError};

/// Whether a number less than `limit` is 5, asked together with what was asked before; and the steps.
fn ask(limit: u8) -> (Answer, Answer, u64) {
    let mut session = Session::start(&Options::default()).expect("z3 is installed");
    session.tell("(declare-const x (_ BitVec 8)) (declare-const a Bool)").unwrap();
    session.tell("(assert (=> a (= x #x05)))").unwrap();
    let first = session.check_assuming(&["a".to_string()]).unwrap();
    session.tell(&format!("(assert (bvult x #x{limit:02x}))")).unwrap();
    let second = session.check_assuming(&["a".to_string()]).unwrap();
    (first, second, session.steps().unwrap().unwrap())
}

/// The file with another text.
fn changed(file: &Path, change: impl Fn(&str) -> String) -> PathBuf {
    let (text, copy) = (std::fs::read_to_string(file).unwrap(), file.with_extension("copy"));
    std::fs::write(&copy, change(&text)).unwrap();
    copy
}

#[test]
fn what_was_asked_before_is_answered_alike_and_all_else_is_asked() {
    let file = std::env::temp_dir().join(format!("smt-answers-{}", std::process::id()));
    if let Some(step) = std::env::var_os("SMT_ANSWERS") {
        return child(Path::new(&step));
    }
    keep_answers(&file).unwrap();
    let first = ask(9);
    assert_eq!((first.0, first.1), (Answer::Sat, Answer::Sat));
    assert_eq!(questions(), Some(Questions { kept: 0, new: 3, contradicted: 0 }));
    assert_eq!(ask(9), first);
    assert_eq!(questions(), Some(Questions { kept: 3, new: 3, contradicted: 0 }));
    // The question is the same, not what was told before it.
    let other = ask(3);
    assert_eq!((other.0, other.1), (Answer::Sat, Answer::Unsat));
    assert_eq!(questions(), Some(Questions { kept: 4, new: 5, contradicted: 0 }));
    // Another process takes them from the file; one whose file says otherwise than the solver notices.
    assert!(run(&changed(&file, str::to_string)), "the answers are as they were");
    let copy = changed(&file, |text| text.replacen(" sat.", " unsat.", 1));
    assert!(!run(&copy), "an answer was changed");
    std::fs::remove_file(file).unwrap();
    std::fs::remove_file(copy).unwrap();
}

/// Runs this test again as another process, which uses the file.
fn run(file: &Path) -> bool {
    let status =
        std::process::Command::new(std::env::current_exe().unwrap()).env("SMT_ANSWERS", file).output().unwrap();
    status.status.success()
}

/// Asks what the file has, then something new behind it: the solver is told all that was said, and its answers are compared.
fn child(file: &Path) {
    keep_answers(file).unwrap();
    let mut session = Session::start(&Options::default()).unwrap();
    session.tell("(declare-const x (_ BitVec 8)) (declare-const a Bool)").unwrap();
    session.tell("(assert (=> a (= x #x05)))").unwrap();
    session.check_assuming(&["a".to_string()]).unwrap();
    assert_eq!(questions(), Some(Questions { kept: 1, new: 0, contradicted: 0 }));
    session.tell("(assert (bvult x #x04))").unwrap();
    let found = session.check_assuming(&["a".to_string()]);
    if let Err(SmtError::Changed { .. }) = found {
        assert_eq!(questions(), Some(Questions { kept: 1, new: 1, contradicted: 1 }));
        panic!("the file contradicts the solver");
    }
    assert_eq!(found.unwrap(), Answer::Unsat);
}
