//! Thumb: programs of both of ARM's instruction sets, and what is refused because the state of the processor does not fit.

use crate::analysed::{assemble, build, report, request, Target, CORTEX_M, THUMB};
use wcet_paths::analysis::analyse;
use wcet_report::{Report, Verdict};

/// The assembly of a program whose `_start` is a Thumb function.
fn thumb(code: &str) -> Vec<u8> {
    assemble(THUMB, &format!(".syntax unified\n.thumb\n.thumb_func\n_start: {code}"))
}

/// The messages of a program without a bound; each names an address.
fn refused(data: Vec<u8>) -> String {
    let report = report(THUMB, data);
    assert_eq!(report.wcet_cycles, None, "{report:?}");
    assert!(matches!(report.verdict, Verdict::Refused | Verdict::Unbounded));
    report
        .errors
        .iter()
        .map(|error| format!("{}: {}\n", error.address.clone().unwrap_or_default(), error.message))
        .collect()
}

fn bounded(target: Target, data: Vec<u8>) -> Report {
    let report = report(target, data);
    assert!(report.wcet_cycles.is_some(), "{:#?}", report.errors);
    report
}

#[test]
fn code_that_is_read_in_another_state_than_it_is_reached_in_is_refused() {
    let cases = [
        // Data, as the mapping symbols say, whether control goes on to it or jumps there.
        ("nop\n.short 0xbf00\nbx lr", "data is here"),
        ("b 1f\nnop\n1: .short 0xbf00", "is marked as data"),
        ("nop\nnop\n.arm\nbx lr", "that is ARM code"),
        (".inst.n 0xe000\nnop\n.arm\nbx lr", "is ARM code, and is reached in Thumb state"),
        // `bx` to an address of Thumb code whose lowest bit is 0.
        ("ldr r0, =1f\nbx r0\n.balign 4\n1: bx lr\n.ltorg", "is Thumb code, and is reached in ARM state"),
        ("ldr r0, =1f + 1\nbx r0\n.ltorg\n.arm\n1: bx lr", "is ARM code, and is reached in Thumb state"),
        // The second half of `movw`.
        ("cmp r0, #0\nbne . + 4\nmovw r1, #0x1234\nbx lr", "is the second half of a Thumb instruction"),
        ("ldr r0, =1f + 3\nbx r0\n1: movw r1, #0x1234\nbx lr\n.ltorg", "is the second half of a Thumb instruction"),
    ];
    for (code, message) in cases {
        let found = refused(thumb(code));
        assert!(found.starts_with("0x") && found.contains(message), "{code}: {found}");
    }
}

#[test]
fn what_a_block_of_conditions_forbids_is_refused() {
    let cases = [
        ("cmp r0, #0\nbeq 1f\nit ne\n1: addne r1, r1, #1\nbx lr", "is within the block of an `it` instruction"),
        ("ldr r0, =1f + 1\nbx r0\n.ltorg\nitt ne\naddne r1, r1, #1\n1: addne r1, r1, #1\nbx lr", "is within the block"),
        // `ite eq`, then `bx lr` in its midst.
        ("cmp r0, #0\n.inst.n 0xbf0c\n.inst.n 0x4770\nadds r0, #1\nbx lr", "before its end"),
        // `cbz`, a branch with a condition of its own, and `it`, in a block.
        ("cmp r0, #0\n.inst.n 0xbf08\n.inst.n 0xb100\nbx lr", "has no defined meaning in the block"),
        ("cmp r0, #0\n.inst.n 0xbf08\n.inst.n 0xd000\nbx lr", "has no defined meaning in the block"),
        ("cmp r0, #0\n.inst.n 0xbf08\n.inst.n 0xbf08\nadds r0, #1\nbx lr", "has no defined meaning in another block"),
        // The condition 15, and one that would be 15 in its block.
        (".inst.n 0xbff8\nnop\nbx lr", "has no defined meaning"),
        (".inst.n 0xbfec\nnop\nnop\nbx lr", "has no defined meaning"),
        // A block that data cuts off, and one that ARM code does.
        ("cmp r0, #0\n.inst.n 0xbf18\n.short 0x3001\nbx lr", "data is here"),
        ("cmp r0, #0\n.inst.n 0xbf18\n.arm\nbx lr", "that is ARM code"),
    ];
    for (code, message) in cases {
        let found = refused(thumb(code));
        assert!(found.starts_with("0x") && found.contains(message), "{code}: {found}");
    }
}

