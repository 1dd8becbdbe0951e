//! Programs for RISC-V.
//!
//! There are no flags: a compare copies what it compares to t3 and t4, where it outlives what its operands become, and conditions
//! ask these or the registers themselves. t0 is for return addresses, t1, t2 and t5 are for what an instruction needs besides.

use super::writer::{put, Text, Writer, LOCALS};

/// Registers for data.
const DATA: [&str; 6] = ["a0", "a1", "a2", "a3", "a4", "s8"];

/// Registers that count loops; functions keep them.
const COUNTERS: [&str; 4] = ["s0", "s1", "s2", "s3"];

/// As much of a jump as stands before its label.
const CONDITIONS: [&str; 16] = [
    "eq t3, t4,",
    "ne t3, t4,",
    "lt t3, t4,",
    "ge t3, t4,",
    "ltu t3, t4,",
    "geu t3, t4,",
    "lt t4, t3,",
    "geu t4, t3,",
    "eqz t3,",
    "gez t3,",
    "lt a2, a3,",
    "geu a3, a2,",
    "eq a4, t4,",
    "nez a0,",
    "ltz s8,",
    "ltu a1, t4,",
];

const NUMBERS: [i64; 14] = [0, 1, 2, 3, 5, 7, 8, 15, 255, -1, -2048, 2047, 0x7fff_ffff, -0x8000_0000];

/// Shared code that is jumped to with a return address in t0, as compilers have it at the ends of functions.
const SHARED: usize = 2;

struct RiscV {
    text: Text,
    wide: bool,
    /// Of the shared pieces of code, how many were used.
    shared: usize,
}

pub fn lines(seed: u64, wide: bool) -> Vec<String> {
    let mut writer = RiscV { text: Text::new(seed), wide, shared: 0 };
    writer.program();
    writer.text.lines
}

impl RiscV {
    /// Bytes of a register.
    fn bytes(&self) -> u64 {
        if self.wide {
            8
        } else {
            4
        }
    }

