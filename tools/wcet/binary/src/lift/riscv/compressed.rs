//! Compressed instructions as the full ones that they stand for (The RISC-V Instruction Set Manual, volume I, "C" extension).

/// Bits `high` to `low` of a compressed instruction.
fn bits(half: u16, high: u32, low: u32) -> u32 {
    u32::from(half) >> low & ((1 << (high - low + 1)) - 1)
}

/// Puts together the fields of a number: (highest bit, lowest bit) of the instruction, and where the lowest goes.
fn gather(half: u16, fields: &[(u32, u32, u32)]) -> u32 {
    fields.iter().fold(0, |number, (high, low, to)| number | bits(half, *high, *low) << to)
}

/// The number of `width` bits as a signed one.
fn signed(number: u32, width: u32) -> u32 {
    let unused = 32 - width;
    (((number << unused) as i32) >> unused) as u32
}

const LOAD: u32 = 0x03;
const LOAD_FLOAT: u32 = 0x07;
const IMMEDIATE: u32 = 0x13;
const IMMEDIATE_WORD: u32 = 0x1b;
const STORE: u32 = 0x23;
const STORE_FLOAT: u32 = 0x27;
const REGISTERS: u32 = 0x33;
const REGISTERS_WORD: u32 = 0x3b;
const LUI: u32 = 0x37;
const BRANCH: u32 = 0x63;
const JALR: u32 = 0x67;
const JAL: u32 = 0x6f;
const EBREAK: u32 = 0x0010_0073;

fn immediate(opcode: u32, function: u32, rd: u32, rs1: u32, number: u32) -> u32 {
    (number & 0xfff) << 20 | rs1 << 15 | function << 12 | rd << 7 | opcode
}

fn store(opcode: u32, function: u32, rs2: u32, rs1: u32, number: u32) -> u32 {
    (number >> 5 & 0x7f) << 25 | rs2 << 20 | rs1 << 15 | function << 12 | (number & 31) << 7 | opcode
}

fn registers(opcode: u32, high: u32, function: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    high << 25 | rs2 << 20 | rs1 << 15 | function << 12 | rd << 7 | opcode
}

fn branch(function: u32, rs1: u32, distance: u32) -> u32 {
    let part = |high: u32, low: u32| distance >> low & ((1 << (high - low + 1)) - 1);
    part(12, 12) << 31 | part(10, 5) << 25 | rs1 << 15 | function << 12 | part(4, 1) << 8 | part(11, 11) << 7 | BRANCH
}

fn jump(rd: u32, distance: u32) -> u32 {
    let part = |high: u32, low: u32| distance >> low & ((1 << (high - low + 1)) - 1);
    part(20, 20) << 31 | part(10, 1) << 21 | part(11, 11) << 20 | part(19, 12) << 12 | rd << 7 | JAL
}

/// The full instruction; None if `half` is none, or reserved. `wide`: of RV64.
pub(crate) fn expand(half: u16, wide: bool) -> Option<u32> {
    match half & 3 {
        0 => memory(half, wide),
        1 => computing(half, wide),
        2 => with_stack(half, wide),
        _ => None,
    }
}

/// Quadrant 0: loads and stores of the eight usual registers.
fn memory(half: u16, wide: bool) -> Option<u32> {
    let (low, base) = (8 + bits(half, 4, 2), 8 + bits(half, 9, 7));
    let words = gather(half, &[(12, 10, 3), (6, 6, 2), (5, 5, 6)]);
    let doubles = gather(half, &[(12, 10, 3), (6, 5, 6)]);
    Some(match bits(half, 15, 13) {
        0 => {
            let number = gather(half, &[(12, 11, 4), (10, 7, 6), (6, 6, 2), (5, 5, 3)]);
            return (number != 0).then(|| immediate(IMMEDIATE, 0, low, 2, number));
        }
        1 => immediate(LOAD_FLOAT, 3, low, base, doubles),
        2 => immediate(LOAD, 2, low, base, words),
        3 if wide => immediate(LOAD, 3, low, base, doubles),
        3 => immediate(LOAD_FLOAT, 2, low, base, words),
        5 => store(STORE_FLOAT, 3, low, base, doubles),
        6 => store(STORE, 2, low, base, words),
        7 if wide => store(STORE, 3, low, base, doubles),
        7 => store(STORE_FLOAT, 2, low, base, words),
        _ => return None,
    })
}

