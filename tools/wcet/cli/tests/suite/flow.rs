//! `timing flow` as a person uses it.

use std::path::PathBuf;
use std::process::{Command, Output};

const SOURCE: &str = "volatile int a;
void f(void) { a = 1; }
void (*volatile pointer)(void) = f;
int sum(int n) {
    int s = 0;
    for (int i = 0; i < n; i++)
        s += a;
    return s;
}
void through(void) { pointer(); }
";

fn timing(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wcet")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn functions_blocks_and_loops() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (source, file) = (directory.join("sample.c"), directory.join("sample.elf"));
    std::fs::write(&source, SOURCE).unwrap();
    let options = ["-O2", "-g", "-ffreestanding", "-nostdlib", "-static", "-no-pie", "-fno-pie", "-Wl,-e,sum", "-o"];
    assert!(Command::new("gcc").args(options).args([&file, &source]).status().unwrap().success());
    let file = file.to_str().unwrap();

    let output = timing(&["flow", file, "--entry", "sum", "--blocks"]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(printed.contains("sum at 0x") && printed.contains("sample.c:6"), "{printed}");
    assert!(printed.lines().any(|line| line.contains("loop at 0x") && line.contains("sample.c:")), "{printed}");
    assert!(printed.contains("1 functions, "), "{printed}");

    let output = timing(&["flow", file, "--entry", "through"]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    let address = message.split("--targets ").nth(1).and_then(|rest| rest.split('=').next()).unwrap();
    let output = timing(&["flow", file, "--entry", "through", "--targets", &format!("{address}=f")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("goes to f, as stated"));

    assert_eq!(timing(&["flow", file, "--entry", "nothing"]).status.code(), Some(2));
    let output = timing(&["flow", file, "--entry", "sum", "--timeout", "0"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("time given with --timeout"), "{}", text(&output.stderr));
    assert_eq!(timing(&["flow", file, "--entry", "sum", "--timeout", "-1"]).status.code(), Some(2));
    assert_eq!(timing(&["flow", file, "--entry", "sum", "--timeout", "1000"]).status.code(), Some(0));
    assert_eq!(timing(&["flow", "/no/such/file"]).status.code(), Some(2));
    assert_eq!(timing(&["flow", source.to_str().unwrap()]).status.code(), Some(1));
}
