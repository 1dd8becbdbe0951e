//! Expressions against plain arithmetic: whatever is simplified, the value stays the same for every value of the variables.

use super::*;

const COMPARISONS: [Compare; 3] = [Compare::Eq, Compare::ULt, Compare::SLt];

/// Values of the variables 0, 1 and 2.
type Values = [u64; 3];

/// An expression, and what it means.
#[derive(Clone)]
struct Term {
    expr: Expr,
    meaning: Rc<dyn Fn(&Values) -> u64>,
}

/// The value modulo 2^bits, and as a signed number: in 128 bits, where nothing overflows.
fn modulo(value: i128, bits: u32) -> u64 {
    value.rem_euclid(1 << bits) as u64
}

fn number(value: u64, bits: u32) -> i128 {
    let value = i128::from(value);
    if value >= 1 << (bits - 1) {
        value - (1 << bits)
    } else {
        value
    }
}

/// The operators as SMT-LIB defines them.
fn reference(op: Op, a: u64, b: u64, bits: u32) -> u64 {
    let (u, v) = (i128::from(a), i128::from(b));
    let (s, t) = (number(a, bits), number(b, bits));
    let result = match op {
        Op::Add => u + v,
        Op::Sub => u - v,
        // The product of two 64-bit numbers may not fit.
        Op::Mul => return (u as u128).wrapping_mul(v as u128) as u64 & mask(bits),
        Op::UDiv if v == 0 => -1,
        Op::UDiv => u / v,
        Op::URem if v == 0 => u,
        Op::URem => u % v,
        Op::SDiv if t == 0 => {
            if s < 0 {
                1
            } else {
                -1
            }
        }
        Op::SDiv => s / t,
        Op::SRem if t == 0 => s,
        Op::SRem => s % t,
        Op::And => u & v,
        Op::Or => u | v,
        Op::Xor => u ^ v,
        Op::Shl if v >= i128::from(bits) => 0,
        Op::Shl => ((u as u128) << v) as u64 as i128,
        Op::LShr if v >= i128::from(bits) => 0,
        Op::LShr => u >> v,
        Op::AShr => s >> v.min(i128::from(bits)),
    };
    modulo(result, bits)
}

fn related(op: Compare, a: u64, b: u64, bits: u32) -> bool {
    match op {
        Compare::Eq => a == b,
        Compare::ULt => a < b,
        Compare::SLt => number(a, bits) < number(b, bits),
    }
}

fn variable(index: usize, bits: u32) -> Term {
    Term { expr: var(index as Var, bits), meaning: Rc::new(move |values| values[index]) }
}

fn fixed(value: u64, bits: u32) -> Term {
    Term { expr: constant(value, bits), meaning: Rc::new(move |_| value) }
}

fn constants(bits: u32) -> impl Iterator<Item = Term> {
    (0..=mask(bits)).map(move |value| fixed(value, bits))
}

fn pairs<A: Clone, B: Clone>(all: &[A], others: &[B]) -> Vec<(A, B)> {
    all.iter().flat_map(|a| others.iter().map(|b| (a.clone(), b.clone()))).collect()
}

impl Term {
    fn bits(&self) -> u32 {
        self.expr.bits()
    }

    /// An expression over this one; `meaning` gives its value from this one's.
    fn then(&self, expr: Expr, meaning: impl Fn(u64) -> u64 + 'static) -> Term {
        let inner = self.meaning.clone();
        Term { expr, meaning: Rc::new(move |values| meaning(inner(values))) }
    }

    fn with(&self, other: &Term, expr: Expr, meaning: impl Fn(u64, u64) -> u64 + 'static) -> Term {
        let (a, b) = (self.meaning.clone(), other.meaning.clone());
        Term { expr, meaning: Rc::new(move |values| meaning(a(values), b(values))) }
    }

    fn not(&self) -> Term {
        let bits = self.bits();
        self.then(not(self.expr), move |value| mask(bits) - value)
    }

    fn binary(&self, op: Op, other: &Term) -> Term {
        let bits = self.bits();
        self.with(other, binary(op, self.expr, other.expr), move |a, b| reference(op, a, b, bits))
    }

