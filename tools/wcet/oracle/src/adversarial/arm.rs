//! Programs for 32-bit ARM, in either of its instruction sets.
//!
//! In Thumb the assembler puts `it` before instructions with a condition, as many as fit into a block; blocks whose flags change on
//! the way are written out. One function of others may be in ARM state.

use super::writer::{put, Text, Writer, LOCALS};

/// Registers for data. r8 to r10 are for what an instruction needs besides.
const DATA: [&str; 6] = ["r0", "r1", "r2", "r3", "r11", "r12"];

/// Registers that count loops; functions keep them.
const COUNTERS: [&str; 4] = ["r4", "r5", "r6", "r7"];

const CONDITIONS: [&str; 14] = ["eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le"];

/// Numbers that instructions can hold.
const NUMBERS: [u32; 12] = [0, 1, 2, 3, 5, 7, 8, 15, 16, 255, 0x8000_0000, 0xff00_0000];

/// Low registers, which `cbz` can have.
const LOW: [&str; 4] = ["r0", "r1", "r2", "r3"];

struct Arm {
    text: Text,
    thumb: bool,
}

pub fn lines(seed: u64, thumb: bool) -> Vec<String> {
    let mut writer = Arm { text: Text::new(seed), thumb };
    writer.program();
    writer.text.lines
}

impl Arm {
    fn program(&mut self) {
        if self.thumb {
            put!(self, ".syntax unified");
        }
        let state = if self.thumb { ".thumb" } else { ".arm" };
        for line in [".text", state, ".globl entry", ".type entry, %function", "entry:"] {
            put!(self, "{line}");
        }
        put!(self, "push {{r4-r11, lr}}");
        put!(self, "sub sp, sp, #{LOCALS}");
        put!(self, "and r0, r0, #7");
        put!(self, "and r1, r1, #7");
        put!(self, "ldr r8, =bytes");
        for at in 0..8 {
            let number = (0..4)
                .fold(0u32, |number, _| number << 8 | self.text.random.pick(&[0u32, 1, 2, 5, 15, 0x7f, 0x80, 0xff]));
            put!(self, "ldr r9, ={number:#x}");
            put!(self, "str r9, [r8, #{}]", 4 * at);
        }
        for at in 0..LOCALS / 4 {
            put!(self, "mov r9, #{}", self.text.random.below(100));
            put!(self, "str r9, [sp, #{}]", 4 * at);
        }
        for to in ["r2", "r3", "r11", "r12"] {
            put!(self, "mov {to}, {}", self.text.random.pick(&["r0", "r1"]));
            match self.text.random.below(4) {
                0 => put!(self, "sub {to}, {to}, #{}", self.text.random.below(16)),
                1 => put!(self, "lsl {to}, {to}, #{}", self.text.random.below(31)),
                2 => put!(self, "rsb {to}, {to}, #{}", self.text.random.below(16)),
                _ => {}
            }
        }
        for _ in 0..3 + self.text.random.below(3) {
            self.statement(2);
        }
        put!(self, "add sp, sp, #{LOCALS}");
        put!(self, "pop {{r4-r11, pc}}");
        put!(self, ".ltorg");
        self.text.inner = true;
        for number in 0..2 {
            // Others, in Thumb, call it as well as this.
            if self.thumb && number == 1 && self.text.random.once_in(2) {
                self.thumb = false;
                put!(self, ".balign 4");
                put!(self, ".arm");
            }
            put!(self, ".type inner{number}, %function");
            put!(self, "inner{number}:");
            for _ in 0..1 + self.text.random.below(3) {
                self.operation();
            }
            if self.text.random.once_in(2) {
                self.compare();
            }
            put!(self, "bx lr");
            put!(self, ".ltorg");
        }
    }

