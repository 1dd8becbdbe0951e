//! Loops whose counts are in the assembly, so that no compiler decides on them.

use std::path::{Path, PathBuf};

use wcet_oracle::measure::build::{build, Target};
use wcet_oracle::measure::count::count;
use wcet_oracle::measure::set::{directory, programs, Program};
use wcet_oracle::measure::subject::{measure, with};

/// Compiles a program whose entry is the assembly `text`, with `cases` cases; case n has n as first argument.
fn compiled(name: &str, target: Target, cases: u32, text: &str) -> PathBuf {
    let into = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let header = directory().join("program.h");
    let kind = if target.name().starts_with("arm") { "%function" } else { "@function" };
    let body = format!(".globl entry\n.type entry, {kind}\nentry:\n{text}").replace('\n', "\\n");
    let source = into.join(format!("{name}-{}.c", target.name()));
    let code = format!(
        "#include \"{}\"\nuint8_t bytes[64];\nconst uint32_t cases = {cases};\n\
         void prepare(uint32_t number) {{ arguments[0] = number; }}\n__asm__(\"{body}\");\n",
        header.display()
    );
    std::fs::write(&source, code).unwrap();
    let program = Program { name: name.to_string(), source, about: String::new(), conflict: None };
    build(&program, target, into).unwrap()
}

const X86: &str = "mov $7, %ecx\n1: mov $3, %eax\n2: dec %eax\njnz 2b\ndec %ecx\njnz 1b\n\
    mov %edi, %ecx\nmov $bytes, %edi\nrep stosb\nret\n";
const RISC_V: &str = "li a1, 7\n1: li a2, 3\n2: addi a2, a2, -1\nbnez a2, 2b\naddi a1, a1, -1\nbnez a1, 1b\n\
    3: addi a0, a0, -1\nbgez a0, 3b\nret\n";
const ARM: &str = "mov r1, #7\n1: mov r2, #3\n2: subs r2, r2, #1\nbne 2b\nsubs r1, r1, #1\nbne 1b\n\
    3: subs r0, r0, #1\nbpl 3b\nbx lr\n";

#[test]
fn headers_are_counted_for_each_entry() {
    for (target, text) in
        [(Target::X86Speed, X86), (Target::ArmSize, ARM), (Target::RiscV32Size, RISC_V), (Target::RiscV64Speed, RISC_V)]
    {
        let file = compiled("nest", target, 6, text);
        let (loops, totals) = with(&file, |subject| {
            let counts = count(subject.file, subject.program, subject.expanded)?;
            assert_eq!(counts.cases.len(), 6);
            assert!(counts.cases.windows(2).all(|pair| pair[0] <= pair[1]), "{:?}", counts.cases);
            Ok((counts.loops, counts.totals))
        })
        .unwrap();
        // The last one looks once more than it goes round: case 5 has five rounds.
        assert_eq!(loops, [7, 3, 6], "{target:?}");
        assert_eq!(totals[1], 21, "{target:?}");
    }
}

#[test]
fn a_loop_that_no_case_enters_has_no_rounds() {
    let text = "cmp r0, #100\nbxlo lr\n1: subs r0, r0, #1\nbne 1b\nbx lr\n";
    let measured = measure(&compiled("unreached", Target::ArmSpeed, 3, text), None).unwrap();
    assert_eq!(measured.loops.len(), 1);
    assert_eq!(measured.loops[0].most, 0);
}

#[test]
fn longer_cases_take_more_cycles() {
    let machine = wcet_hardware::machine::load(&Target::ArmSize.machine_file()).unwrap();
    let few = measure(&compiled("few", Target::ArmSize, 1, ARM), Some(&machine)).unwrap();
    let many = measure(&compiled("many", Target::ArmSize, 40, ARM), Some(&machine)).unwrap();
    let (few, many) = (few.cycles.unwrap(), many.cycles.unwrap());
    // 39 further rounds of two instructions and a taken branch.
    assert!(many > few + 39 * 3, "{few} {many}");
}

#[test]
fn the_set_says_what_it_is() {
    let programs = programs().unwrap();
    assert!(programs.len() >= 40, "{}", programs.len());
    for program in &programs {
        assert!(program.about.len() > 10 && !program.about.contains('\n'), "{}: {}", program.name, program.about);
        let text = std::fs::read_to_string(&program.source).unwrap();
        assert!(text.contains("Inputs:") && text.contains("ase"), "{} does not say what its cases are", program.name);
    }
    for branches in [2, 3, 4] {
        assert!(programs.iter().any(|program| program.conflict == Some(branches)), "{branches}");
    }
}

/// A program that goes round as often as its stack's place says.
#[test]
fn the_stack_is_in_the_same_place_whatever_the_path_and_the_environment() {
    let text = "mov r0, sp\nlsr r0, r0, #4\nand r0, r0, #255\n1: subs r0, r0, #1\nbpl 1b\nbx lr\n";
    let file = compiled("stack_place", Target::ArmSpeed, 1, text);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("a-folder-whose-name-is-long-enough-to-move-the-stack");
    std::fs::create_dir_all(&folder).unwrap();
    let moved = folder.join(file.file_name().unwrap());
    std::fs::copy(&file, &moved).unwrap();
    let rounds = |file: &Path| measure(file, None).unwrap().loops[0].most;
    let first = rounds(&file);
    assert_eq!(rounds(&moved), first);
    std::env::set_var("ASHLAR_TEST_ENVIRONMENT", "x".repeat(700));
    let crowded = rounds(&file);
    std::env::remove_var("ASHLAR_TEST_ENVIRONMENT");
    assert_eq!(crowded, first);
}