    fn compare(&self, op: Compare, other: &Term) -> Term {
        let bits = self.bits();
        self.with(other, compare(op, self.expr, other.expr), move |a, b| u64::from(related(op, a, b, bits)))
    }

    fn choose(&self, a: &Term, b: &Term) -> Term {
        let (c, x, y) = (self.meaning.clone(), a.meaning.clone(), b.meaning.clone());
        let meaning = move |values: &Values| if c(values) == 1 { x(values) } else { y(values) };
        Term { expr: choose(self.expr, a.expr, b.expr), meaning: Rc::new(meaning) }
    }

    fn zero_extend(&self, bits: u32) -> Term {
        self.then(zero_extend(self.expr, bits), |value| value)
    }

    fn sign_extend(&self, bits: u32) -> Term {
        let own = self.bits();
        self.then(sign_extend(self.expr, bits), move |value| modulo(number(value, own), bits))
    }

    fn cut(&self, bits: u32) -> Term {
        self.then(cut(self.expr, bits), move |value| value % (1 << bits))
    }

    /// Compares expression and meaning for all values of the variables, whose widths are given.
    fn check(&self, widths: [u32; 3]) {
        let [x, y, z] = widths.map(|bits| if bits == 0 { 0 } else { mask(bits) });
        for values in (0..=x).flat_map(|a| (0..=y).flat_map(move |b| (0..=z).map(move |c| [a, b, c]))) {
            let value = self.expr.evaluate(&|var| values[var as usize]);
            let text = || self.expr.show(&|var| format!("v{var}"));
            assert_eq!(value, (self.meaning)(&values), "{} of {} bits at {values:?}", text(), self.bits());
        }
    }
}

#[test]
fn constants_fold_as_arithmetic_says() {
    for bits in 1..=5 {
        for (a, b) in (0..=mask(bits)).flat_map(|a| (0..=mask(bits)).map(move |b| (a, b))) {
            folds(a, b, bits);
        }
    }
}

#[test]
fn constants_of_machine_words_fold_as_arithmetic_says() {
    for bits in [8, 16, 32, 33, 63, 64] {
        let width = u64::from(bits);
        let sign = 1 << (bits - 1);
        let all = [0, 1, 2, 3, 7, width - 1, width, width + 1, sign - 1, sign, sign + 1, mask(bits) - 1, mask(bits)];
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a & mask(bits), b & mask(bits)))) {
            folds(a, b, bits);
        }
    }
}

fn folds(a: u64, b: u64, bits: u32) {
    let (left, right) = (constant(a, bits), constant(b, bits));
    for op in Op::ALL {
        let value = binary(op, left, right).value();
        assert_eq!(value, Some(reference(op, a, b, bits)), "{a} {op:?} {b} in {bits} bits");
    }
    for op in COMPARISONS {
        let value = compare(op, left, right).value();
        assert_eq!(value, Some(u64::from(related(op, a, b, bits))), "{a} {op:?} {b} in {bits} bits");
    }
}

/// Shifts by the width or more leave nothing, or only the sign.
#[test]
fn shifts_beyond_the_width() {
    for by in 4..16 {
        let shifted = |op, value| binary(op, constant(value, 4), constant(by, 4)).value();
        assert_eq!([shifted(Op::Shl, 15), shifted(Op::LShr, 15)], [Some(0); 2]);
        assert_eq!([shifted(Op::AShr, 7), shifted(Op::AShr, 8)], [Some(0), Some(15)]);
    }
}

/// All comparisons of two expressions, in both orders.
fn check_comparisons(a: &Term, b: &Term, widths: [u32; 3]) {
    for op in COMPARISONS {
        a.compare(op, b).check(widths);
        b.compare(op, a).check(widths);
    }
}

#[test]
fn nested_operations_keep_their_value() {
    for bits in [1, 2] {
        let widths = [bits, bits, 0];
        let (x, y) = (variable(0, bits), variable(1, bits));
        let leaves: Vec<Term> = [x.clone(), y, x.not()].into_iter().chain(constants(bits)).collect();
        for (op, (a, b)) in pairs(&Op::ALL, &pairs(&leaves, &leaves)) {
            let inner = a.binary(op, &b);
            inner.not().check(widths);
            for (outer, c) in pairs(&Op::ALL, &leaves) {
                inner.binary(outer, &c).check(widths);
                c.binary(outer, &inner).check(widths);
            }
            leaves.iter().for_each(|c| check_comparisons(&inner, c, widths));
        }
    }
}

