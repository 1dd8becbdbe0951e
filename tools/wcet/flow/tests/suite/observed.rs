//! What really runs is in the graph: programs executed by an emulator (a separate process), instruction by instruction.

use std::collections::BTreeSet;
use std::process::Command;

use crate::compiled::{Target, TARGETS};
use wcet_binary::lift::Lifter;
use wcet_flow::{analyse, Options};

/// A program with a jump table, a table of functions, nested loops, calls and early returns; it ends by a system call.
const SOURCE: &str = "
    volatile unsigned sink, seed = 7;
    unsigned next(void) { seed = seed * 1664525 + 1013904223; return seed >> 16; }
    __attribute__((noinline)) void f(void) { sink += 1; } __attribute__((noinline)) void g(void) { sink ^= 5; }
    __attribute__((noinline)) void h(void) { sink *= 3; } __attribute__((noinline)) void i(void) { sink -= 9; }
    static void (*const table[4])(void) = { f, g, h, i };
    __attribute__((noinline)) unsigned choose(unsigned x) {
        switch (x) {
        case 0: f(); return 4; case 1: sink = 3; break; case 2: g(); break; case 3: sink += x; return next();
        case 4: h(); break; case 5: sink = 11; break; case 6: i(); return 1; case 7: sink = 12; break;
        case 9: sink ^= 77; break; default: return 0;
        }
        return sink;
    }
    __attribute__((noinline)) unsigned find(const volatile unsigned char *p, unsigned n, unsigned c) {
        for (unsigned k = 0; k < n; k++) if (p[k] == c) return k;
        return n;
    }
    volatile unsigned char bytes[40];
    __attribute__((noinline)) void sort(unsigned n) {
        for (unsigned a = 1; a < n; a++)
            for (unsigned b = a; b > 0 && bytes[b - 1] > bytes[b]; b--) {
                unsigned char t = bytes[b]; bytes[b] = bytes[b - 1]; bytes[b - 1] = t;
            }
    }
    __attribute__((noinline)) void through(unsigned x) { table[x & 3](); sink++; }
    void start(void) {
        for (unsigned round = 0; round < 60; round++) {
            for (unsigned k = 0; k < 40; k++) bytes[k] = next();
            sort(next() & 31);
            sink += find(bytes, 40, next() & 255) + choose(next() & 15);
            through(next());
        }
        EXIT
    }";

/// Numbers of all kinds, multiplied and divided by ARM's library: its routines return for their callers where one is special.
const DOUBLES: &str = "
    volatile double some[9] = {
        0.0, -0.0, 1.5, -3.25e200, 5e-324, 3.1e-310, __builtin_inf(), -__builtin_inf(), __builtin_nan(\"\") };
    volatile double product, quotient;
    void start(void) {
        for (unsigned a = 0; a < 9; a++)
            for (unsigned b = 0; b < 9; b++) { product = some[a] * some[b]; quotient = some[a] / some[b]; }
        EXIT
    }";

/// How many instructions were executed, and which of them are not in the graph.
fn executed(target: Target, source: &str, exit: &str, emulator: &str) -> (usize, Vec<String>) {
    let (program, (_folder, file)) = crate::compiled::compile_and_keep(target, &source.replace("EXIT", exit));
    let lifter = Lifter::new(&program).unwrap();
    let start = program.symbol("start").unwrap().address;
    let graph = analyse(&lifter, &[start], &Options::default());
    let graph = graph.unwrap_or_else(|errors| panic!("{target:?}: {}", crate::compiled::list(&errors)));
    let functions = graph.functions.values();
    let known: BTreeSet<u64> = functions
        .flat_map(|function| &function.blocks)
        .flat_map(|block| &block.instructions)
        .map(|instruction| instruction.address)
        .collect();
    let log = file.with_extension("log");
    let status = Command::new(emulator).args(["-singlestep", "-d", "exec,nochain", "-D"]).args([&log, &file]).status();
    assert!(status.unwrap_or_else(|error| panic!("{emulator} cannot be run: {error}")).success());
    let text = std::fs::read_to_string(&log).unwrap();
    // Lines such as `Trace 0: 0x7f0000 [00000000/0000000000401000/...] start`.
    let seen: BTreeSet<u64> =
        text.lines().filter_map(|line| u64::from_str_radix(line.split('/').nth(1)?, 16).ok()).collect();
    let _ = std::fs::remove_file(&log);
    let _ = std::fs::remove_file(&file);
    let unknown = seen.difference(&known).map(|address| program.describe(*address)).collect();
    (seen.len(), unknown)
}

#[test]
fn what_runs_is_in_the_graph() {
    // Position-independent code keeps its table of functions in memory that the loader writes.
    for target in TARGETS.into_iter().filter(|target| !target.options.contains(&"-fPIE")) {
        let (exit, emulator) = if target.compiler == "gcc" {
            ("__asm__ volatile(\"mov $60, %eax\\n xor %edi, %edi\\n syscall\"); for (;;);", "qemu-x86_64")
        } else if target.compiler.starts_with("riscv") {
            let emulator = if target.options.contains(&"-mabi=lp64") { "qemu-riscv64" } else { "qemu-riscv32" };
            ("__asm__ volatile(\"li a7, 93\\n li a0, 0\\n ecall\"); for (;;);", emulator)
        } else {
            ("__asm__ volatile(\"mov r7, #1\\n mov r0, #0\\n svc 0\"); for (;;);", "qemu-arm")
        };
        let (seen, unknown) = executed(target, SOURCE, exit, emulator);
        assert!(seen > 100, "{target:?}: {seen}");
        assert!(unknown.is_empty(), "{target:?}: {unknown:?}");
    }
}

#[test]
fn what_runs_of_a_library_for_floating_point_numbers_is_in_the_graph() {
    // Named first, and so taken from the library, which comes before the program.
    const LIBRARY: [&str; 3] = ["-Wl,-u,__aeabi_dmul", "-Wl,-u,__aeabi_ddiv", "-lgcc"];
    const ARM: &[&str] =
        &["-O2", "-marm", "-march=armv6", "-mfloat-abi=soft", "-no-pie", LIBRARY[0], LIBRARY[1], LIBRARY[2]];
    const THUMB: &[&str] =
        &["-O2", "-mthumb", "-march=armv7-a", "-mfloat-abi=soft", "-no-pie", LIBRARY[0], LIBRARY[1], LIBRARY[2]];
    for options in [ARM, THUMB] {
        let target = Target { compiler: "arm-linux-gnueabi-gcc", options };
        let exit = "__asm__ volatile(\"mov r7, #1\\n mov r0, #0\\n svc 0\"); for (;;);";
        let (seen, unknown) = executed(target, DOUBLES, exit, "qemu-arm");
        assert!(seen > 250, "{target:?}: {seen}");
        assert!(unknown.is_empty(), "{target:?}: {unknown:?}");
    }
}