    fn load(&self) -> &'static str {
        if self.wide {
            "ld"
        } else {
            "lw"
        }
    }

    fn store(&self) -> &'static str {
        if self.wide {
            "sd"
        } else {
            "sw"
        }
    }

    fn program(&mut self) {
        for line in [".text", ".globl entry", ".type entry, @function", "entry:"] {
            put!(self, "{line}");
        }
        let kept = ["ra", "s0", "s1", "s2", "s3", "s8"];
        let frame = LOCALS + 64;
        let place = |index: usize, bytes: u64| LOCALS + bytes * index as u64;
        put!(self, "addi sp, sp, -{frame}");
        for (index, register) in kept.iter().enumerate() {
            put!(self, "{} {register}, {}(sp)", self.store(), place(index, self.bytes()));
        }
        put!(self, "andi a0, a0, 7");
        put!(self, "andi a1, a1, 7");
        put!(self, "lla t1, bytes");
        for at in 0..8 {
            let number = (0..4)
                .fold(0u32, |number, _| number << 8 | self.text.random.pick(&[0u32, 1, 2, 5, 15, 0x7f, 0x80, 0xff]));
            put!(self, "li t2, {}", number as i32);
            put!(self, "sw t2, {}(t1)", 4 * at);
        }
        for at in 0..LOCALS / 4 {
            put!(self, "li t2, {}", self.text.random.below(100));
            put!(self, "sw t2, {}(sp)", 4 * at);
        }
        put!(self, "mv t3, a0");
        put!(self, "mv t4, a1");
        for to in ["a2", "a3", "a4", "s8"] {
            put!(self, "mv {to}, {}", self.text.random.pick(&["a0", "a1"]));
            match self.text.random.below(5) {
                0 => put!(self, "addi {to}, {to}, -{}", self.text.random.below(16)),
                1 => put!(self, "slli {to}, {to}, {}", self.text.random.below(31)),
                2 => {
                    put!(self, "addi {to}, {to}, -{}", self.text.random.below(16));
                    put!(self, "neg {to}, {to}");
                }
                3 if self.wide => put!(self, "slliw {to}, {to}, {}", 20 + self.text.random.below(12)),
                _ => {}
            }
        }
        for _ in 0..3 + self.text.random.below(3) {
            self.statement(2);
        }
        for (index, register) in kept.iter().enumerate() {
            put!(self, "{} {register}, {}(sp)", self.load(), place(index, self.bytes()));
        }
        put!(self, "addi sp, sp, {frame}");
        put!(self, "ret");
        self.text.inner = true;
        for number in 0..2 {
            self.function(&format!("inner{number}"), "ret");
        }
        for number in 0..SHARED {
            self.function(&format!("shared{number}"), "jr t0");
        }
    }

    fn function(&mut self, name: &str, end: &str) {
        put!(self, ".type {name}, @function");
        put!(self, "{name}:");
        for _ in 0..1 + self.text.random.below(3) {
            self.operation();
        }
        if self.text.random.once_in(2) {
            self.compare();
        }
        put!(self, "{end}");
    }

    fn data(&mut self) -> &'static str {
        self.text.random.pick(&DATA)
    }

    /// The address of an access to `bytes` bytes, as it stands in an instruction.
    fn place(&mut self, bytes: u64) -> String {
        match self.text.random.below(if self.text.inner { 2 } else { 4 }) {
            0 => {
                put!(self, "lla t1, bytes");
                format!("{}(t1)", bytes * self.text.random.below(32 / bytes))
            }
            1 => {
                let register = self.data();
                put!(self, "lla t1, bytes");
                put!(self, "andi t2, {register}, {}", self.text.random.pick(&[1, 3, 7, 12, 15]) / bytes * bytes);
                put!(self, "add t1, t1, t2");
                "0(t1)".to_string()
            }
            2 => format!("{}(sp)", bytes * self.text.random.below(LOCALS / bytes)),
            _ => {
                put!(self, "addi t1, sp, {}", bytes.max(4) * self.text.random.below(LOCALS / 2 / bytes.max(4)));
                format!("{}(t1)", bytes * self.text.random.below(32 / bytes))
            }
        }
    }

    fn table(&mut self, depth: u32) {
        let from = self.data();
        let (table, end) = (self.text.label(), self.text.label());
        let cases: Vec<String> = (0..4).map(|_| self.text.label()).collect();
        // Relative to the table, or absolute.
        let relative = self.text.random.once_in(2);
        let (shift, load, word) = match (self.wide, relative) {
            (true, false) => (3, "ld", ".dword"),
            _ => (2, "lw", ".word"),
        };
        if self.text.random.once_in(2) {
            put!(self, "andi t1, {from}, 3");
        } else {
            put!(self, "andi t1, {from}, 7");
            put!(self, "li t2, 3");
            put!(self, "bgtu t1, t2, {end}");
        }
        put!(self, "slli t1, t1, {shift}");
        put!(self, "lla t2, {table}");
        put!(self, "add t1, t1, t2");
        put!(self, "{load} t1, 0(t1)");
        if relative {
            put!(self, "add t1, t1, t2");
        }
        put!(self, "jr t1");
        put!(self, ".balign 8");
        put!(self, "{table}:");
        for case in &cases {
            put!(self, "{word} {case}{}", if relative { format!(" - {table}") } else { String::new() });
        }
        self.cases(cases, &end, depth);
    }

    /// Cuts a counter to a width at which it wraps early.
    fn narrow(&mut self, counter: &str, to: &str) {
        let bits = 8 * self.bytes();
        match to {
            "byte" => put!(self, "andi {counter}, {counter}, 255"),
            "signed byte" => {
                put!(self, "slli {counter}, {counter}, {}", bits - 8);
                put!(self, "srai {counter}, {counter}, {}", bits - 8);
            }
            "half" => {
                put!(self, "slli {counter}, {counter}, {}", bits - 16);
                put!(self, "srli {counter}, {counter}, {}", bits - 16);
            }
            "word" if self.wide => put!(self, "sext.w {counter}, {counter}"),
            "unsigned word" if self.wide => {
                put!(self, "slli {counter}, {counter}, 32");
                put!(self, "srli {counter}, {counter}, 32");
            }
            _ => {}
        }
    }

    fn repeat(&mut self, depth: u32) {
        let counter = COUNTERS[self.text.loops];
        self.text.loops += 1;
        let (top, end) = (self.text.label(), self.text.label());
        if self.text.random.once_in(2) {
            put!(self, "li {counter}, {}", self.text.random.pick(&[0i64, 1, 3, 9, 15, 250, -0x100_0000, 0x7fff_fff0]));
        } else {
            let from = self.data();
            put!(self, "andi {counter}, {from}, {}", self.text.random.pick(&[3, 7, 15, 12]));
            if self.text.random.once_in(3) {
                put!(self, "addi {counter}, {counter}, -{}", self.text.random.below(9));
            }
        }
        let width = self.text.random.pick(&["", "", "byte", "signed byte", "half", "word", "word", "unsigned word"]);
        let slot = self.text.random.once_in(4).then(|| self.text.random.below(LOCALS));
        if let Some(slot) = slot {
            put!(self, "sb {counter}, {slot}(sp)");
        }
        let kind = self.text.random.below(5);
        let step = self.text.random.pick(&[1, 1, 1, 2, 3, 5]);
        let limit = self.text.random.pick(&[5, 10, 16, 20, 0, 3, 127]);
        let up = self.text.random.once_in(2);
        put!(self, "{top}:");
        if kind == 0 {
            put!(self, "li t2, {limit}");
            let leave = self.text.random.pick(&if up {
                ["geu", "ge", "eq", "gtu", "gt"]
            } else {
                ["leu", "le", "eq", "lt", "ltu"]
            });
            put!(self, "b{leave} {counter}, t2, {end}");
        }
        self.statements(depth - 1);
        if self.text.random.once_in(3) {
            let condition = self.compare();
            put!(self, "b{condition} {end}");
        }
        if let Some(slot) = slot {
            put!(self, "{} {counter}, {slot}(sp)", self.text.random.pick(&["lbu", "lbu", "lb"]));
        }
        if self.text.random.once_in(8) {
            put!(self, "ori {counter}, {counter}, 1");
        }
        let word = if self.wide { self.text.random.pick(&["", "w"]) } else { "" };
        if kind == 4 {
            put!(self, "{}{word} {counter}, {counter}, {step}", self.text.random.pick(&["srli", "srai", "slli"]));
        } else {
            let sign = if up && kind != 3 { "" } else { "-" };
            put!(self, "addi{word} {counter}, {counter}, {sign}{step}");
        }
        if let Some(slot) = slot {
            put!(self, "sb {counter}, {slot}(sp)");
        }
        self.narrow(counter, width);
        match kind {
            4 => put!(self, "bnez {counter}, {top}"),
            3 => put!(self, "b{} {counter}, {top}", self.text.random.pick(&["gez", "gtz", "nez"])),
            0 => put!(self, "j {top}"),
            2 => {
                // By way of a register that holds what is true.
                let name = self.text.random.pick(&["slti", "sltiu"]);
                put!(self, "{name} t2, {counter}, {limit}");
                put!(self, "b{} t2, {top}", if up { "nez" } else { "eqz" });
            }
            _ => {
                put!(self, "li t2, {limit}");
                let on = self.text.random.pick(&if up {
                    ["ltu", "lt", "ne", "leu", "le"]
                } else {
                    ["gtu", "gt", "ne", "ge", "geu"]
                });
                put!(self, "b{on} {counter}, t2, {top}");
            }
        }
        put!(self, "{end}:");
    }

    fn access(&mut self) {
        let a = self.data();
        let sizes: &[u64] = if self.wide { &[1, 2, 4, 8] } else { &[1, 2, 4] };
        let bytes = self.text.random.pick(sizes);
        let place = self.place(bytes);
        let names: &[&str] = match (bytes, self.text.random.once_in(2)) {
            (1, true) => &["sb"],
            (2, true) => &["sh"],
            (4, true) => &["sw"],
            (_, true) => &["sd"],
            (1, false) => &["lbu", "lb"],
            (2, false) => &["lhu", "lh"],
            (4, false) if self.wide => &["lw", "lwu"],
            (4, false) => &["lw"],
            (_, false) => &["ld"],
        };
        put!(self, "{} {a}, {place}", self.text.random.pick(names));
    }

    fn atomic(&mut self) {
        let (a, b) = (self.data(), self.data());
        let at = 4 * self.text.random.below(8);
        if self.text.inner || self.text.random.once_in(2) {
            put!(self, "lla t1, bytes");
            put!(self, "addi t1, t1, {at}");
        } else {
            put!(self, "addi t1, sp, {at}");
        }
        if self.text.random.once_in(4) {
            put!(self, "lr.w {a}, (t1)");
            put!(self, "sc.w t2, {b}, (t1)");
            put!(self, "add {b}, {b}, t2");
        } else {
            let name = self.text.random.pick(&["add", "swap", "and", "or", "xor", "max", "minu"]);
            put!(self, "amo{name}.w {}, {b}, (t1)", self.text.random.pick(&[a, "zero"]));
        }
    }
}

