//! Values that are tried before the solver is asked: most conditions that can hold together do so with a number that stands
//! in them, or one beside it. What is found was computed, so it needs no trust; that nothing is found says nothing.

use crate::expr::{compute, holds, mask, Compare, Expr, Node, Op, Var};
use crate::hash::HashMap;

/// Operations that are computed for a question, at most: less than the solver needs for the simplest.
const WORK: usize = 20_000;
/// Values of a variable.
const VALUES: usize = 12;

/// Values with which all conditions hold, if some of those that are tried do.
pub fn find(conditions: &[Expr]) -> Option<HashMap<Var, u64>> {
    let mut code = Code::default();
    let roots: Vec<usize> = conditions.iter().map(|one| code.place(*one)).collect();
    let mut trial = Trial::new(&code, &roots);
    trial.assign(0).then(|| std::iter::zip(&code.vars, &trial.chosen).map(|((var, _), value)| (*var, *value)).collect())
}

/// One operation on the results of others.
enum Step {
    Const(u64),
    Var(usize),
    Not(usize),
    Binary(Op, usize, usize),
    Compare(Compare, usize, usize),
    Choose(usize, usize, usize),
    Sign(usize),
    /// Wider or narrower by zeros.
    Fit(usize),
}

/// Conditions as a list of operations, each behind those that it needs.
#[derive(Default)]
struct Code {
    steps: Vec<(Step, u32)>,
    /// By step: how many variables must have a value before.
    levels: Vec<usize>,
    places: HashMap<Expr, usize>,
    vars: Vec<(Var, u32)>,
    constants: Vec<u64>,
}

impl Code {
    fn place(&mut self, expr: Expr) -> usize {
        if let Some(known) = self.places.get(&expr) {
            return *known;
        }
        let mut level = 0;
        let mut of = |code: &mut Code, part: Expr| {
            let place = code.place(part);
            level = level.max(code.levels[place]);
            place
        };
        let step = match expr.node() {
            Node::Const { value, .. } => {
                if !self.constants.contains(&value) {
                    self.constants.push(value);
                }
                Step::Const(value)
            }
            Node::Var { var, bits } => {
                self.vars.push((var, bits));
                level = self.vars.len();
                Step::Var(level - 1)
            }
            Node::Not(a) => Step::Not(of(self, a)),
            Node::Binary(op, a, b) => Step::Binary(op, of(self, a), of(self, b)),
            Node::Compare(op, a, b) => Step::Compare(op, of(self, a), of(self, b)),
            Node::Choose(c, a, b) => Step::Choose(of(self, c), of(self, a), of(self, b)),
            Node::Sign(a, _) => Step::Sign(of(self, a)),
            Node::Zero(a, _) | Node::Cut(a, _) => Step::Fit(of(self, a)),
        };
        self.steps.push((step, expr.bits()));
        self.levels.push(level);
        self.places.insert(expr, self.steps.len() - 1);
        self.steps.len() - 1
    }

    /// What is tried for a variable: numbers that occur, their neighbours, the least and the greatest.
    fn values(&self, bits: u32) -> Vec<u64> {
        let near = self.constants.iter().flat_map(|one| [*one, one.wrapping_add(1), one.wrapping_sub(1)]);
        let mut all = Vec::new();
        for value in [0, 1, u64::MAX].into_iter().chain(near) {
            let value = value & mask(bits);
            if !all.contains(&value) && all.len() < VALUES {
                all.push(value);
            }
        }
        all
    }
}

/// The search, variable by variable.
struct Trial<'a> {
    code: &'a Code,
    /// By number of variables with a value: steps that can be computed then and not before, and conditions among them.
    steps: Vec<Vec<usize>>,
    roots: Vec<Vec<usize>>,
    /// By variable.
    values: Vec<Vec<u64>>,
    chosen: Vec<u64>,
    /// By step.
    results: Vec<u64>,
    left: usize,
}

impl<'a> Trial<'a> {
    fn new(code: &'a Code, conditions: &[usize]) -> Self {
        let levels = code.vars.len() + 1;
        let (mut steps, mut roots) = (vec![Vec::new(); levels], vec![Vec::new(); levels]);
        code.levels.iter().enumerate().for_each(|(step, level)| steps[*level].push(step));
        conditions.iter().for_each(|root| roots[code.levels[*root]].push(*root));
        Trial {
            code,
            steps,
            roots,
            values: code.vars.iter().map(|(_, bits)| code.values(*bits)).collect(),
            chosen: vec![0; code.vars.len()],
            results: vec![0; code.steps.len()],
            left: WORK,
        }
    }

