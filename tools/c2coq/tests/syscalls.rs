//! The comparison of a small system-call table with its constants and dispatcher.

use std::path::{Path, PathBuf};

use c2coq::finding::Finding;
use c2coq::source::Sources as Files;
use c2coq::syscalls::{compare, page, read_table, Sources};
use c2coq::{check_with, Checked, Options};

const ABI: &str = "#define SYS_NULL 0u\n#define SYS_YIELD 1u\n#define NUM_SYSCALL 2u\n#define ERR_BAD 7u\n";

const DISPATCH: &str = "#include \"syscall.h\"
#include \"abi.h\"
#include <stdint.h>
static uint32_t syscall_yield(void) { return 0; }
static uint32_t family(uint64_t number)
{
    uint32_t status = 1;
    if (number == SYS_YIELD) {
        status = syscall_yield();
    }
    return status;
}
";

const ENTRY: &str = "uint32_t syscall_dispatch(void)
{
    uint64_t number = 1;
    uint32_t status = 1;
    if (number == SYS_NULL) {
        status = 0;
    } else {
        status = family(number);
    }
    return status;
}
";

fn entry(number: u64, name: &str, error: &str) -> String {
    format!(
        "[[call]]\nnumber = {number}\nname = \"{name}\"\nsummary = \"Does | it.\"\n\
         arguments = [{{ name = \"slot\", register = \"rdi\", unit = \"slot 0..63\", meaning = \"a slot\" }}]\n\
         returns = []\nerrors = [{{ code = \"{error}\", when = \"bad\" }}]\non_error = \"Nothing is changed.\"\n"
    )
}

fn checked(name: &str, text: &str) -> Checked {
    let mut files = Files::default();
    files.add(Path::new("/k/abi.h"), ABI);
    files.add(Path::new("/k/syscall.h"), "#include <stdint.h>\nuint32_t syscall_dispatch(void);\n");
    let path = PathBuf::from(format!("/k/{name}"));
    files.add(&path, text);
    check_with(files, &[path], &Options::default()).unwrap()
}

fn run(table: &str, abi: &str, dispatch: &str) -> Vec<Finding> {
    let constants = checked("abi.h", abi);
    let layer = checked("syscall.c", dispatch);
    assert!(layer.faults.is_empty(), "{:?}", layer.faults);
    let path = Path::new("syscalls.toml");
    compare(&Sources {
        table: &read_table(path, table).unwrap(),
        table_path: path,
        table_text: table,
        abi: &constants.program.units[0],
        layer: &layer.program,
        dispatcher: Path::new("/k/syscall.c"),
    })
}

fn good_table() -> String {
    entry(0, "SYS_NULL", "ERR_BAD") + &entry(1, "SYS_YIELD", "ERR_BAD")
}

fn codes(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.code.name()).collect()
}

#[test]
fn a_complete_table_is_accepted() {
    assert_eq!(run(&good_table(), ABI, &format!("{DISPATCH}{ENTRY}")), []);
}

#[test]
fn a_documented_call_without_constant_and_dispatch_is_named() {
    let table = good_table() + &entry(2, "SYS_SLEEP", "ERR_BAD");
    let findings = run(&table, ABI, &format!("{DISPATCH}{ENTRY}"));
    assert_eq!(codes(&findings), ["syscalls::call-without-constant", "syscalls::call-not-dispatched"]);
    assert!(findings.iter().all(|finding| finding.message.contains("SYS_SLEEP")));
    assert_eq!(findings[0].line, Some(17));
}

#[test]
fn a_call_that_only_bounds_a_family_is_not_dispatched() {
    let dispatch = format!("{DISPATCH}{ENTRY}").replace("number == SYS_YIELD", "number <= SYS_YIELD");
    assert_eq!(codes(&run(&good_table(), ABI, &dispatch)), ["syscalls::call-not-dispatched"]);
}

#[test]
fn a_function_nobody_calls_dispatches_nothing() {
    let dispatch = format!("{DISPATCH}{ENTRY}").replace("status = family(number);", "status = 1;");
    assert_eq!(codes(&run(&good_table(), ABI, &dispatch)), ["syscalls::call-not-dispatched"]);
}

#[test]
fn numbers_names_and_errors_must_agree() {
    let table = entry(5, "SYS_NULL", "ERR_BAD") + &entry(5, "SYS_YIELD", "ERR_OTHER");
    let findings = run(&table, ABI, &format!("{DISPATCH}{ENTRY}"));
    assert_eq!(
        codes(&findings),
        ["syscalls::number-differs", "syscalls::number-twice", "syscalls::number-differs", "syscalls::unknown-error"]
    );
    let table = entry(0, "SYS_NULL", "ERR_BAD");
    let findings = run(&table, ABI, &format!("{DISPATCH}{ENTRY}"));
    assert_eq!(codes(&findings), ["syscalls::call-undocumented"]);
    assert!(findings[0].message.contains("SYS_YIELD"));
}

#[test]
fn the_table_refuses_unknown_keys_and_missing_ones() {
    assert!(read_table(Path::new("t"), &good_table().replace("summary", "sumary")).is_err());
    assert!(read_table(Path::new("t"), &good_table().replace("on_error = \"Nothing is changed.\"\n", "")).is_err());
}

#[test]
fn the_page_has_a_section_for_each_call() {
    let text = page(&read_table(Path::new("t"), &good_table()).unwrap(), "first line");
    for part in [
        "first line\n\n# System calls",
        "| 0 | [SYS_NULL](#sys_null) | Does \\| it. |",
        "\n## SYS_YIELD\n",
        "| slot | rdi |",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}