/// Comparisons of what was widened, chosen or negated with constants and with other widened values.
#[test]
fn comparisons_keep_their_value() {
    let (x, y, wide, condition) = (variable(0, 2), variable(1, 2), variable(0, 4), variable(2, 1));
    let chosen = |x: &Term| -> Vec<Term> {
        let all: Vec<Term> = constants(4).step_by(5).chain([x.clone()]).collect();
        pairs(&all, &all).iter().map(|(a, b)| condition.choose(a, b)).collect()
    };
    let widened = [x.zero_extend(4), x.sign_extend(4), x.sign_extend(3).zero_extend(4), x.zero_extend(4).not()];
    let left = [widened.to_vec(), chosen(&widened[0])].concat();
    let right: Vec<Term> = constants(4).chain([y.zero_extend(4), y.sign_extend(4)]).collect();
    pairs(&left, &right).iter().for_each(|(a, b)| check_comparisons(a, b, [2, 2, 1]));
    let left = [vec![wide.clone(), wide.not()], chosen(&wide)].concat();
    let right: Vec<Term> = constants(4).collect();
    pairs(&left, &right).iter().for_each(|(a, b)| check_comparisons(a, b, [4, 0, 1]));
}

#[test]
fn widening_and_narrowing_keep_their_value() {
    for (bits, middle, last) in (1..=3).flat_map(|a| (1..=5).flat_map(move |b| (1..=5).map(move |c| (a, b, c)))) {
        for one in [variable(0, bits)].into_iter().chain(constants(bits)) {
            for two in resized(&one, middle) {
                two.check([bits, 0, 0]);
                resized(&two, last).iter().for_each(|three| three.check([bits, 0, 0]));
            }
        }
    }
}

fn resized(term: &Term, bits: u32) -> Vec<Term> {
    let made =
        if bits < term.bits() { vec![term.cut(bits)] } else { vec![term.zero_extend(bits), term.sign_extend(bits)] };
    made.iter().for_each(|one| assert_eq!(one.bits(), bits));
    made
}

/// Masks of what is known to be small by its form.
#[test]
fn masks_keep_their_value() {
    let (narrow, wide) = (variable(0, 2).zero_extend(4), variable(1, 4));
    let limited = |by: Term| {
        let ops = [Op::And, Op::URem, Op::LShr].into_iter();
        ops.flat_map(|op| [narrow.binary(op, &by), wide.binary(op, &by)]).collect::<Vec<Term>>()
    };
    let all: Vec<Term> = constants(4).flat_map(limited).chain([narrow.clone()]).collect();
    for (one, mask) in pairs(&all, &constants(4).collect::<Vec<Term>>()) {
        one.binary(Op::And, &mask).check([2, 4, 0]);
    }
}

#[test]
fn choices_keep_their_value() {
    let leaves: Vec<Term> =
        (0..3).flat_map(|index| [variable(index, 1), variable(index, 1).not()]).chain(constants(1)).collect();
    for (c, (a, b)) in pairs(&leaves, &pairs(&leaves, &leaves)) {
        c.choose(&a, &b).check([1, 1, 1]);
    }
}

/// The value of a formula is decided by those of its atoms, and replacing them by their values finds it.
#[test]
fn atoms_decide_a_formula() {
    let (x, y) = (var(0, 3), var(1, 3));
    let (less, same) = (compare(Compare::ULt, x, y), equal(x, constant(5, 3)));
    let formula = or(and(less, not(same)), choose(var(2, 1), same, binary(Op::Xor, less, var(3, 1))));
    let mut atoms = Vec::new();
    formula.atoms(&mut atoms);
    let mut expected = vec![less, same, var(2, 1), var(3, 1)];
    atoms.sort_unstable();
    expected.sort_unstable();
    assert_eq!(atoms, expected);
    assert_eq!((formula.vars().to_vec(), formula.mentions(3), formula.mentions(4)), (vec![0, 1, 2, 3], true, false));
    assert_eq!([0, 1, 2, 3].map(|var| formula.width_of(var)), [3, 3, 1, 1]);
}
