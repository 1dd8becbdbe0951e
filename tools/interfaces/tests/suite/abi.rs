//! The version of the kernel's interface goes up when the interface changes.

use std::path::Path;

/// The version, and the sum of what it stands for. Where this test fails, the interface has changed: raise ABI_VERSION in
/// kernel/abi.h, unless no program built before can notice, and write both here.
const SEEN: (&str, u64) = ("3", 15_962_561_063_262_758_846);

/// The text without comments and without white space: what a change of words leaves as it is.
fn without_comments(text: &str) -> String {
    let mut parts = text.split("/*");
    let first = parts.next().unwrap_or_default().to_string();
    let code = parts.fold(first, |code, part| code + part.split_once("*/").map_or("", |(_, code)| code));
    code.split_whitespace().collect()
}

/// FNV-1a.
fn sum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Of each call its number, and the registers of arguments, results and errors; and the constants of kernel/abi.h.
fn interface() -> (String, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("the tree is whole");
    let abi = read("kernel/abi.h");
    let table = interfaces::syscalls::read(Path::new("syscalls.toml"), &read("kernel/syscalls.toml"), &abi);
    let mut text = without_comments(&abi);
    for call in &table.expect("the table is good").calls {
        let arguments = call.arguments.iter().map(|argument| (&argument.name, &argument.register));
        let results = call.returns.iter().map(|result| (&result.name, &result.register));
        let passed: Vec<String> =
            arguments.chain(results).map(|(name, register)| format!("{}:{}", name.value, register.value)).collect();
        let errors: Vec<&str> = call.errors.iter().map(|case| case.code.value.as_str()).collect();
        text += &format!("{} {} {passed:?} {errors:?}\n", call.number.value, call.name.value);
    }
    let version = abi.lines().find_map(|line| line.strip_prefix("#define ABI_VERSION ")).expect("there is a version");
    (version.trim_end_matches('u').to_string(), text)
}

#[test]
fn the_version_goes_up_with_each_change() {
    let (version, text) = interface();
    assert_eq!(
        (version.as_str(), sum(&text)),
        SEEN,
        "raise ABI_VERSION in kernel/abi.h and write version and sum here"
    );
}
