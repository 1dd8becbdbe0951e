//! Position-independent executables: their relocations are made, and what is no executable of its own is refused.

use testing::Random;
use wcet_binary::load::{Problem, Program};

const SOURCE: &str = "
    volatile int a;
    void f(void) { a = 1; } void g(void) { a = 2; }
    void (*const table[2])(void) = { f, g };
    void (*changed[2])(void) = { g, f };
    void _start(void) { for (;;) { table[a & 1](); changed[a & 1](); } }";

const COMPILERS: [(&str, &[&str]); 2] = [
    ("gcc", &["-fPIE", "-static-pie"]),
    ("arm-linux-gnueabi-gcc", &["-marm", "-march=armv6", "-fPIE", "-static-pie", "-Wl,--no-dynamic-linker"]),
];

fn compile((compiler, options): (&str, &[&str]), more: &[&str]) -> Vec<u8> {
    let fixed = ["-O2", "-nostdlib", "-ffreestanding", "-fno-stack-protector"];
    testing::compile(compiler, &[&fixed, options, more].concat(), "c", SOURCE)
}

#[test]
fn tables_of_functions_hold_their_addresses() {
    for compiler in COMPILERS {
        let program =
            Program::parse(&compile(compiler, &[])).unwrap_or_else(|errors| panic!("{compiler:?}: {errors:?}"));
        let address = |name: &str| program.symbol(name).unwrap().address;
        let pointer = program.architecture.pointer_size();
        for (index, name) in ["f", "g"].into_iter().enumerate() {
            let at = address("table") + u64::from(pointer) * index as u64;
            assert_eq!(program.constant(at, pointer), Some(address(name)), "{compiler:?}");
        }
        // What may be written holds them too, but not for ever.
        let changed = address("changed");
        assert_eq!(program.constant(changed, pointer), None);
        let segment = program.segments().iter().find(|segment| segment.contains(changed)).unwrap();
        let bytes = &segment.bytes[(changed - segment.address) as usize..][..usize::from(pointer)];
        assert!(address("g").to_le_bytes().starts_with(bytes), "{compiler:?}");
        for said in ["loaded at address 0", "PT_GNU_RELRO"] {
            assert!(program.assumptions.iter().any(|text| text.contains(said)), "{:?}", program.assumptions);
        }
    }
}

#[test]
fn libraries_and_what_needs_them_are_refused() {
    let of = |data: &[u8]| Program::parse(data).map(|_| ()).unwrap_err()[0].clone();
    let library = compile(("gcc", &["-fPIC", "-shared"]), &[]);
    assert!(matches!(of(&library).problem, Problem::NotExecutable(_) | Problem::Relocation { .. }), "{}", of(&library));
    let dynamic = compile(("gcc", &["-fPIE", "-pie"]), &[]);
    assert!(of(&dynamic).to_string().contains("shared libraries"), "{}", of(&dynamic));
}

#[test]
fn damaged_ones_are_errors_or_programs() {
    let whole = compile(COMPILERS[0], &[]);
    let mut random = Random(5);
    for _ in 0..300 {
        let mut file = whole.clone();
        for _ in 0..=random.below(4) {
            // In the headers, the relocations or the dynamic section.
            let at = [random.below(0x200), 0x2a0 + random.below(0x48), 0x2ee0 + random.below(0x118)][random.below(3)];
            let at = at.min(file.len() - 1);
            file[at] = random.byte();
        }
        if let Err(errors) = Program::parse(&file) {
            assert!(!errors.is_empty());
        }
    }
}
