//! Programs for x86-64.

use super::random::Random;

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

/// Bytes of the function's own part of the stack.
const LOCALS: u64 = 64;

/// Writes a line; choices may be made in its arguments.
macro_rules! put {
    ($writer:ident, $($text:tt)*) => {{
        let text = format!($($text)*);
        $writer.lines.push(text)
    }};
}

struct Writer {
    random: Random,
    lines: Vec<String>,
    labels: u32,
    loops: usize,
    /// Bytes pushed since the locals were made.
    pushed: u64,
    /// The compare that was made last, to be made again.
    compared: Option<String>,
    /// In a function that others call.
    inner: bool,
}

pub fn lines(seed: u64) -> Vec<String> {
    let mut writer = Writer {
        random: Random::new(seed),
        lines: Vec::new(),
        labels: 0,
        loops: 0,
        pushed: 0,
        compared: None,
        inner: false,
    };
    writer.program();
    writer.lines
}

impl Writer {
    fn line(&mut self, text: impl Into<String>) {
        self.lines.push(text.into());
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!(".Ladv{}", self.labels)
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
            put!(self, "movabs ${:#x}, %rax", eight_bytes(&mut self.random));
            put!(self, "mov %rax, bytes+{}", 8 * at);
        }
        for at in 0..LOCALS / 8 {
            put!(self, "movq ${}, {}(%rsp)", self.random.below(100), 8 * at);
        }
        for [name, ..] in [DATA[0], DATA[1], DATA[4], DATA[5], DATA[6], DATA[7]] {
            let from = self.random.pick(&["edi", "esi"]);
            let to = DATA.iter().find(|one| one[0] == name).map_or("eax", |one| one[1]);
            put!(self, "mov %{from}, %{to}");
            match self.random.below(5) {
                0 => put!(self, "sub ${}, %{to}", self.random.below(16)),
                1 => put!(self, "shl ${}, %{to}", self.random.below(31)),
                2 => put!(self, "imul ${:#x}, %{to}, %{to}", 0x1111_1111_u32 * self.random.below(7) as u32),
                3 => put!(self, "sub ${}, %{name}", self.random.below(16)),
                _ => {}
            }
        }
        let count = 3 + self.random.below(3);
        for _ in 0..count {
            self.statement(2);
        }
        put!(self, "add ${LOCALS}, %rsp");
        for [register, ..] in COUNTERS.iter().rev() {
            put!(self, "pop %{register}");
        }
        self.line("cld");
        self.line("ret");
        self.inner = true;
        for number in 0..2 {
            put!(self, ".type inner{number}, @function");
            put!(self, "inner{number}:");
            for _ in 0..1 + self.random.below(3) {
                self.operation();
            }
            if self.random.once_in(2) {
                self.compare();
            }
            self.line("ret");
        }
    }

    fn statement(&mut self, depth: u32) {
        match self.random.below(if depth > 0 { 12 } else { 6 }) {
            0..=3 => self.operation(),
            4 => self.string(),
            5 => self.call(),
            6..=8 => self.choice(depth),
            9 if self.random.once_in(2) => self.table(depth),
            _ if self.loops < COUNTERS.len() => self.repeat(depth),
            _ => self.operation(),
        }
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..1 + self.random.below(2) {
            self.statement(depth);
        }
    }

    /// A register's name in a width, and the width's suffix.
    fn data(&mut self, width: usize) -> &'static str {
        if width == 3 && self.random.once_in(4) {
            return self.random.pick(&["ah", "dh"]);
        }
        self.random.pick(&DATA)[width]
    }

    fn local(&mut self, bytes: u64) -> String {
        format!("{}(%rsp)", self.pushed + self.random.below(LOCALS - bytes + 1))
    }

    /// An operand in memory for `bytes` bytes; its address may depend on a register.
    fn place(&mut self, bytes: u64) -> String {
        let choice = self.random.below(if self.inner { 2 } else { 4 });
        match choice {
            0 => format!("bytes+{}", self.random.below(33 - bytes)),
            1 => {
                let register = self.random.pick(&DATA);
                put!(self, "mov %{}, %ecx", register[1]);
                put!(self, "and ${}, %ecx", self.random.pick(&[1, 3, 7, 12, 15]));
                format!("bytes+{}(%rcx)", self.random.below(17 - bytes))
            }
            2 => self.local(bytes),
            _ => {
                let offset = self.pushed + self.random.below(LOCALS - 16);
                put!(self, "lea {offset}(%rsp), %rcx");
                format!("{}(%rcx)", self.random.below(17 - bytes))
            }
        }
    }

    fn operation(&mut self) {
        let width = self.random.below(4) as usize;
        let suffix = SUFFIXES[width];
        let bytes = 8 >> width;
        // A high byte needs a partner without a prefix.
        let (mut a, mut b) = (self.data(width), self.data(width));
        if a.ends_with('h') || b.ends_with('h') {
            (a, b) = (self.random.pick(&["ah", "dh", "al", "dl"]), self.random.pick(&["ah", "dh", "al", "dl"]));
        }
        let number = self.random.pick(&NUMBERS);
        match self.random.below(18) {
            0 => put!(self, "mov{suffix} ${number}, %{a}"),
            1 | 2 => {
                let name = self.random.pick(&["add", "sub", "and", "or", "xor", "mov", "adc", "sbb"]);
                put!(self, "{name}{suffix} %{b}, %{a}");
            }
            3 => {
                let name = self.random.pick(&["add", "sub", "and", "or", "xor", "adc", "sbb"]);
                put!(self, "{name}{suffix} ${number}, %{a}");
            }
            4 => {
                let name = self.random.pick(&["shl", "shr", "sar", "rol", "ror"]);
                let count = self.random.below(34);
                put!(self, "{name}{suffix} ${count}, %{a}");
            }
            5 => {
                let from = self.random.pick(&DATA)[1];
                put!(self, "mov %{from}, %ecx");
                let name = self.random.pick(&["shl", "shr", "sar", "rol", "ror", "rcl", "rcr"]);
                put!(self, "{name}{suffix} %cl, %{a}");
            }
            6 => {
                let (to, from) = (self.random.pick(&DATA), self.random.pick(&DATA));
                let text = match self.random.below(5) {
                    0 => format!("movzbl %{}, %{}", from[3], to[1]),
                    1 => format!("movsbl %{}, %{}", from[3], to[1]),
                    2 => format!("movswl %{}, %{}", from[2], to[1]),
                    3 => format!("movslq %{}, %{}", from[1], to[0]),
                    _ => format!("movsbw %{}, %{}", from[3], to[2]),
                };
                self.line(text);
            }
            7 => {
                let name = self.random.pick(&["neg", "not", "inc", "dec"]);
                put!(self, "{name}{suffix} %{a}");
            }
            8 => {
                let condition = self.compare();
                let to = self.random.pick(&DATA)[3];
                put!(self, "set{condition} %{to}");
            }
            9 => {
                let condition = self.compare();
                let (to, from) = (self.random.pick(&DATA), self.random.pick(&DATA));
                let width = self.random.below(3) as usize;
                put!(self, "cmov{condition} %{}, %{}", from[width], to[width]);
            }
            10 | 11 => {
                let place = self.place(bytes);
                put!(self, "mov{suffix} %{a}, {place}");
            }
            12 | 13 => {
                let place = self.place(bytes);
                let name = self.random.pick(&["mov", "mov", "add", "sub", "xor"]);
                put!(self, "{name}{suffix} {place}, %{a}");
            }
            14 => {
                let place = self.place(bytes);
                let name = self.random.pick(&["add", "sub", "and", "or"]);
                put!(self, "{name}{suffix} ${number}, {place}");
            }
            15 => {
                let (from, to) = (self.random.pick(&DATA)[0], self.random.pick(&DATA)[0]);
                put!(self, "push %{from}");
                self.pushed += 8;
                if self.random.once_in(2) && !self.inner {
                    let place = self.local(bytes);
                    put!(self, "add{suffix} ${number}, {place}");
                }
                self.pushed -= 8;
                put!(self, "pop %{to}");
            }
            16 => {
                let (one, other, to) = (self.random.pick(&DATA), self.random.pick(&DATA), self.random.pick(&DATA));
                let scale = self.random.pick(&[1, 2, 4, 8]);
                put!(self, "lea {number}(%{},%{},{scale}), %{}", one[0], other[0], to[1]);
            }
            _ => self.rare(),
        }
    }

    /// Instructions that are seldom met.
    fn rare(&mut self) {
        let (a, b) = (self.random.pick(&DATA), self.random.pick(&DATA));
        match self.random.below(8) {
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
                let name = self.random.pick(&["bt", "bts", "btr", "btc"]);
                put!(self, "{name} %{}, %{}", a[1], b[1]);
            }
            4 => {
                put!(self, "or $16, %{}", a[1]);
                let name = self.random.pick(&["bsf", "bsr"]);
                put!(self, "{name} %{}, %{}", a[1], b[1]);
            }
            5 => {
                put!(self, "mov %{}, %ecx", a[1]);
                self.line("or $1, %ecx");
                self.line("xor %edx, %edx");
                self.line("div %ecx");
            }
            6 => {
                let name = self.random.pick(&["mul", "imul"]);
                put!(self, "{name}l %{}", a[1]);
            }
            _ => put!(self, "bswap %{}", a[1]),
        }
    }

    /// Sets flags, and says which condition may be asked.
    fn compare(&mut self) -> &'static str {
        let again = self.compared.clone().filter(|_| self.random.once_in(3));
        let text = again.unwrap_or_else(|| {
            let width = self.random.below(4) as usize;
            let suffix = SUFFIXES[width];
            let name = self.random.pick(&["cmp", "cmp", "cmp", "test"]);
            let a = self.random.pick(&DATA)[width];
            if self.random.once_in(2) {
                let b = self.random.pick(&DATA)[width];
                format!("{name}{suffix} %{b}, %{a}")
            } else {
                let number = self.random.pick(&NUMBERS);
                format!("{name}{suffix} ${number}, %{a}")
            }
        });
        self.line(text.clone());
        self.compared = Some(text);
        // What leaves all flags, or all but carry, as they are.
        match self.random.below(8) {
            0 => {
                let (to, from) = (self.random.pick(&DATA)[1], self.random.pick(&DATA)[1]);
                put!(self, "mov %{from}, %{to}");
            }
            1 => {
                let to = self.random.pick(&DATA)[1];
                put!(self, "inc %{to}");
            }
            2 => {
                let to = self.random.pick(&DATA)[0];
                put!(self, "lea 1(%{to}), %{to}");
            }
            _ => {}
        }
        self.random.pick(&CONDITIONS)
    }

    fn choice(&mut self, depth: u32) {
        let condition = self.compare();
        let (otherwise, end) = (self.label(), self.label());
        put!(self, "j{condition} {otherwise}");
        self.arm(depth);
        put!(self, "jmp {end}");
        put!(self, "{otherwise}:");
        self.arm(depth);
        put!(self, "{end}:");
    }

    /// One side of a choice, some of them long.
    fn arm(&mut self, depth: u32) {
        if self.random.once_in(3) {
            let top = self.label();
            put!(self, "mov ${}, %ecx", 20 + self.random.pick(&[0, 10, 30]));
            put!(self, "{top}:");
            self.line("dec %ecx");
            put!(self, "jnz {top}");
        }
        self.statements(depth - 1);
    }

    fn table(&mut self, depth: u32) {
        let from = self.random.pick(&DATA)[1];
        let (table, end) = (self.label(), self.label());
        let cases: Vec<String> = (0..4).map(|_| self.label()).collect();
        put!(self, "mov %{from}, %ecx");
        self.line("and $3, %ecx");
        put!(self, "jmp *{table}(,%rcx,8)");
        self.line(".section .rodata");
        self.line(".balign 8");
        put!(self, "{table}: .quad {}", cases.join(", "));
        self.line(".text");
        for case in cases {
            put!(self, "{case}:");
            self.statement(depth - 1);
            put!(self, "jmp {end}");
        }
        put!(self, "{end}:");
    }

    fn call(&mut self) {
        let number = self.random.below(2);
        put!(self, "call inner{number}");
        if self.random.once_in(3) {
            // The callee's flags decide.
            let (condition, end) = (self.random.pick(&CONDITIONS), self.label());
            put!(self, "j{condition} {end}");
            self.operation();
            put!(self, "{end}:");
        }
    }

    fn string(&mut self) {
        let saved = self.random.pick(&["r8", "r9"]);
        put!(self, "mov %rdi, %{saved}");
        let from = self.random.pick(&DATA)[1];
        put!(self, "mov %{from}, %ecx");
        put!(self, "and ${}, %ecx", self.random.pick(&[3, 7, 15]));
        let back = self.random.once_in(3);
        let at = if back { 24 } else { self.random.below(12) };
        put!(self, "mov $bytes+{at}, %edi");
        if back {
            self.line("std");
        }
        match self.random.below(4) {
            0 => self.line("rep stosb"),
            1 => {
                put!(self, "mov $bytes+{}, %esi", at ^ self.random.below(4));
                self.line("rep movsb");
            }
            2 => self.line("repne scasb"),
            _ => {
                put!(self, "mov $bytes+{}, %esi", at ^ self.random.below(4));
                self.line("repe cmpsb");
            }
        }
        self.line("cld");
        put!(self, "mov %{saved}, %rdi");
        // What is left of the count decides on more.
        if self.random.once_in(2) {
            let end = self.label();
            put!(self, "jecxz {end}");
            self.operation();
            put!(self, "{end}:");
        }
    }

    fn repeat(&mut self, depth: u32) {
        let counter = COUNTERS[self.loops];
        self.loops += 1;
        let (top, end) = (self.label(), self.label());
        let width = self.random.below(4) as usize;
        let (suffix, name) = (SUFFIXES[width], counter[width]);
        let in_memory = self.random.once_in(4);
        let slot = self.pushed + 8 * self.random.below(LOCALS / 8);
        let held = if in_memory { format!("{slot}(%rsp)") } else { format!("%{name}") };
        // Where it starts: a number, or some bits of a register.
        if self.random.once_in(2) {
            let number = self.random.pick(&[0i64, 1, 3, 9, 15, -3, -12, 250]);
            put!(self, "mov ${number}, %{}", counter[1]);
        } else {
            let from = self.random.pick(&DATA)[1];
            put!(self, "mov %{from}, %{}", counter[1]);
            put!(self, "and ${}, %{}", self.random.pick(&[3, 7, 15, 12]), counter[1]);
            if self.random.once_in(3) {
                put!(self, "sub ${}, %{}", self.random.below(9), counter[0]);
            }
        }
        if in_memory {
            put!(self, "mov %{}, {slot}(%rsp)", counter[0]);
        }
        let kind = self.random.below(5);
        let step = self.random.pick(&[1, 1, 1, 2, 3, 5]);
        let limit = self.random.pick(&[5i64, 10, 16, 20, 0, -1, 3, 127]);
        let up = self.random.once_in(2);
        let condition = self.random.pick(&if up { ["b", "l", "ne", "be", "le"] } else { ["a", "g", "ne", "ns", "ge"] });
        put!(self, "{top}:");
        let before = kind == 0;
        if before {
            put!(self, "cmp{suffix} ${limit}, {held}");
            let leave = self.random.pick(&if up { ["ae", "ge", "e", "a", "g"] } else { ["be", "le", "e", "s", "l"] });
            put!(self, "j{leave} {end}");
        }
        self.statements(depth - 1);
        if self.random.once_in(3) {
            let condition = self.compare();
            put!(self, "j{condition} {end}");
        }
        if self.random.once_in(8) {
            // The counter's value goes elsewhere, or part of it changes.
            let text = match self.random.below(3) {
                0 => format!("or{suffix} $1, {held}"),
                1 => format!("mov %{}, %eax", counter[1]),
                _ => format!("incb {}", if in_memory { held.clone() } else { format!("%{}", counter[3]) }),
            };
            self.line(text);
        }
        match kind {
            4 => {
                let name = self.random.pick(&["shr", "sar", "shl"]);
                put!(self, "{name}{suffix} ${step}, {held}");
                put!(self, "jnz {top}");
            }
            3 => {
                put!(self, "sub{suffix} ${step}, {held}");
                let condition = self.random.pick(&["ae", "a", "g", "ns", "nz", "ge", "no"]);
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

/// Bytes for memory at the start.
fn eight_bytes(random: &mut Random) -> u64 {
    (0..8).fold(0, |number, _| number << 8 | random.pick(&[0, 1, 2, 5, 15, 0x7f, 0x80, 0xff]))
}
