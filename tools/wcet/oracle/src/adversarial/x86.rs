//! Programs for x86-64.

use super::random::Random;
use super::writer::{put, Text, Writer, LOCALS};

/// Registers for data, by their names for 8, 4, 2 and 1 bytes.
const DATA: [[&str; 4]; 8] = [
    ["rax", "eax", "ax", "al"],
    ["rdx", "edx", "dx", "dl"],
    ["rsi", "esi", "si", "sil"],
    ["rdi", "edi", "di", "dil"],
    ["r8", "r8d", "r8w", "r8b"],
    ["r9", "r9d", "r9w", "r9b"],
    ["r10", "r10d", "r10w", "r10b"],
    ["r11", "r11d", "r11w", "r11b"],
];

/// Registers that count loops; functions keep them.
const COUNTERS: [[&str; 4]; 4] = [
    ["rbx", "ebx", "bx", "bl"],
    ["rbp", "ebp", "bp", "bpl"],
    ["r12", "r12d", "r12w", "r12b"],
    ["r13", "r13d", "r13w", "r13b"],
];

const SUFFIXES: [&str; 4] = ["q", "l", "w", "b"];
const CONDITIONS: [&str; 16] = ["o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"];
const NUMBERS: [i64; 16] = [0, 1, 2, 3, 5, 7, 8, 13, 15, 16, 100, 127, -1, -2, -8, -128];

struct X86 {
    text: Text,
    /// Bytes pushed since the locals were made.
    pushed: u64,
}

pub fn lines(seed: u64) -> Vec<String> {
    let mut writer = X86 { text: Text::new(seed), pushed: 0 };
    writer.program();
    writer.text.lines
}

impl X86 {
    fn line(&mut self, text: impl Into<String>) {
        self.text.lines.push(text.into());
    }

    fn program(&mut self) {
        for line in [".text", ".globl entry", ".type entry, @function", "entry:"] {
            self.line(line);
        }
        for [register, ..] in COUNTERS {
            put!(self, "push %{register}");
        }
        put!(self, "sub ${LOCALS}, %rsp");
        self.line("and $7, %edi");
        self.line("and $7, %esi");
        for at in 0..4 {
            put!(self, "movabs ${:#x}, %rax", eight_bytes(&mut self.text.random));
            put!(self, "mov %rax, bytes+{}", 8 * at);
        }
        for at in 0..LOCALS / 8 {
            put!(self, "movq ${}, {}(%rsp)", self.text.random.below(100), 8 * at);
        }
        for [name, ..] in [DATA[0], DATA[1], DATA[4], DATA[5], DATA[6], DATA[7]] {
            let from = self.text.random.pick(&["edi", "esi"]);
            let to = DATA.iter().find(|one| one[0] == name).map_or("eax", |one| one[1]);
            put!(self, "mov %{from}, %{to}");
            match self.text.random.below(5) {
                0 => put!(self, "sub ${}, %{to}", self.text.random.below(16)),
                1 => put!(self, "shl ${}, %{to}", self.text.random.below(31)),
                2 => put!(self, "imul ${:#x}, %{to}, %{to}", 0x1111_1111_u32 * self.text.random.below(7) as u32),
                3 => put!(self, "sub ${}, %{name}", self.text.random.below(16)),
                _ => {}
            }
        }
        let count = 3 + self.text.random.below(3);
        for _ in 0..count {
            self.statement(2);
        }
        put!(self, "add ${LOCALS}, %rsp");
        for [register, ..] in COUNTERS.iter().rev() {
            put!(self, "pop %{register}");
        }
        self.line("cld");
        self.line("ret");
        self.text.inner = true;
        for number in 0..2 {
            put!(self, ".type inner{number}, @function");
            put!(self, "inner{number}:");
            for _ in 0..1 + self.text.random.below(3) {
                self.operation();
            }
            if self.text.random.once_in(2) {
                self.compare();
            }
            self.line("ret");
        }
    }

