//! The constructors mean what the operations mean: random terms, with values computed beside them.

use super::build::*;
use super::evaluate::Model;
use super::{clear, constant, fresh, mask, substitute, Binary, Term};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 11) as usize % bound
    }

    /// Often a number at which something changes.
    fn number(&mut self, width: u32) -> u128 {
        let wide = u128::from(self.next()) << 64 | u128::from(self.next());
        let number = match self.below(6) {
            0 => self.below(4) as u128,
            1 => 1 << self.below(width as usize),
            2 => (1 << self.below(width as usize)) - 1,
            3 => u128::MAX << self.below(width as usize),
            4 => wide & wide >> 7,
            _ => wide,
        };
        number & mask(width)
    }
}

fn signed(value: u128, width: u32) -> i128 {
    ((value << (128 - width)) as i128) >> (128 - width)
}

fn naive(operation: Binary, a: u128, b: u128, width: u32) -> u128 {
    let shift = u32::try_from(b).unwrap_or(u32::MAX);
    let value = match operation {
        Binary::Multiply => a.wrapping_mul(b),
        Binary::Divide => a.checked_div(b).unwrap_or(u128::MAX),
        Binary::Remainder => a.checked_rem(b).unwrap_or(a),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::ShiftLeft => {
            if shift >= width {
                0
            } else {
                a << shift
            }
        }
        Binary::ShiftRight => {
            if shift >= width {
                0
            } else {
                a >> shift
            }
        }
        Binary::ShiftRightSigned => (signed(a, width) >> shift.min(width - 1)) as u128,
        Binary::Equal => return u128::from(a == b),
        Binary::Less => return u128::from(a < b),
        Binary::LessSigned => return u128::from(signed(a, width) < signed(b, width)),
    };
    value & mask(width)
}

const OPERATIONS: [Binary; 12] = [
    Binary::Multiply,
    Binary::Divide,
    Binary::Remainder,
    Binary::And,
    Binary::Or,
    Binary::Xor,
    Binary::ShiftLeft,
    Binary::ShiftRight,
    Binary::ShiftRightSigned,
    Binary::Equal,
    Binary::Less,
    Binary::LessSigned,
];

/// A new term of earlier ones, with its value.
fn grow(random: &mut Random, known: &[(Term, u128)]) -> (Term, u128) {
    let (a, x) = known[random.below(known.len())];
    let width = a.width();
    let same: Vec<(Term, u128)> = known.iter().copied().filter(|(term, _)| term.width() == width).collect();
    let (b, y) = match random.below(3) {
        0 => {
            let number = random.number(width);
            (constant(number, width), number)
        }
        _ => same[random.below(same.len())],
    };
    let wider = [1, 8, 16, 32, 64, 128][random.below(6)].max(width);
    let low = random.below(width as usize) as u32;
    let size = 1 + random.below((width - low) as usize) as u32;
    match random.below(14) {
        0 => (add(a, b), x.wrapping_add(y) & mask(width)),
        1 => (sub(a, b), x.wrapping_sub(y) & mask(width)),
        2 => (not(a), !x & mask(width)),
        3 => (zero_extend(a, wider), x),
        4 => (sign_extend(a, wider), signed(x, width) as u128 & mask(wider)),
        5 => (extract(a, low, size), (x >> low) & mask(size)),
        6 if width <= 64 => (concat(a, b), x << width | y),
        7 => {
            let (c, z) = known.iter().copied().find(|(term, _)| term.width() == 1).unwrap_or((constant(1, 1), 1));
            (select(c, a, b), if z == 1 { x } else { y })
        }
        8 => (leading_zeros(a), u128::from(x.leading_zeros() - (128 - width)) & mask(width)),
        9 => {
            let part = extract(b, 0, size);
            let hole = !(mask(size) << low);
            (insert(a, part, low), (x & hole) | ((y & mask(size)) << low))
        }
        _ => {
            let operation = OPERATIONS[random.below(OPERATIONS.len())];
            (binary(operation, a, b), naive(operation, x, y, width))
        }
    }
}

