//! Sessions with a real solver: answers, limits, and what becomes of a lost one.

use smt::{Answer, Options, Session};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn session() -> Session {
    Session::start(&Options::default()).expect("z3 is installed")
}

/// A product of two large numbers that the solver would have to factor.
const FACTORS: &str = "(declare-const p (_ BitVec 128)) (declare-const q (_ BitVec 128))\n\
     (assert (= (bvmul p q) #x00000000000000fb2f8d2a16d6f5d1b5)) (assert (bvult #x0000000000000000000000000000ffff p))\n\
     (assert (bvult p #x00000000000000010000000000000000)) (assert (bvult q #x00000000000000010000000000000000))\n\
     (assert (bvult #x0000000000000000000000000000ffff q))";

#[test]
fn models_and_cores_are_found() {
    let mut session = session();
    session.tell("(declare-const x (_ BitVec 8)) (declare-const y (_ BitVec 6)) (declare-const t Bool)").unwrap();
    session.tell("(declare-const a0 Bool) (declare-const a1 Bool) (declare-const a2 Bool)").unwrap();
    session.tell("(assert (=> a0 (= x #xa5))) (assert (=> a1 (= x #x00))) (assert (=> a2 (= y #b000011)))").unwrap();
    session.tell("(assert (= t (= y #b000011)))").unwrap();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect::<Vec<_>>();
    assert_eq!(session.check_assuming(&names(&["a0", "a2"])).unwrap(), Answer::Sat);
    assert_eq!(session.values(&names(&["x", "y", "t"])).unwrap(), [0xa5, 3, 1]);
    assert_eq!(session.check_assuming(&names(&["a2", "a1", "a0"])).unwrap(), Answer::Unsat);
    let mut core = session.core().unwrap();
    core.sort();
    assert_eq!(core, ["a0", "a1"]);
    assert!(session.steps().unwrap() > Some(0));
}

#[test]
fn named_assertions_are_taken_back() {
    let mut session = session();
    session.tell("(push 1) (declare-const x (_ BitVec 8)) (assert (! (= x #x01) :named c0))").unwrap();
    session.tell("(assert (! (= x #x02) :named c1))").unwrap();
    assert_eq!(session.check().unwrap(), Answer::Unsat);
    assert_eq!(session.core().unwrap().len(), 2);
    session.tell("(pop 1)").unwrap();
    assert_eq!(session.check().unwrap(), Answer::Sat);
}

#[test]
fn a_question_over_its_limit_is_unknown_and_the_session_goes_on() {
    let mut session = session();
    session.limit(10_000).unwrap();
    session.tell("(push 1)").unwrap();
    session.tell(FACTORS).unwrap();
    assert_eq!(session.check().unwrap(), Answer::Unknown);
    assert!(!session.is_lost());
    session.tell("(pop 1)").unwrap();
    assert_eq!(session.check().unwrap(), Answer::Sat);
}

#[test]
fn a_solver_at_work_at_the_deadline_is_killed_and_all_answers_are_unknown() {
    let mut session = session();
    session.limit(0).unwrap();
    assert_eq!(session.check().unwrap(), Answer::Sat);
    session.until(Some(Instant::now() + Duration::from_millis(100)));
    session.tell(FACTORS).unwrap();
    assert_eq!(session.check().unwrap(), Answer::Unknown);
    assert!(session.is_lost());
    assert_eq!(session.check().unwrap(), Answer::Unknown);
    assert_eq!(session.values(&["p".to_string()]).unwrap(), []);
    assert_eq!(session.steps().unwrap(), None);
}

#[test]
fn a_solver_that_is_killed_by_another_process_is_lost() {
    let mut session = session();
    assert_eq!(session.check().unwrap(), Answer::Sat);
    let killed = std::process::Command::new("kill").args(["-KILL", &session.process().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(session.check().unwrap(), Answer::Unknown);
    assert!(session.is_lost());
}

#[test]
fn what_the_solver_refuses_is_an_error() {
    let mut session = session();
    session.tell("(assert (= x #x00))").unwrap();
    let error = session.check().expect_err("x is not declared").to_string();
    assert!(error.contains("unknown constant x"), "{error}");
}

#[test]
fn a_solver_ends_with_the_thread_that_started_it() {
    let session = std::thread::spawn(session).join().expect("it starts");
    let path = format!("/proc/{}/stat", session.process());
    let start = Instant::now();
    // A zombie until the session takes it away.
    let is_over = || std::fs::read_to_string(&path).map_or(true, |stat| stat.contains(") Z "));
    while !is_over() {
        assert!(start.elapsed() < Duration::from_secs(20), "it is still there");
        std::thread::yield_now();
    }
}

const HOLDS_A_SOLVER: &str = "ASHLAR_TEST_HOLDS_A_SOLVER";

/// The program that the next test kills: this test alone, which starts a solver and waits.
#[test]
fn a_program_that_holds_a_solver() {
    if std::env::var_os(HOLDS_A_SOLVER).is_none() {
        return;
    }
    let mut session = session();
    session.limit(0).unwrap();
    println!("\nsolver {}", session.process());
    session.tell(FACTORS).unwrap();
    let _ = session.check();
}

#[test]
fn a_solver_ends_with_a_program_that_is_killed() {
    let mut program = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_program_that_holds_a_solver", "--nocapture"])
        .env(HOLDS_A_SOLVER, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let solver = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("solver ")?.parse::<u32>().ok());
    let path = format!("/proc/{}/stat", solver.expect("its number"));
    let is_over =
        || std::fs::read_to_string(&path).map_or(true, |stat| !stat.contains("(z3)") || stat.contains(") Z "));
    // An idle solver ends with its pipe; one at work does not look at it.
    let ticks = || -> Option<u64> {
        let stat = std::fs::read_to_string(&path).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(11)?.parse().ok()
    };
    while ticks().expect("it is at work") < 20 {
        std::thread::yield_now();
    }
    // As `kill -9` does: it cannot clean up.
    program.kill().unwrap();
    program.wait().unwrap();
    let start = Instant::now();
    while !is_over() {
        assert!(start.elapsed() < Duration::from_secs(20), "it is still there");
        std::thread::yield_now();
    }
}