/// Quadrant 1: numbers, arithmetic and branches.
fn computing(half: u16, wide: bool) -> Option<u32> {
    let rd = bits(half, 11, 7);
    let number = signed(gather(half, &[(12, 12, 5), (6, 2, 0)]), 6);
    let distance = || {
        let fields = [(12, 12, 11), (11, 11, 4), (10, 9, 8), (8, 8, 10), (7, 7, 6), (6, 6, 7), (5, 3, 1), (2, 2, 5)];
        signed(gather(half, &fields), 12)
    };
    let short = || signed(gather(half, &[(12, 12, 8), (11, 10, 3), (6, 5, 6), (4, 3, 1), (2, 2, 5)]), 9);
    Some(match bits(half, 15, 13) {
        0 => immediate(IMMEDIATE, 0, rd, rd, number),
        1 if !wide => jump(1, distance()),
        1 if rd == 0 => return None,
        1 => immediate(IMMEDIATE_WORD, 0, rd, rd, number),
        2 => immediate(IMMEDIATE, 0, rd, 0, number),
        3 if number == 0 => return None,
        3 if rd == 2 => {
            let fields = [(12, 12, 9), (6, 6, 4), (5, 5, 6), (4, 3, 7), (2, 2, 5)];
            immediate(IMMEDIATE, 0, 2, 2, signed(gather(half, &fields), 10))
        }
        3 => number << 12 | rd << 7 | LUI,
        4 => return arithmetic(half, wide, number),
        5 => jump(0, distance()),
        6 => branch(0, 8 + bits(half, 9, 7), short()),
        _ => branch(1, 8 + bits(half, 9, 7), short()),
    })
}

fn arithmetic(half: u16, wide: bool, number: u32) -> Option<u32> {
    let (rd, rs2) = (8 + bits(half, 9, 7), 8 + bits(half, 4, 2));
    let shift = number & 63;
    let shifts = wide || shift < 32;
    let both = |opcode, high, function| registers(opcode, high, function, rd, rd, rs2);
    Some(match (bits(half, 11, 10), bits(half, 12, 12), bits(half, 6, 5)) {
        (0 | 1, _, _) if !shifts => return None,
        (0, _, _) => immediate(IMMEDIATE, 5, rd, rd, shift),
        (1, _, _) => immediate(IMMEDIATE, 5, rd, rd, shift | 0x400),
        (2, _, _) => immediate(IMMEDIATE, 7, rd, rd, number),
        (_, 0, 0) => both(REGISTERS, 0x20, 0),
        (_, 0, 1) => both(REGISTERS, 0, 4),
        (_, 0, 2) => both(REGISTERS, 0, 6),
        (_, 0, _) => both(REGISTERS, 0, 7),
        (_, _, 0) if wide => both(REGISTERS_WORD, 0x20, 0),
        (_, _, 1) if wide => both(REGISTERS_WORD, 0, 0),
        _ => return None,
    })
}

/// Quadrant 2: loads and stores relative to the stack pointer, moves, and jumps by register.
fn with_stack(half: u16, wide: bool) -> Option<u32> {
    let (rd, rs2) = (bits(half, 11, 7), bits(half, 6, 2));
    let shift = gather(half, &[(12, 12, 5), (6, 2, 0)]);
    let words = gather(half, &[(12, 12, 5), (6, 4, 2), (3, 2, 6)]);
    let doubles = gather(half, &[(12, 12, 5), (6, 5, 3), (4, 2, 6)]);
    let (words_out, doubles_out) = (gather(half, &[(12, 9, 2), (8, 7, 6)]), gather(half, &[(12, 10, 3), (9, 7, 6)]));
    Some(match (bits(half, 15, 13), bits(half, 12, 12)) {
        (0, _) if !wide && shift >= 32 => return None,
        (0, _) => immediate(IMMEDIATE, 1, rd, rd, shift),
        (1, _) => immediate(LOAD_FLOAT, 3, rd, 2, doubles),
        (3, _) if !wide => immediate(LOAD_FLOAT, 2, rd, 2, words),
        (2 | 3, _) if rd == 0 => return None,
        (2, _) => immediate(LOAD, 2, rd, 2, words),
        (3, _) => immediate(LOAD, 3, rd, 2, doubles),
        (4, 0) if rs2 == 0 => return (rd != 0).then(|| immediate(JALR, 0, 0, rd, 0)),
        (4, 0) => registers(REGISTERS, 0, 0, rd, 0, rs2),
        (4, _) if rs2 == 0 && rd == 0 => EBREAK,
        (4, _) if rs2 == 0 => immediate(JALR, 0, 1, rd, 0),
        (4, _) => registers(REGISTERS, 0, 0, rd, rd, rs2),
        (5, _) => store(STORE_FLOAT, 3, rs2, 2, doubles_out),
        (6, _) => store(STORE, 2, rs2, 2, words_out),
        (_, _) if wide => store(STORE, 3, rs2, 2, doubles_out),
        (_, _) => store(STORE_FLOAT, 2, rs2, 2, words_out),
    })
}