    /// Computes what is known with the first `level` variables, and tries the values of the next.
    fn assign(&mut self, level: usize) -> bool {
        if self.left < self.steps[level].len() {
            self.left = 0;
            return false;
        }
        self.left -= self.steps[level].len();
        for index in 0..self.steps[level].len() {
            let step = self.steps[level][index];
            self.results[step] = self.result(step);
        }
        if !self.roots[level].iter().all(|root| self.results[*root] == 1) {
            return false;
        }
        level == self.chosen.len()
            || (0..self.values[level].len()).any(|index| {
                self.chosen[level] = self.values[level][index];
                self.left > 0 && self.assign(level + 1)
            })
    }

    fn result(&self, step: usize) -> u64 {
        let of = |place: &usize| self.results[*place];
        let bits_of = |place: &usize| self.code.steps[*place].1;
        let (step, bits) = &self.code.steps[step];
        let value = match step {
            Step::Const(value) => *value,
            Step::Var(number) => self.chosen[*number],
            Step::Not(a) => !of(a),
            Step::Binary(op, a, b) => compute(*op, of(a), of(b), *bits),
            Step::Compare(op, a, b) => u64::from(holds(*op, of(a), of(b), bits_of(a))),
            Step::Choose(c, a, b) => of(if of(c) == 1 { a } else { b }),
            Step::Sign(a) => {
                let free = 64 - bits_of(a);
                (((of(a) << free) as i64) >> free) as u64
            }
            Step::Fit(a) => of(a),
        };
        value & mask(*bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{and, binary, choose, compare, constant, cut, not, sign_extend, var, zero_extend};
    use crate::solver::{Answer, Solver};
    use crate::testing::is;
    use ::testing::Random;

    fn value(random: &mut Random, depth: u32) -> Expr {
        if depth == 0 {
            return match random.below(3) {
                0 => constant(random.below_u64(256), 8),
                _ => var(random.below_u64(3) as Var, 8),
            };
        }
        let mut part = || value(random, depth - 1);
        let (a, b) = (part(), part());
        match random.below(8) {
            0 => not(a),
            1 => choose(compare(Compare::SLt, a, b), b, a),
            2 => cut(binary(Op::Mul, sign_extend(a, 16), zero_extend(b, 16)), 8),
            3 => cut(binary(Op::LShr, sign_extend(a, 64), zero_extend(b, 64)), 8),
            _ => binary(random.pick(&Op::ALL), a, b),
        }
    }

    fn condition(random: &mut Random) -> Expr {
        let (a, b) = (value(random, 2), value(random, 1));
        let one = compare(random.pick(&[Compare::Eq, Compare::ULt, Compare::SLt]), a, b);
        if random.one_in(2) {
            not(one)
        } else {
            one
        }
    }

    /// What is found fulfils the conditions, as they are evaluated elsewhere and as the solver sees them.
    #[test]
    fn what_is_found_holds() {
        let mut solver = Solver::new().expect("z3 is installed");
        let mut random = Random(7);
        let mut found = 0;
        for _ in 0..400 {
            let conditions: Vec<Expr> = (0..1 + random.below(3)).map(|_| condition(&mut random)).collect();
            let Some(values) = find(&conditions) else { continue };
            found += 1;
            let of = |var: Var| values.get(&var).copied().unwrap_or(0);
            assert!(conditions.iter().all(|one| one.evaluate(&of) == 1), "{conditions:?} with {values:?}");
            let mut all = conditions.clone();
            all.extend((0..3).map(|number| is(var(number, 8), of(number))));
            assert!(matches!(solver.check(&all, false, true), Ok(Answer::Sat(_))), "{conditions:?} with {values:?}");
        }
        assert!(found > 100, "{found} of 400");
    }

    #[test]
    fn numbers_that_occur_are_tried() {
        let (a, b) = (var(0, 64), var(1, 64));
        let product = binary(Op::Mul, a, b);
        let large = compare(Compare::ULt, constant(0x1234, 64), a);
        let values =
            find(&[large, is(product, 0), compare(Compare::ULt, a, constant(0x1236, 64))]).expect("there are some");
        assert_eq!((values[&0], values[&1]), (0x1235, 0));
        assert!(find(&[and(large, is(a, 3))]).is_none());
        assert!(find(&[large, is(binary(Op::Mul, a, constant(3, 64)), 0x777_7777)]).is_none());
    }
}