    /// A register's name in a width, and the width's suffix.
    fn data(&mut self, width: usize) -> &'static str {
        if width == 3 && self.text.random.once_in(4) {
            return self.text.random.pick(&["ah", "dh"]);
        }
        self.text.random.pick(&DATA)[width]
    }

    fn local(&mut self, bytes: u64) -> String {
        format!("{}(%rsp)", self.pushed + self.text.random.below(LOCALS - bytes + 1))
    }

    /// An operand in memory for `bytes` bytes; its address may depend on a register.
    fn place(&mut self, bytes: u64) -> String {
        let choice = self.text.random.below(if self.text.inner { 2 } else { 4 });
        match choice {
            0 => format!("bytes+{}", self.text.random.below(33 - bytes)),
            1 => {
                let register = self.text.random.pick(&DATA);
                put!(self, "mov %{}, %ecx", register[1]);
                put!(self, "and ${}, %ecx", self.text.random.pick(&[1, 3, 7, 12, 15]));
                format!("bytes+{}(%rcx)", self.text.random.below(17 - bytes))
            }
            2 => self.local(bytes),
            _ => {
                let offset = self.pushed + self.text.random.below(LOCALS - 16);
                put!(self, "lea {offset}(%rsp), %rcx");
                format!("{}(%rcx)", self.text.random.below(17 - bytes))
            }
        }
    }

    /// Instructions that are seldom met.
    fn rare(&mut self) {
        let (a, b) = (self.text.random.pick(&DATA), self.text.random.pick(&DATA));
        match self.text.random.below(8) {
            0 => put!(self, "xchg %{}, %{}", a[1], b[1]),
            1 => {
                let place = self.place(4);
                put!(self, "lock xadd %{}, {place}", a[1]);
            }
            2 => {
                let place = self.place(4);
                put!(self, "lock cmpxchg %{}, {place}", a[1]);
            }
            3 => {
                let name = self.text.random.pick(&["bt", "bts", "btr", "btc"]);
                put!(self, "{name} %{}, %{}", a[1], b[1]);
            }
            4 => {
                put!(self, "or $16, %{}", a[1]);
                let name = self.text.random.pick(&["bsf", "bsr"]);
                put!(self, "{name} %{}, %{}", a[1], b[1]);
            }
            5 => {
                put!(self, "mov %{}, %ecx", a[1]);
                self.line("or $1, %ecx");
                self.line("xor %edx, %edx");
                self.line("div %ecx");
            }
            6 => {
                let name = self.text.random.pick(&["mul", "imul"]);
                put!(self, "{name}l %{}", a[1]);
            }
            _ => put!(self, "bswap %{}", a[1]),
        }
    }

    fn table(&mut self, depth: u32) {
        let from = self.text.random.pick(&DATA)[1];
        let (table, end) = (self.text.label(), self.text.label());
        let cases: Vec<String> = (0..4).map(|_| self.text.label()).collect();
        put!(self, "mov %{from}, %ecx");
        self.line("and $3, %ecx");
        put!(self, "jmp *{table}(,%rcx,8)");
        self.line(".section .rodata");
        self.line(".balign 8");
        put!(self, "{table}: .quad {}", cases.join(", "));
        self.line(".text");
        self.cases(cases, &end, depth);
    }

    fn string(&mut self) {
        let saved = self.text.random.pick(&["r8", "r9"]);
        put!(self, "mov %rdi, %{saved}");
        let from = self.text.random.pick(&DATA)[1];
        put!(self, "mov %{from}, %ecx");
        put!(self, "and ${}, %ecx", self.text.random.pick(&[3, 7, 15]));
        let back = self.text.random.once_in(3);
        let at = if back { 24 } else { self.text.random.below(12) };
        put!(self, "mov $bytes+{at}, %edi");
        if back {
            self.line("std");
        }
        match self.text.random.below(4) {
            0 => self.line("rep stosb"),
            1 => {
                put!(self, "mov $bytes+{}, %esi", at ^ self.text.random.below(4));
                self.line("rep movsb");
            }
            2 => self.line("repne scasb"),
            _ => {
                put!(self, "mov $bytes+{}, %esi", at ^ self.text.random.below(4));
                self.line("repe cmpsb");
            }
        }
        self.line("cld");
        put!(self, "mov %{saved}, %rdi");
        // What is left of the count decides on more.
        if self.text.random.once_in(2) {
            let end = self.text.label();
            put!(self, "jecxz {end}");
            self.operation();
            put!(self, "{end}:");
        }
    }

    fn repeat(&mut self, depth: u32) {
        let counter = COUNTERS[self.text.loops];
        self.text.loops += 1;
        let (top, end) = (self.text.label(), self.text.label());
        let width = self.text.random.below(4) as usize;
        let (suffix, name) = (SUFFIXES[width], counter[width]);
        let in_memory = self.text.random.once_in(4);
        let slot = self.pushed + 8 * self.text.random.below(LOCALS / 8);
        let held = if in_memory { format!("{slot}(%rsp)") } else { format!("%{name}") };
        // Where it starts: a number, or some bits of a register.
        if self.text.random.once_in(2) {
            let number = self.text.random.pick(&[0i64, 1, 3, 9, 15, -3, -12, 250]);
            put!(self, "mov ${number}, %{}", counter[1]);
        } else {
            let from = self.text.random.pick(&DATA)[1];
            put!(self, "mov %{from}, %{}", counter[1]);
            put!(self, "and ${}, %{}", self.text.random.pick(&[3, 7, 15, 12]), counter[1]);
            if self.text.random.once_in(3) {
                put!(self, "sub ${}, %{}", self.text.random.below(9), counter[0]);
            }
        }
        if in_memory {
            put!(self, "mov %{}, {slot}(%rsp)", counter[0]);
        }
        let kind = self.text.random.below(5);
        let step = self.text.random.pick(&[1, 1, 1, 2, 3, 5]);
        let limit = self.text.random.pick(&[5i64, 10, 16, 20, 0, -1, 3, 127]);
        let up = self.text.random.once_in(2);
        let condition =
            self.text.random.pick(&if up { ["b", "l", "ne", "be", "le"] } else { ["a", "g", "ne", "ns", "ge"] });
        put!(self, "{top}:");
        let before = kind == 0;
        if before {
            put!(self, "cmp{suffix} ${limit}, {held}");
            let leave =
                self.text.random.pick(&if up { ["ae", "ge", "e", "a", "g"] } else { ["be", "le", "e", "s", "l"] });
            put!(self, "j{leave} {end}");
        }
        self.statements(depth - 1);
        if self.text.random.once_in(3) {
            let condition = self.compare();
            put!(self, "j{condition} {end}");
        }
        if self.text.random.once_in(8) {
            // The counter's value goes elsewhere, or part of it changes.
            let text = match self.text.random.below(3) {
                0 => format!("or{suffix} $1, {held}"),
                1 => format!("mov %{}, %eax", counter[1]),
                _ => format!("incb {}", if in_memory { held.clone() } else { format!("%{}", counter[3]) }),
            };
            self.line(text);
        }
        match kind {
            4 => {
                let name = self.text.random.pick(&["shr", "sar", "shl"]);
                put!(self, "{name}{suffix} ${step}, {held}");
                put!(self, "jnz {top}");
            }
            3 => {
                put!(self, "sub{suffix} ${step}, {held}");
                let condition = self.text.random.pick(&["ae", "a", "g", "ns", "nz", "ge", "no"]);
                put!(self, "j{condition} {top}");
            }
            _ => {
                let change = if up { "add" } else { "sub" };
                put!(self, "{change}{suffix} ${step}, {held}");
                if before {
                    put!(self, "jmp {top}");
                } else {
                    put!(self, "cmp{suffix} ${limit}, {held}");
                    put!(self, "j{condition} {top}");
                }
            }
        }
        put!(self, "{end}:");
    }
}