#[test]
fn terms_mean_what_the_operations_mean() {
    for seed in 1..400 {
        clear();
        let mut random = Random(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(seed));
        let mut model = Model::default();
        let mut known: Vec<(Term, u128)> = Vec::new();
        for width in [1, 8, 32, 32, 64, 64, 1] {
            let (variable, value) = (fresh("v", width), random.number(width));
            model.variables.insert(variable, value);
            known.push((variable, value));
        }
        for _ in 0..60 {
            let (term, value) = grow(&mut random, &known);
            assert_eq!(model.value(term), value, "seed {seed}: {}", super::print::shown(term));
            assert_eq!(zeros(term) & value, 0, "seed {seed}: bits said to be 0 of {}", super::print::shown(term));
            // Replaced by its value, a variable changes nothing.
            let (variable, held) = known[random.below(7)];
            let replaced = substitute(term, variable, constant(held, variable.width()));
            assert_eq!(model.value(replaced), value, "seed {seed}: after replacing");
            known.push((term, value));
        }
    }
}

/// The low half of a sum of sums is one sum: how an address was computed does not matter.
#[test]
fn a_sum_in_a_sum_is_part_of_it() {
    clear();
    let x = fresh("x", 32);
    let inner = add(times(x, 9), constant(12, 32));
    let outer = add(zero_extend(inner, 64), constant(u128::from(u64::MAX - 8), 64));
    assert_eq!(extract(outer, 0, 32), add(times(x, 9), constant(3, 32)));
    let twice = add(times(zero_extend(inner, 64), 2), constant(1, 64));
    assert_eq!(extract(twice, 0, 32), add(times(x, 18), constant(25, 32)));
}

#[test]
fn memory_gives_what_was_stored_last() {
    clear();
    let array = super::fresh_array("memory", 32);
    let (i, j) = (fresh("i", 32), fresh("j", 32));
    let (v, w) = (fresh("v", 32), fresh("w", 32));
    let one = store(array, i, v);
    assert_eq!(read(one, i), v);
    assert_eq!(read(store(one, add(i, constant(1, 32)), w), i), v, "another index for certain");
    let both = store(one, j, w);
    let mut model = Model::default();
    for (same, expected) in [(7, 5), (8, 4)] {
        model.variables.extend([(i, 7), (j, same), (v, 4), (w, 5)]);
        assert_eq!(model.value(read(both, i)), expected);
    }
    assert_eq!(store(array, i, read(array, i)), array);
}

/// The forms in which gcc divides by 10, by 3 and by 1000, one that is almost a division by 10, and one whose factor is too small.
#[test]
fn a_product_that_divides_is_a_quotient_and_another_is_not() {
    clear();
    let (wide, narrow) = (fresh("v", 64), fresh("v", 32));
    let product = |x: Term, factor: u128, low: u32, width: u32| {
        let size = 2 * x.width();
        extract(times(zero_extend(x, size), factor), low, width)
    };
    let by = |x: Term, divisor: u128| binary(Binary::Divide, x, constant(divisor, x.width()));
    assert_eq!(product(wide, 0xcccc_cccc_cccc_cccd, 67, 61), extract(by(wide, 10), 0, 61));
    assert_eq!(product(narrow, 0xcccc_cccd, 35, 29), extract(by(narrow, 10), 0, 29));
    assert_eq!(product(narrow, 0xaaaa_aaab, 33, 31), extract(by(narrow, 3), 0, 31));
    let is_quotient = |term: Term| matches!(term.node(), super::Node::Extract(0, of) if matches!(of.node(), super::Node::Binary(Binary::Divide, ..)));
    for (factor, low) in [(0xcccc_cccc, 35), (0xcccc_ccce, 35), (0xcccc_cccd, 33), (0x1999_9999, 32)] {
        let term = product(narrow, factor, low, 64 - low);
        assert!(!is_quotient(term), "{factor:#x} {low}: {}", super::print::shown(term));
    }
    let mut random = Random(77);
    for _ in 0..20_000 {
        let (factor, low) = (random.number(32).max(2), 32 + random.below(8) as u32);
        let term = product(narrow, factor, low, 64 - low);
        let mut model = Model::default();
        let x = random.number(32);
        model.variables.insert(narrow, x);
        assert_eq!(model.value(term), (x * factor) >> low, "{x} {factor:#x} {low}");
    }
}