    fn data(&mut self) -> &'static str {
        self.text.random.pick(&DATA)
    }

    /// A register with any shift.
    fn shifted(&mut self) -> String {
        let register = self.data();
        match self.text.random.below(5) {
            0 => format!("{register}, lsl #{}", self.text.random.below(32)),
            1 => {
                let (name, count) = (self.text.random.pick(&["lsr", "asr"]), 1 + self.text.random.below(32));
                format!("{register}, {name} #{count}")
            }
            2 if self.thumb => register.to_string(),
            2 => {
                let name = self.text.random.pick(&["lsl", "lsr", "asr", "ror"]);
                format!("{register}, {name} {}", self.data())
            }
            3 => format!("#{}", self.text.random.pick(&NUMBERS)),
            _ => register.to_string(),
        }
    }

    /// The address of an access to `bytes` bytes, in brackets.
    fn place(&mut self, bytes: u64) -> String {
        match self.text.random.below(if self.text.inner { 2 } else { 4 }) {
            0 => {
                put!(self, "ldr r8, =bytes");
                format!("[r8, #{}]", bytes * self.text.random.below(32 / bytes))
            }
            1 => {
                let register = self.data();
                put!(self, "ldr r8, =bytes");
                put!(self, "and r10, {register}, #{}", self.text.random.pick(&[1, 3, 7, 12, 15]) / bytes * bytes);
                "[r8, r10]".to_string()
            }
            2 => format!("[sp, #{}]", bytes * self.text.random.below(LOCALS / bytes)),
            _ => {
                put!(self, "add r10, sp, #{}", 4 * self.text.random.below(LOCALS / 8));
                format!("[r10, #{}]", bytes * self.text.random.below(32 / bytes))
            }
        }
    }

    fn table(&mut self, depth: u32) {
        let from = self.data();
        let end = self.text.label();
        let cases: Vec<String> = (0..4).map(|_| self.text.label()).collect();
        put!(self, "and r9, {from}, #3");
        if self.thumb {
            return self.thumb_table(cases, &end, depth);
        }
        put!(self, "cmp r9, #3");
        put!(self, "ldrls pc, [pc, r9, lsl #2]");
        put!(self, "b {end}");
        for case in &cases {
            put!(self, ".word {case}");
        }
        self.cases(cases, &end, depth);
    }

    /// A table of offsets, of bytes or half words, or one of addresses.
    fn thumb_table(&mut self, cases: Vec<String>, end: &str, depth: u32) {
        let table = self.text.label();
        put!(self, "cmp r9, #3");
        put!(self, "bhi {end}");
        let kind = self.text.random.below(3);
        let entry = match kind {
            0 => {
                put!(self, "tbb [pc, r9]");
                ".byte"
            }
            1 => {
                put!(self, "tbh [pc, r9, lsl #1]");
                ".2byte"
            }
            _ => {
                put!(self, "ldr r8, ={table}");
                put!(self, "ldr pc, [r8, r9, lsl #2]");
                put!(self, ".balign 4");
                ".word"
            }
        };
        put!(self, "{table}:");
        for case in &cases {
            if kind < 2 {
                put!(self, "{entry} ({case} - {table}) / 2");
            } else {
                put!(self, "{entry} {case} + 1");
            }
        }
        self.cases(cases, end, depth);
    }

    /// A block whose flags change before its end, or a branch over one operation.
    fn block(&mut self) {
        let (a, b) = (self.data(), self.data());
        if self.text.random.once_in(3) {
            let end = self.text.label();
            put!(self, "{} {}, {end}", self.text.random.pick(&["cbz", "cbnz"]), self.text.random.pick(&LOW));
            put!(self, "add {a}, {b}, #{}", self.text.random.below(9));
            put!(self, "{end}:");
            return;
        }
        let condition = self.compare();
        let place = CONDITIONS.iter().position(|one| *one == condition).unwrap_or_default();
        let contrary = CONDITIONS[place ^ 1];
        let number = self.text.random.pick(&NUMBERS);
        put!(self, "ittee {condition}");
        put!(self, "add{condition} {a}, {a}, {b}");
        put!(self, "{}{condition} {a}, #{number}", self.text.random.pick(&["cmp", "tst"]));
        put!(self, "eor{contrary} {a}, {a}, {b}");
        put!(self, "mov{contrary} {b}, #{}", self.text.random.below(99));
    }

    fn repeat(&mut self, depth: u32) {
        let counter = COUNTERS[self.text.loops];
        self.text.loops += 1;
        let (top, end) = (self.text.label(), self.text.label());
        if self.text.random.once_in(2) {
            put!(self, "mov {counter}, #{}", self.text.random.pick(&[0u32, 1, 3, 9, 15, 250, 0xff00_0000]));
        } else {
            let from = self.data();
            put!(self, "and {counter}, {from}, #{}", self.text.random.pick(&[3, 7, 15, 12]));
            if self.text.random.once_in(3) {
                put!(self, "sub {counter}, {counter}, #{}", self.text.random.below(9));
            }
        }
        // Of a width that wraps early, in memory, or as it is.
        let narrow = self.text.random.pick(&["", "", "", "uxtb", "sxtb", "uxth"]);
        let slot = self.text.random.once_in(4).then(|| self.text.random.below(LOCALS));
        if let Some(slot) = slot {
            put!(self, "strb {counter}, [sp, #{slot}]");
        }
        let kind = self.text.random.below(5);
        let step = self.text.random.pick(&[1, 1, 1, 2, 3, 5]);
        let limit = self.text.random.pick(&[5, 10, 16, 20, 0, 3, 127]);
        let up = self.text.random.once_in(2);
        put!(self, "{top}:");
        let before = kind == 0;
        if before {
            put!(self, "cmp {counter}, #{limit}");
            let leave = self.text.random.pick(&if up {
                ["hs", "ge", "eq", "hi", "gt"]
            } else {
                ["ls", "le", "eq", "mi", "lt"]
            });
            put!(self, "b{leave} {end}");
        }
        self.statements(depth - 1);
        if self.text.random.once_in(3) {
            let condition = self.compare();
            put!(self, "b{condition} {end}");
        }
        if let Some(slot) = slot {
            put!(self, "{} {counter}, [sp, #{slot}]", self.text.random.pick(&["ldrb", "ldrb"]));
        }
        if self.text.random.once_in(8) {
            put!(self, "orr {counter}, {counter}, #1");
        }
        if kind == 4 {
            let name = self.text.random.pick(&["lsr", "asr", "lsl"]);
            put!(self, "{name}s {counter}, {counter}, #{step}");
        } else {
            let change = if up && kind != 3 { "add" } else { "sub" };
            let flags = if kind == 3 { "s" } else { "" };
            put!(self, "{change}{flags} {counter}, {counter}, #{step}");
        }
        if let Some(slot) = slot {
            put!(self, "strb {counter}, [sp, #{slot}]");
        }
        if !narrow.is_empty() {
            put!(self, "{narrow} {counter}, {counter}");
        }
        match kind {
            4 => put!(self, "bne {top}"),
            3 => put!(self, "b{} {top}", self.text.random.pick(&["hs", "hi", "gt", "pl", "ne", "ge", "vc"])),
            0 => put!(self, "b {top}"),
            _ => {
                put!(self, "cmp {counter}, #{limit}");
                let on = self.text.random.pick(&if up {
                    ["lo", "lt", "ne", "ls", "le"]
                } else {
                    ["hi", "gt", "ne", "pl", "ge"]
                });
                put!(self, "b{on} {top}");
            }
        }
        put!(self, "{end}:");
    }
}

