//! The command on a copy of the tables: exit status 0 good, 1 a fault or a stale file, 2 could not run.

use std::path::Path;
use std::process::{Command, Output};
use testing::Folder;

struct Copy(Folder);

impl Copy {
    fn new(name: &str) -> Copy {
        let root = Folder::new(name);
        let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for generated in interfaces::generate(&tree).expect("the tree's tables are good") {
            root.write(generated.path, generated.text);
        }
        for file in ["kernel/syscalls.toml", "kernel/boot_table.toml", "kernel/abi.h"] {
            std::fs::copy(tree.join(file), root.join(file)).unwrap();
        }
        Copy(root)
    }

    fn add(&self, text: &str) {
        let path = self.0.join("kernel/syscalls.toml");
        let old = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, old + text).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interfaces"));
        command.arg("--root").arg(&*self.0).args(arguments).output().unwrap()
    }
}

const CALL: &str = "\n[[call]]\nnumber = 99\nname = \"SYS_TELEPORT\"\nobject = \"thread\"\nsummary = \"Moves.\"\n\
                    arguments = []\nreturns = []\nerrors = []\non_error = \"Nothing is changed.\"\n";

#[test]
fn a_new_call_makes_the_files_stale_until_they_are_written() {
    let copy = Copy::new("new");
    assert_eq!(copy.run(&["--check"]).status.code(), Some(0));
    copy.add(CALL);
    let output = copy.run(&["--check"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    for part in
        ["kernel/syscall_numbers.h", "syscall/syscall.c", "syscall_stubs.h", "remedy: make -C kernel interfaces"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(copy.run(&[]).status.code(), Some(0));
    assert_eq!(copy.run(&["--check"]).status.code(), Some(0));
    let dispatcher = std::fs::read_to_string(copy.0.join("kernel/layers/syscall/syscall.c")).unwrap();
    assert!(dispatcher.contains("if (number == SYS_TELEPORT) {"));
}

#[test]
fn a_bad_table_writes_nothing() {
    let copy = Copy::new("bad");
    let path = copy.0.join("kernel/syscall_numbers.h");
    let before = std::fs::read_to_string(&path).unwrap();
    copy.add(&CALL.replace("number = 99", "number = 3"));
    let output = copy.run(&[]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("SYS_TELEPORT and SYS_SEND have the number 3"), "{text}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), before);
}

#[test]
fn a_missing_table_is_no_fault_of_a_table() {
    let copy = Copy::new("missing");
    std::fs::remove_file(copy.0.join("kernel/syscalls.toml")).unwrap();
    let output = copy.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be read"));
}
