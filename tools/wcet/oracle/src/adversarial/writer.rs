//! What programs for all processors have in common: labels, choices with two sides, tables of cases, calls, and compares that
//! are made again.

use super::random::Random;

/// Bytes of the function's own part of the stack.
pub const LOCALS: u64 = 64;

/// Writes a line; choices may be made in its arguments.
macro_rules! put {
    ($writer:ident, $($text:tt)*) => {{
        let text = format!($($text)*);
        $writer.text.lines.push(text)
    }};
}
pub(super) use put;

/// A program as far as it is written.
pub struct Text {
    pub random: Random,
    pub lines: Vec<String>,
    labels: u32,
    /// Loops so far.
    pub loops: usize,
    /// The compare that was made last, to be made again.
    compared: Option<String>,
    /// In a function that others call.
    pub inner: bool,
}

impl Text {
    pub fn new(seed: u64) -> Text {
        Text { random: Random::new(seed), lines: Vec::new(), labels: 0, loops: 0, compared: None, inner: false }
    }

    pub fn label(&mut self) -> String {
        self.labels += 1;
        format!(".Ladv{}", self.labels)
    }

    fn line(&mut self, text: String) {
        self.lines.push(text);
    }
}

/// Writes programs for one processor.
pub trait Writer {
    const CALL: &'static str;
    const JUMP: &'static str;
    /// What stands before a condition in a jump.
    const BRANCH: &'static str;
    const CONDITIONS: &'static [&'static str];

    fn text(&mut self) -> &mut Text;
    /// One statement, which may contain others down to this depth.
    fn statement(&mut self, depth: u32);
    fn operation(&mut self);
    /// An instruction that sets the flags.
    fn new_compare(&mut self) -> String;
    /// Instructions behind a compare that leave flags alone.
    fn after_compare(&mut self);
    /// A loop without an effect.
    fn count_down(&mut self, from: u64, top: &str);

    fn statements(&mut self, depth: u32) {
        for _ in 0..1 + self.text().random.below(2) {
            self.statement(depth);
        }
    }

    /// Sets flags, and says which condition may be asked.
    fn compare(&mut self) -> &'static str {
        let text = self.text();
        let again = text.compared.clone().filter(|_| text.random.once_in(3));
        let compare = again.unwrap_or_else(|| self.new_compare());
        self.text().line(compare.clone());
        self.text().compared = Some(compare);
        self.after_compare();
        self.text().random.pick(Self::CONDITIONS)
    }

    fn choice(&mut self, depth: u32) {
        let condition = self.compare();
        let (otherwise, end) = (self.text().label(), self.text().label());
        self.text().line(format!("{}{condition} {otherwise}", Self::BRANCH));
        self.side(depth);
        self.text().line(format!("{} {end}", Self::JUMP));
        self.text().line(format!("{otherwise}:"));
        self.side(depth);
        self.text().line(format!("{end}:"));
    }

    /// One side of a choice, some of them long.
    fn side(&mut self, depth: u32) {
        if self.text().random.once_in(3) {
            let top = self.text().label();
            let from = 20 + self.text().random.pick(&[0, 10, 30]);
            self.count_down(from, &top);
        }
        self.statements(depth - 1);
    }

    /// What the labels of a table of jumps lead to.
    fn cases(&mut self, cases: Vec<String>, end: &str, depth: u32) {
        for case in cases {
            self.text().line(format!("{case}:"));
            self.statement(depth - 1);
            self.text().line(format!("{} {end}", Self::JUMP));
        }
        self.text().line(format!("{end}:"));
    }

    fn call(&mut self) {
        let number = self.text().random.below(2);
        self.text().line(format!("{} inner{number}", Self::CALL));
        if self.text().random.once_in(3) {
            // The callee's flags decide.
            let condition = self.text().random.pick(Self::CONDITIONS);
            let end = self.text().label();
            self.text().line(format!("{}{condition} {end}", Self::BRANCH));
            self.operation();
            self.text().line(format!("{end}:"));
        }
    }
}