impl Writer for RiscV {
    const CALL: &'static str = "call";
    const JUMP: &'static str = "j";
    const BRANCH: &'static str = "b";
    const CONDITIONS: &'static [&'static str] = &CONDITIONS;

    fn text(&mut self) -> &mut Text {
        &mut self.text
    }

    fn statement(&mut self, depth: u32) {
        match self.text.random.below(if depth > 0 { 12 } else { 5 }) {
            0..=3 => self.operation(),
            4 => self.call(),
            5..=7 => self.choice(depth),
            8 if self.text.random.once_in(2) => self.table(depth),
            9 if self.shared < SHARED => {
                put!(self, "jal t0, shared{}", self.shared);
                self.shared += 1;
            }
            _ if self.text.loops < COUNTERS.len() => self.repeat(depth),
            _ => self.operation(),
        }
    }

    fn operation(&mut self) {
        let (a, b, c) = (self.data(), self.data(), self.data());
        let word = if self.wide { self.text.random.pick(&["", "w"]) } else { "" };
        let bits = if self.wide && word.is_empty() { 64 } else { 32 };
        match self.text.random.below(16) {
            0 => put!(self, "li {a}, {}", self.text.random.pick(&NUMBERS)),
            1 | 2 => {
                let name = self.text.random.pick(&["add", "sub", "sll", "srl", "sra"]);
                put!(self, "{name}{word} {a}, {b}, {c}");
            }
            3 => {
                let name = self.text.random.pick(&["xor", "or", "and", "slt", "sltu"]);
                put!(self, "{name} {a}, {b}, {c}");
            }
            4 => {
                let name = self.text.random.pick(&["andi", "ori", "xori", "slti", "sltiu"]);
                put!(self, "{name} {a}, {b}, {}", self.text.random.pick(&[0, 1, 3, 15, 255, -1, -8, 2047, -2048]));
            }
            5 => put!(self, "addi{word} {a}, {b}, {}", self.text.random.pick(&[0, 1, -1, 7, -16, 2047, -2048])),
            6 => {
                let name = self.text.random.pick(&["slli", "srli", "srai"]);
                put!(self, "{name}{word} {a}, {b}, {}", self.text.random.below(bits));
            }
            7 => {
                let to = self.text.random.pick(&["byte", "signed byte", "half", "word", "unsigned word"]);
                self.narrow(a, to);
            }
            8 => {
                let condition = self.compare();
                let end = self.text.label();
                put!(self, "b{condition} {end}");
                put!(self, "mv {a}, {b}");
                put!(self, "{end}:");
            }
            9..=11 => self.access(),
            12 if !self.text.inner => {
                put!(self, "addi sp, sp, -16");
                put!(self, "{} {a}, 8(sp)", self.store());
                put!(self, "{} {b}, 8(sp)", self.load());
                put!(self, "addi sp, sp, 16");
            }
            13 => self.atomic(),
            14 => {
                let name = self.text.random.pick(&["mul", "div", "divu", "rem", "remu"]);
                put!(self, "{name}{word} {a}, {b}, {c}");
            }
            15 => put!(self, "{} {a}, {b}, {c}", self.text.random.pick(&["mulh", "mulhu", "mulhsu"])),
            _ => {
                put!(self, "lla t1, bytes");
                put!(self, "addi t1, t1, {}", 4 * self.text.random.below(4));
                put!(self, "{}", self.text.random.pick(&["lw t2, 4(t1)", "lbu t2, 3(t1)", "sw t1, 4(t1)"]));
                put!(self, "lbu {a}, 5(t1)");
            }
        }
    }

    fn new_compare(&mut self) -> String {
        let (a, b) = (self.data(), self.data());
        match self.text.random.below(4) {
            0 => format!("mv t3, {a}; mv t4, {b}"),
            1 => format!("mv t3, {a}; li t4, {}", self.text.random.pick(&NUMBERS)),
            2 => format!("and t3, {a}, {b}; mv t4, {b}"),
            _ => format!("slti t3, {a}, {}; li t4, 1", self.text.random.pick(&[0, 1, 5, 100, -3])),
        }
    }

    fn after_compare(&mut self) {
        if self.text.random.once_in(6) {
            let (to, from) = (self.data(), self.data());
            put!(self, "addi {to}, {from}, 1");
        }
    }

    fn count_down(&mut self, from: u64, top: &str) {
        put!(self, "li t5, {from}");
        put!(self, "{top}:");
        put!(self, "addi t5, t5, -1");
        put!(self, "bnez t5, {top}");
    }
}
