//! What simplification makes of an expression has the same value.

use drivercheck::expr::{self, Compare, Expr, Op};

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % sides
    }
}

const BITS: [u32; 4] = [1, 8, 32, 64];

/// The same expression twice: over variables, and over their values.
fn pair(dice: &mut Dice, values: &[u64], bits: u32, depth: u32) -> (Expr, Expr) {
    if depth == 0 || dice.roll(6) == 0 {
        if dice.roll(2) == 0 {
            let small = [0, 1, 2, 5, u64::MAX, 1 << 31][dice.roll(6) as usize];
            return (expr::constant(small, bits), expr::constant(small, bits));
        }
        let var = dice.roll(values.len() as u64) as u32;
        let wide = (expr::var(var, 64), expr::constant(values[var as usize], 64));
        return (expr::cut(wide.0, bits), expr::cut(wide.1, bits));
    }
    let mut part = |bits| pair(dice, values, bits, depth - 1);
    let (a, b, c) = (part(bits), part(bits), part(1));
    let other = BITS[dice.roll(4) as usize];
    let d = pair(dice, values, other, depth - 1);
    let e = pair(dice, values, other, depth - 1);
    match dice.roll(7) {
        0 => (expr::not(a.0), expr::not(a.1)),
        1 => (expr::choose(c.0, a.0, b.0), expr::choose(c.1, a.1, b.1)),
        2 if other < bits => (expr::zero_extend(d.0, bits), expr::zero_extend(d.1, bits)),
        3 if other < bits => (expr::sign_extend(d.0, bits), expr::sign_extend(d.1, bits)),
        4 if other > bits => (expr::cut(d.0, bits), expr::cut(d.1, bits)),
        5 if bits == 1 => {
            let op = [Compare::Eq, Compare::ULt, Compare::SLt][dice.roll(3) as usize];
            (expr::compare(op, d.0, e.0), expr::compare(op, d.1, e.1))
        }
        _ => {
            let op = Op::ALL[dice.roll(13) as usize];
            (expr::binary(op, a.0, b.0), expr::binary(op, a.1, b.1))
        }
    }
}

#[test]
fn simplification_keeps_values() {
    let mut dice = Dice(1);
    for _ in 0..20_000 {
        let values: Vec<u64> =
            (0..3).map(|_| [dice.roll(4), dice.roll(1 << 31), u64::MAX][dice.roll(3) as usize]).collect();
        let bits = BITS[dice.roll(4) as usize];
        let (open, closed) = pair(&mut dice, &values, bits, 4);
        assert_eq!(open.bits(), bits);
        let value = open.evaluate(&|var| values[var as usize]);
        assert_eq!(Some(value), closed.value(), "{open:?} with {values:?}");
    }
}
