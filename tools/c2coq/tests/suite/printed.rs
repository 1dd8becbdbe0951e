//! The layers, printed as C from their trees, pass the layers' own tests.

use std::path::Path;
use std::process::Command;

#[test]
fn printed_layers_pass_their_tests() {
    let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel").canonicalize().unwrap();
    for lock in ["ticket", "mcs"] {
        let output = Command::new("make")
            .args(["-s", "-C"])
            .arg(&kernel)
            .args(["test", "PRINTED=1"])
            .arg(format!("LOCK={lock}"))
            .arg("ONLY=spinlock container frame pagemap share queue thread sched sched_budget")
            .arg(format!("C2COQ={}", env!("CARGO_BIN_EXE_c2coq")))
            .env("TEST_OPERATIONS", "2000")
            .env_remove("MAKEFLAGS")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(text.matches("passed, 0 failed").count(), 9, "{text}");
    }
}