/// The entry is in the block too if a person names it by its number.
#[test]
fn an_entry_in_the_midst_is_refused() {
    let data = thumb("cmp r0, #0\nit ne\naddne r1, r1, #1\nmovw r2, #0x1234\nbx lr");
    for (entry, message) in [
        ("_start+0x4", "is within the block of an `it` instruction"),
        ("_start+0x8", "is the second half of a Thumb instruction"),
        ("_start+0x3", "multiples of 4, and Thumb instructions at even addresses"),
    ] {
        let mut request = request(THUMB, data.clone());
        request.entry = Some(entry.to_string());
        let report = analyse(&request, &mut |_, _, _| {});
        assert!(
            report.wcet_cycles.is_none() && report.errors[0].message.contains(message),
            "{entry}: {:?}",
            report.errors
        );
    }
}

#[test]
fn an_entry_point_that_names_the_other_state_is_refused() {
    // `_start` is no function for the assembler, so that its lowest bit is 0.
    let found = refused(assemble(THUMB, ".syntax unified\n.thumb\n_start: bx lr"));
    assert!(found.contains("is Thumb code, and is reached in ARM state"), "{found}");
    // The mapping symbols lie: `$t` became `$a`, or `$d`.
    let whole = thumb("adds r0, #1\nbx lr");
    for (name, message) in [(b'a', "is ARM code, and is reached in Thumb state"), (b'd', "is marked as data")] {
        let mut data = whole.clone();
        let at = data.windows(3).rposition(|window| window == b"$t\0").expect("a mapping symbol");
        data[at + 1] = name;
        let found = refused(data);
        assert!(found.contains(message), "{found}");
    }
}

/// Without symbols the entry point's lowest bit tells.
#[test]
fn a_file_without_symbols_is_read_as_its_entry_says() {
    for code in
        ["movs r1, #7\n1: subs r1, r1, #1\nbne 1b\nbx lr", "cmp r0, #3\nite ls\nmovls r0, #1\nmovhi r0, #2\nbx lr"]
    {
        let source = format!(".text\n.globl _start\n.syntax unified\n.thumb\n.thumb_func\n_start: {code}\n");
        let stripped = bounded(THUMB, build(THUMB, "s", &source, &["-s"]));
        assert_eq!(stripped.wcet_cycles, bounded(THUMB, thumb(code)).wcet_cycles);
    }
}

/// Calls, tail calls and returns from one state to the other; the loop in ARM code counts to 5.
#[test]
fn both_states_in_one_program() {
    let inner =
        "\n.balign 4\n.arm\n.type inner, %function\ninner: mov r2, #5\n1: subs r2, r2, #1\nbne 1b\nbx lr\n.ltorg";
    let cases = [
        "push {r4, lr}\nblx inner\npop {r4, pc}",
        "push {r4, lr}\nldr r3, =inner\nblx r3\npop {r4, pc}",
        "push {r4, lr}\nldr r3, =inner\nblx r3\nldmia sp!, {r4, lr}\nbx lr",
        "ldr r3, =inner\nbx r3",
        ".balign 4\nldr r12, =inner\nbx pc\nnop\n.arm\nbx r12\n.thumb",
        "ldr pc, =inner",
        "push {r4, lr}\ncmp r0, #0\nldr r3, =inner\nit ne\nblxne r3\npop {r4, pc}",
        "push {r4, lr}\nldr r3, =inner\nbl 2f\npop {r4, pc}\n.arm\n.type outer, %function\nouter:\n2: push {lr}\nbl inner\npop {pc}",
    ];
    for code in cases {
        let code = code.replace("\nbl 2f", "\nblx 2f");
        let source = format!(".thumb\n.thumb_func\n_start: {code}{inner}");
        let report = bounded(THUMB, assemble(THUMB, &format!(".syntax unified\n{source}")));
        let [one] = &report.loops[..] else { panic!("{code}: {:?}", report.loops) };
        assert_eq!(one.bound, Some(5), "{code}");
    }
}