impl Writer for X86 {
    const CALL: &'static str = "call";
    const JUMP: &'static str = "jmp";
    const BRANCH: &'static str = "j";
    const CONDITIONS: &'static [&'static str] = &CONDITIONS;

    fn text(&mut self) -> &mut Text {
        &mut self.text
    }

    fn statement(&mut self, depth: u32) {
        match self.text.random.below(if depth > 0 { 12 } else { 6 }) {
            0..=3 => self.operation(),
            4 => self.string(),
            5 => self.call(),
            6..=8 => self.choice(depth),
            9 if self.text.random.once_in(2) => self.table(depth),
            _ if self.text.loops < COUNTERS.len() => self.repeat(depth),
            _ => self.operation(),
        }
    }

    fn operation(&mut self) {
        let width = self.text.random.below(4) as usize;
        let suffix = SUFFIXES[width];
        let bytes = 8 >> width;
        // A high byte needs a partner without a prefix.
        let (mut a, mut b) = (self.data(width), self.data(width));
        if a.ends_with('h') || b.ends_with('h') {
            (a, b) =
                (self.text.random.pick(&["ah", "dh", "al", "dl"]), self.text.random.pick(&["ah", "dh", "al", "dl"]));
        }
        let number = self.text.random.pick(&NUMBERS);
        match self.text.random.below(18) {
            0 => put!(self, "mov{suffix} ${number}, %{a}"),
            1 | 2 => {
                let name = self.text.random.pick(&["add", "sub", "and", "or", "xor", "mov", "adc", "sbb"]);
                put!(self, "{name}{suffix} %{b}, %{a}");
            }
            3 => {
                let name = self.text.random.pick(&["add", "sub", "and", "or", "xor", "adc", "sbb"]);
                put!(self, "{name}{suffix} ${number}, %{a}");
            }
            4 => {
                let name = self.text.random.pick(&["shl", "shr", "sar", "rol", "ror"]);
                let count = self.text.random.below(34);
                put!(self, "{name}{suffix} ${count}, %{a}");
            }
            5 => {
                let from = self.text.random.pick(&DATA)[1];
                put!(self, "mov %{from}, %ecx");
                let name = self.text.random.pick(&["shl", "shr", "sar", "rol", "ror", "rcl", "rcr"]);
                put!(self, "{name}{suffix} %cl, %{a}");
            }
            6 => {
                let (to, from) = (self.text.random.pick(&DATA), self.text.random.pick(&DATA));
                let text = match self.text.random.below(5) {
                    0 => format!("movzbl %{}, %{}", from[3], to[1]),
                    1 => format!("movsbl %{}, %{}", from[3], to[1]),
                    2 => format!("movswl %{}, %{}", from[2], to[1]),
                    3 => format!("movslq %{}, %{}", from[1], to[0]),
                    _ => format!("movsbw %{}, %{}", from[3], to[2]),
                };
                self.line(text);
            }
            7 => {
                let name = self.text.random.pick(&["neg", "not", "inc", "dec"]);
                put!(self, "{name}{suffix} %{a}");
            }
            8 => {
                let condition = self.compare();
                let to = self.text.random.pick(&DATA)[3];
                put!(self, "set{condition} %{to}");
            }
            9 => {
                let condition = self.compare();
                let (to, from) = (self.text.random.pick(&DATA), self.text.random.pick(&DATA));
                let width = self.text.random.below(3) as usize;
                put!(self, "cmov{condition} %{}, %{}", from[width], to[width]);
            }
            10 | 11 => {
                let place = self.place(bytes);
                put!(self, "mov{suffix} %{a}, {place}");
            }
            12 | 13 => {
                let place = self.place(bytes);
                let name = self.text.random.pick(&["mov", "mov", "add", "sub", "xor"]);
                put!(self, "{name}{suffix} {place}, %{a}");
            }
            14 => {
                let place = self.place(bytes);
                let name = self.text.random.pick(&["add", "sub", "and", "or"]);
                put!(self, "{name}{suffix} ${number}, {place}");
            }
            15 => {
                let (from, to) = (self.text.random.pick(&DATA)[0], self.text.random.pick(&DATA)[0]);
                put!(self, "push %{from}");
                self.pushed += 8;
                if self.text.random.once_in(2) && !self.text.inner {
                    let place = self.local(bytes);
                    put!(self, "add{suffix} ${number}, {place}");
                }
                self.pushed -= 8;
                put!(self, "pop %{to}");
            }
            16 => {
                let (one, other, to) =
                    (self.text.random.pick(&DATA), self.text.random.pick(&DATA), self.text.random.pick(&DATA));
                let scale = self.text.random.pick(&[1, 2, 4, 8]);
                put!(self, "lea {number}(%{},%{},{scale}), %{}", one[0], other[0], to[1]);
            }
            _ => self.rare(),
        }
    }

    fn new_compare(&mut self) -> String {
        let width = self.text.random.below(4) as usize;
        let suffix = SUFFIXES[width];
        let name = self.text.random.pick(&["cmp", "cmp", "cmp", "test"]);
        let a = self.text.random.pick(&DATA)[width];
        if self.text.random.once_in(2) {
            let b = self.text.random.pick(&DATA)[width];
            format!("{name}{suffix} %{b}, %{a}")
        } else {
            let number = self.text.random.pick(&NUMBERS);
            format!("{name}{suffix} ${number}, %{a}")
        }
    }

    /// What leaves all flags, or all but carry, as they are.
    fn after_compare(&mut self) {
        match self.text.random.below(8) {
            0 => {
                let (to, from) = (self.text.random.pick(&DATA)[1], self.text.random.pick(&DATA)[1]);
                put!(self, "mov %{from}, %{to}");
            }
            1 => {
                let to = self.text.random.pick(&DATA)[1];
                put!(self, "inc %{to}");
            }
            2 => {
                let to = self.text.random.pick(&DATA)[0];
                put!(self, "lea 1(%{to}), %{to}");
            }
            _ => {}
        }
    }

    fn count_down(&mut self, from: u64, top: &str) {
        put!(self, "mov ${from}, %ecx");
        put!(self, "{top}:");
        self.line("dec %ecx");
        put!(self, "jnz {top}");
    }
}

/// Bytes for memory at the start.
fn eight_bytes(random: &mut Random) -> u64 {
    (0..8).fold(0, |number, _| number << 8 | random.pick(&[0, 1, 2, 5, 15, 0x7f, 0x80, 0xff]))
}