impl Writer for Arm {
    const CALL: &'static str = "bl";
    const JUMP: &'static str = "b";
    const BRANCH: &'static str = "b";
    const CONDITIONS: &'static [&'static str] = &CONDITIONS;

    fn text(&mut self) -> &mut Text {
        &mut self.text
    }

    fn statement(&mut self, depth: u32) {
        match self.text.random.below(if depth > 0 { 11 } else { 5 }) {
            0..=3 => self.operation(),
            4 => self.call(),
            5..=7 => self.choice(depth),
            8 if self.text.random.once_in(2) => self.table(depth),
            _ if self.text.loops < COUNTERS.len() => self.repeat(depth),
            _ => self.operation(),
        }
    }

    fn operation(&mut self) {
        if self.thumb && self.text.random.once_in(6) {
            return self.block();
        }
        let (a, b) = (self.data(), self.data());
        match self.text.random.below(16) {
            0 => put!(self, "mov {a}, #{}", self.text.random.pick(&NUMBERS)),
            1..=3 => {
                let name = self.text.random.pick(&["add", "sub", "rsb", "and", "orr", "eor", "bic", "adc", "sbc"]);
                let flags = self.text.random.pick(&["", "", "s"]);
                let last = self.shifted();
                put!(self, "{name}{flags} {a}, {b}, {last}");
            }
            4 => {
                let name = self.text.random.pick(&["mov", "mvn"]);
                let last = self.shifted();
                put!(self, "{name} {a}, {last}");
            }
            5 => put!(self, "{} {a}, {b}", self.text.random.pick(&["uxtb", "sxtb", "uxth", "sxth", "clz", "rev"])),
            6 => {
                let condition = self.compare();
                put!(self, "mov{condition} {a}, {b}");
                if self.text.random.once_in(2) {
                    put!(self, "add{condition} {b}, {b}, #{}", self.text.random.pick(&NUMBERS));
                }
            }
            7 | 8 => {
                let bytes = self.text.random.pick(&[1, 2, 4]);
                let place = self.place(bytes);
                put!(
                    self,
                    "{} {a}, {place}",
                    match bytes {
                        1 => "strb",
                        2 => "strh",
                        _ => "str",
                    }
                );
            }
            9 | 10 => {
                let bytes = self.text.random.pick(&[1, 2, 4]);
                let place = self.place(bytes);
                let name = match bytes {
                    1 => self.text.random.pick(&["ldrb", "ldrsb"]),
                    2 => self.text.random.pick(&["ldrh", "ldrsh"]),
                    _ => "ldr",
                };
                put!(self, "{name} {a}, {place}");
            }
            11 => {
                let condition = self.compare();
                let place = self.place(4);
                // The address is made before the compare's flags are used, and changes none.
                put!(self, "{}{condition} {a}, {place}", self.text.random.pick(&["ldr", "str"]));
            }
            12 if !self.text.inner => {
                put!(self, "push {{{a}}}");
                put!(self, "pop {{{b}}}");
            }
            13 if !self.text.inner => {
                put!(self, "add r10, sp, #{}", 4 * self.text.random.below(8));
                let name = self.text.random.pick(&["ldmia", "stmia"]);
                put!(self, "{name} r10{}, {{r2, r3, r11}}", self.text.random.pick(&["", "!"]));
            }
            14 => put!(self, "mul {a}, {b}, {}", self.data()),
            15 => {
                put!(self, "umull r9, r10, {a}, {b}");
                put!(self, "eor {a}, r9, r10");
            }
            _ => {
                put!(self, "ldr r8, =bytes");
                put!(self, "add r8, r8, #{}", 4 * self.text.random.below(4));
                put!(
                    self,
                    "{}",
                    self.text.random.pick(&["ldr r9, [r8], #4", "ldrb r9, [r8, #3]!", "str r9, [r8, #4]!"])
                );
                put!(self, "ldrb {a}, [r8]");
            }
        }
    }

    fn new_compare(&mut self) -> String {
        let name = self.text.random.pick(&["cmp", "cmp", "cmp", "cmn", "tst", "teq"]);
        let (a, last) = (self.data(), self.shifted());
        format!("{name} {a}, {last}")
    }

    fn after_compare(&mut self) {
        if self.text.random.once_in(6) {
            let (to, from) = (self.data(), self.data());
            put!(self, "add {to}, {from}, #1");
        }
    }

    fn count_down(&mut self, from: u64, top: &str) {
        put!(self, "mov r9, #{from}");
        put!(self, "{top}:");
        put!(self, "subs r9, r9, #1");
        put!(self, "bne {top}");
    }
}