#[test]
fn tables_of_bytes_half_words_and_addresses() {
    let cases = "4: movs r0, #1\nbx lr\n5: movs r0, #2\nbx lr\n6: movs r0, #3\n3: bx lr";
    for jump in [
        "tbb [pc, r0]\n2: .byte (4f - 2b) / 2, (5f - 2b) / 2, (6f - 2b) / 2\n.balign 2",
        "tbh [pc, r0, lsl #1]\n2: .2byte (4f - 2b) / 2, (5f - 2b) / 2, (6f - 2b) / 2",
        "ldr r1, =2f\ntbb [r1, r0]\n9: b 3f\n.balign 4\n2: .byte (4f - 9b) / 2, (5f - 9b) / 2, (6f - 9b) / 2\n.balign 2",
        "ldr r1, =2f\nldr pc, [r1, r0, lsl #2]\n.balign 4\n2: .word 4f + 1, 5f + 1, 6f + 1",
        "adr r1, 2f\nldr r1, [r1, r0, lsl #2]\nbx r1\n.balign 4\n2: .word 4f + 1, 5f + 1, 6f + 1",
        "lsls r0, r0, #2\nadd pc, r0\nnop\nmovs r0, #1\nbx lr\nmovs r0, #2\nbx lr\nb 4f\nnop",
    ] {
        let data = thumb(&format!("cmp r0, #2\nbhi 3f\n{jump}\n{cases}\n.ltorg"));
        assert_eq!(bounded(THUMB, data).loops.len(), 0, "{jump}");
    }
    // An entry of a table of addresses without the lowest bit would change the state.
    let found = refused(thumb(&format!(
        "cmp r0, #2\nbhi 3f\nldr r1, =2f\nldr pc, [r1, r0, lsl #2]\n.balign 4\n2: .word 4f + 1, 5f, 6f + 1\n{cases}\n.ltorg"
    )));
    assert!(found.contains("is Thumb code, and is reached in ARM state"), "{found}");
}

/// Flags that change in a block, an instruction that is skipped, and one without a condition: the loop ends as it is counted.
#[test]
fn conditions_in_a_block_are_asked_one_after_the_other() {
    // Behind the compare in the block `lo` no longer holds: r1 grows by 1 each round, up to 9.
    let code = "movs r1, #0\n1: cmp r1, #100\nittt lo\naddlo r1, r1, #1\ncmplo r1, #0\nmovlo r1, #50\ncmp r1, #9\nbne 1b\nbx lr";
    let report = bounded(THUMB, thumb(code));
    assert_eq!(report.loops[0].bound, Some(9), "{:?}", report.loops);
    // `adds` sets no flags in a block: it would clear the carry.
    let code = "movs r1, #0\n1: cmp r1, #0\nit hs\naddhs r1, r1, #1\nbcc 2f\ncmp r1, #6\nbne 1b\n2: bx lr";
    let report = bounded(THUMB, thumb(code));
    assert_eq!(report.loops[0].bound, Some(6), "{:?}", report.loops);
}

#[test]
fn a_microcontroller_with_its_instructions_of_the_system() {
    let code = ".syntax unified\n.thumb\n.thumb_func\n_start: mrs r1, primask\ncpsid i\nmsr basepri, r0\nldr r2, [r0]\ndsb\nisb\n\
        udiv r2, r2, r1\nmla r2, r2, r1, r0\nstr r2, [r0]\nmsr primask, r1\nbx lr";
    let report = bounded(CORTEX_M, assemble(CORTEX_M, code));
    // Two changes of masks, a division of 12 cycles and a product of 7 among them.
    assert!(report.wcet_cycles > Some(30), "{:?}", report.wcet_cycles);
    // A stack pointer that changes is none that is known.
    let code = ".syntax unified\n.thumb\n.thumb_func\n_start: push {lr}\nmsr msp, r0\npop {pc}";
    assert_eq!(report_of(code).wcet_cycles, None);
}

fn report_of(code: &str) -> Report {
    report(CORTEX_M, assemble(CORTEX_M, code))
}
