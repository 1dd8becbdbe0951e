//! The kernel's headers, compiled, say the same as this crate.

use super::*;
use std::fmt::Write as _;
use std::process::Command;

/// Every constant that this crate repeats: its name in the headers, its value here.
fn constants() -> Vec<(&'static str, u64)> {
    macro_rules! same {
        ($($name:ident),*) => { vec![$((stringify!($name), u64::from($name))),*] };
    }
    let mut all = same!(
        NUM_CPU,
        NUM_PROCESS,
        NUM_THREAD,
        NUM_ENDPOINT,
        NUM_NOTIFICATION,
        NUM_BUFFER,
        BUFFER_CAPACITY,
        NUM_SHARE,
        NUM_IRQ,
        NUM_DEVICE,
        NUM_VM,
        NUM_GRANT,
        NUM_CONSOLE,
        NUM_PRIORITY,
        NUM_FRAME,
        NONE,
        ABI_VERSION,
        PROGRAM_NOTE_ABI,
        PROT_READ,
        PROT_WRITE,
        PROT_EXEC,
        GRANT_ENDPOINT,
        GRANT_NOTIFICATION,
        GRANT_BUFFER,
        GRANT_SHARE,
        GRANT_PROCESS,
        GRANT_IRQ,
        GRANT_MMIO,
        GRANT_PORT,
        GRANT_DMA,
        GRANT_VM,
        GRANT_CONSOLE,
        GRANT_POWER,
        GRANT_MESSAGE,
        RIGHT_SEND,
        RIGHT_RECV,
        RIGHT_SIGNAL,
        RIGHT_WAIT,
        RIGHT_INSERT,
        RIGHT_REMOVE,
        RIGHT_OFFER,
        RIGHT_ACCEPT,
        RIGHT_WRITE,
        USER_BASE,
        USER_END,
        ENV_VADDR,
        MESSAGE_VADDR,
        NUM_SEGMENT,
        NUM_IRQ_LINE,
        SCHED_PERIOD_MAX_NS,
        SCHED_BUDGET_MIN_NS
    );
    all.push(("FRAME_WORDS * 8", PAGE_SIZE));
    all
}

#[test]
fn the_headers_say_the_same() {
    let expected = constants();
    let mut program = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include \"config.h\"\n#include \"abi.h\"\n\
         #include \"layers/process/process.h\"\n#include \"layers/sched/sched.h\"\n\
         #include \"arch/arch.h\"\nint main(void)\n{\n",
    );
    for (name, _) in &expected {
        writeln!(program, "    printf(\"%llu\\n\", (unsigned long long)({name}));").unwrap();
    }
    program.push_str("    return 0;\n}\n");
    let printed = run(&program);
    let printed: Vec<u64> = printed.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(printed.len(), expected.len());
    for ((name, value), header) in expected.iter().zip(printed) {
        assert_eq!(*value, header, "{name}");
    }
}

fn run(program: &str) -> String {
    let kernel = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernel");
    let options = ["-std=c11", "-I", kernel, "-I", &format!("{kernel}/arch")];
    let (_folder, binary) = testing::build("gcc", &options, "c", program);
    let output = Command::new(&binary).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
