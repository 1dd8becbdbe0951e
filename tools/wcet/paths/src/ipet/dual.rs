//! The bound: what no walk can exceed, for the best multipliers that the time allows.
//!
//! Each [`Limit`](crate::ipet::Limit) and each open charge has a multiplier. For *any* multipliers that are not negative (and
//! at most the cycles, for a charge) the longest walk under the weights that they give, plus the constants that they
//! give, is at least the cost of every walk that respects the limits: Lagrangian duality. So the bound is computed
//! exactly, in integers, by one pass of [`Decomposed::longest_path`], and how the multipliers were found does not matter.
//!
//! They are found by cutting planes: each walk seen so far is a plane below which the dual cannot be, and a linear
//! program in floating point gives the multipliers where the planes leave it least, not far from the best so far. As
//! the acyclic decomposition gives extreme points of the flow polytope, the limit of this is the optimum of the linear
//! program that implicit path enumeration would hand to a solver. Integrality costs nothing where it has no effect:
//! mostly a walk seen on the way costs as much as the bound, which then is exact.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Instant;

use microlp::{ComparisonOp, OptimizationDirection, Problem as Master};

use crate::ipet::charge::{charges, into, Charges, Point};
use crate::ipet::longest_path::{Decomposed, Shape};
use crate::ipet::problem::{Counts, Limit, Problem};

/// Multipliers are whole numbers of this part of a cycle.
const PART: i128 = 1 << 20;

/// Planes that are tried at most.
const ROUNDS: usize = 400;

/// Planes that are tried whatever the time, if there are limits: before any, these count for nothing.
const ROUNDS_FOR_LIMITS: usize = 12;

/// Walks that are tried at most once the bound is found.
const REPAIRS: usize = 100;

/// A certified bound.
#[derive(Debug, Clone)]
pub struct Solution {
    /// No walk costs more.
    pub bound: u128,
    /// The longest walk found that respects everything, with its cost; it is exact if this is the bound.
    pub walk: Option<(u128, Counts)>,
    /// The walk at which the bound was found; it may violate limits.
    pub relaxed: Counts,
}

/// One multiplier: a change of it by one changes the weights of edges, of the start, and the constant by this.
struct Multiplier {
    most: i128,
    edges: BTreeMap<usize, i128>,
    constant: i128,
}

/// The dual at one point: a walk, the value, and how the value changes with each multiplier.
struct Plane {
    value: i128,
    slopes: Vec<i128>,
    at: Vec<i128>,
    counts: Counts,
    /// The walk violates no conflict.
    clean: bool,
}

struct Dual<'p> {
    problem: &'p Problem,
    charges: &'p Charges,
    decomposed: Decomposed,
    start: i128,
    weights: Vec<i128>,
    multipliers: Vec<Multiplier>,
}

/// Bounds the problem; none if no walk ends. Stops at `deadline` with what it has, but not before limits count.
pub fn solve(problem: &Problem, deadline: Option<Instant>) -> Option<Solution> {
    solve_with(problem, &charges(problem), &Rc::new(Shape::new(problem)), deadline)
}

/// The same with charges and the shape of the problem, which are ready.
pub fn solve_with(
    problem: &Problem,
    charges: &Charges,
    shape: &Rc<Shape>,
    deadline: Option<Instant>,
) -> Option<Solution> {
    let dual = Dual::new(problem, charges, shape);
    let late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let mut best = dual.plane(dual.first())?;
    let mut walk: Option<(u128, Counts)> = None;
    let mut planes: Vec<Plane> = Vec::new();
    if best.clean {
        keep(problem, charges, &best.counts, &mut walk);
    }
    let mut reach = 0.5;
    let least = if problem.limits.is_empty() { 0 } else { ROUNDS_FOR_LIMITS };
    while planes.len() < ROUNDS && (planes.len() < least || !late()) {
        let bound = cycles(best.value);
        if walk.as_ref().is_some_and(|(cost, _)| *cost >= bound) || dual.multipliers.is_empty() {
            break;
        }
        let Some((at, promised)) = dual.next(&best, &planes, reach) else { break };
        if cycles(promised) >= bound && reach >= 1.0 {
            break;
        }
        let Some(plane) = dual.plane(at) else { break };
        if plane.clean {
            keep(problem, charges, &plane.counts, &mut walk);
        }
        if plane.value < best.value {
            planes.push(std::mem::replace(&mut best, plane));
            reach = (reach * 1.5f64).min(1.0);
        } else {
            planes.push(plane);
            reach = if cycles(promised) >= bound { (reach * 4.0f64).min(1.0) } else { (reach * 0.7).max(1.0 / 1024.0) };
        }
    }
    let bound = cycles(best.value);
    let open = |walk: &Option<(u128, Counts)>| walk.as_ref().is_none_or(|(cost, _)| *cost < bound);
    if open(&walk) {
        dual.repair(&best, &planes, &mut walk, &late);
    }
    if open(&walk) {
        if let Some(mixed) = dual.mixture(&best, &planes) {
            keep(problem, charges, &mixed, &mut walk);
        }
    }
    Some(Solution { bound, walk, relaxed: best.counts })
}

/// Whole cycles of a value.
fn cycles(value: i128) -> u128 {
    value.div_euclid(PART).max(0) as u128
}

/// Keeps a walk if it respects all limits and costs more than the one kept.
fn keep(problem: &Problem, charges: &Charges, counts: &Counts, walk: &mut Option<(u128, Counts)>) {
    if problem.allows(counts) {
        let cost = charges.cost(problem, counts);
        if walk.as_ref().is_none_or(|(known, _)| *known < cost) {
            *walk = Some((cost, counts.clone()));
        }
    }
}

impl<'p> Dual<'p> {
    fn new(problem: &'p Problem, found: &'p Charges, shape: &Rc<Shape>) -> Dual<'p> {
        let into = into(problem);
        let mut start = (i128::from(problem.start) + i128::from(found.start)) * PART;
        let mut weights: Vec<i128> = problem
            .costs
            .iter()
            .zip(&found.edges)
            .map(|(cost, charge)| (i128::from(*cost) + i128::from(*charge)) * PART)
            .collect();
        problem.credits.iter().for_each(|(edge, credit)| weights[*edge] -= i128::from(*credit) * PART);
        let mut multipliers = Vec::new();
        for limit in &problem.limits {
            let edges = limit.terms.iter().map(|(edge, factor)| (*edge, -i128::from(*factor))).collect();
            multipliers.push(Multiplier { most: i128::MAX, edges, constant: i128::from(limit.at_most) });
        }
        for open in &found.open {
            let whole = i128::from(open.cycles) * PART;
            let mut one = Multiplier { most: whole, edges: BTreeMap::new(), constant: 0 };
            let scope = open.scope.map(|scope| Point::Loop(scope).edges(problem, &into));
            let (edges, starts) = scope.unwrap_or((Vec::new(), true));
            for edge in edges {
                weights[edge] += whole;
                *one.edges.entry(edge).or_default() -= 1;
            }
            if starts {
                start += whole;
                one.constant -= 1;
            }
            for point in &open.points {
                let (edges, starts) = point.edges(problem, &into);
                edges.into_iter().for_each(|edge| *one.edges.entry(edge).or_default() += 1);
                one.constant += i128::from(starts);
            }
            multipliers.push(one);
        }
        // Enough to make any cost not worth its while.
        let all: i128 = start + weights.iter().map(|weight| weight.abs()).sum::<i128>();
        multipliers.iter_mut().for_each(|one| one.most = one.most.min(all.max(1)));
        let decomposed = Decomposed::new(problem, Rc::clone(shape));
        Dual { problem, charges: found, decomposed, start, weights, multipliers }
    }

    /// Limits as if there were none; charges half at each execution.
    fn first(&self) -> Vec<i128> {
        let limits = self.problem.limits.len();
        self.multipliers
            .iter()
            .enumerate()
            .map(|(number, one)| if number < limits { 0 } else { one.most / 2 })
            .collect()
    }

    fn plane(&self, at: Vec<i128>) -> Option<Plane> {
        self.plane_without(at, &BTreeSet::new())
    }

    fn plane_without(&self, at: Vec<i128>, without: &BTreeSet<usize>) -> Option<Plane> {
        let mut weights = self.weights.clone();
        let mut start = self.start;
        for (one, by) in self.multipliers.iter().zip(&at).filter(|(_, by)| **by != 0) {
            one.edges.iter().for_each(|(edge, factor)| weights[*edge] += factor * by);
            start += one.constant * by;
        }
        let longest = self.decomposed.longest_path(start, &weights, without)?;
        let of = |edge: &usize| i128::from(longest.counts.get(edge).copied().unwrap_or(0));
        let slope =
            |one: &Multiplier| one.constant + one.edges.iter().map(|(edge, factor)| factor * of(edge)).sum::<i128>();
        let slopes = self.multipliers.iter().map(slope).collect();
        Some(Plane { value: longest.weight, slopes, at, counts: longest.counts, clean: longest.exact })
    }

    /// Where the planes leave the dual least, at most `reach` of the whole range away from the best, and that value.
    fn next(&self, best: &Plane, planes: &[Plane], reach: f64) -> Option<(Vec<i128>, i128)> {
        let scale = PART as f64;
        let mut master = Master::new(OptimizationDirection::Minimize);
        // Relative to the best, in cycles, so that numbers stay small.
        let value = master.add_var(1.0, (f64::NEG_INFINITY, f64::INFINITY));
        let mut variables = Vec::new();
        for (one, at) in self.multipliers.iter().zip(&best.at) {
            let (most, at) = (one.most as f64 / scale, *at as f64 / scale);
            let (low, high) = ((at - reach * most).max(0.0), (at + reach * most).min(most));
            variables.push(master.add_var(0.0, (low - at, high - at)));
        }
        for plane in planes.iter().chain([best]) {
            // value >= plane.value + slopes * (best.at + step - plane.at)
            let shift: i128 =
                plane.slopes.iter().zip(best.at.iter().zip(&plane.at)).map(|(slope, (a, b))| slope * (a - b)).sum();
            let constant = (plane.value - best.value + shift) as f64 / scale;
            let mut terms = vec![(value, 1.0)];
            let slopes = plane.slopes.iter().zip(&variables).filter(|(slope, _)| **slope != 0);
            terms.extend(slopes.map(|(slope, variable)| (*variable, -(*slope as f64))));
            master.add_constraint(&terms[..], ComparisonOp::Ge, constant);
        }
        let solved = master.solve().ok()?;
        let promised = best.value + (solved.objective() * scale).floor() as i128;
        let at = best
            .at
            .iter()
            .zip(&variables)
            .zip(&self.multipliers)
            .map(|((at, variable), one)| (at + (solved[*variable] * scale).round() as i128).clamp(0, one.most));
        Some((at.collect(), promised))
    }

    /// Looks for a walk that respects the limits near the best multipliers: where the walk there violates one, those
    /// without one of its edges come next, the costliest first.
    fn repair(&self, best: &Plane, planes: &[Plane], walk: &mut Option<(u128, Counts)>, late: &dyn Fn() -> bool) {
        let bound = cycles(best.value);
        let seen = planes.iter().chain([best]).enumerate();
        let mut open: BTreeMap<(i128, usize), (BTreeSet<usize>, Counts)> = seen
            .map(|(number, plane)| ((plane.value, number + REPAIRS), (BTreeSet::new(), plane.counts.clone())))
            .collect();
        // Slightly cheaper limits: at the best multipliers a walk that just respects them costs no more than one that does
        // without what they limit.
        let limits = self.problem.limits.len();
        let at: Vec<i128> =
            best.at.iter().enumerate().map(|(number, at)| if number < limits { at - at / 16 } else { *at }).collect();
        let mut tried = BTreeSet::new();
        while let Some((_, (without, counts))) = open.pop_last() {
            let of = |edge: &usize| i128::from(counts.get(edge).copied().unwrap_or(0));
            let sum =
                |limit: &Limit| limit.terms.iter().map(|(edge, factor)| i128::from(*factor) * of(edge)).sum::<i128>();
            let Some(violated) = self.problem.limits.iter().find(|limit| sum(limit) > i128::from(limit.at_most)) else {
                continue;
            };
            for (edge, _) in violated.terms.iter().filter(|(edge, factor)| **factor > 0 && of(edge) > 0) {
                let mut less: BTreeSet<usize> = without.clone();
                less.insert(*edge);
                if tried.len() >= REPAIRS || late() || !tried.insert(less.clone()) {
                    continue;
                }
                let Some(plane) = self.plane_without(at.clone(), &less) else { continue };
                if plane.clean {
                    keep(self.problem, self.charges, &plane.counts, walk);
                }
                if walk.as_ref().is_some_and(|(cost, _)| *cost >= bound) {
                    return;
                }
                open.insert((plane.value, tried.len()), (less, plane.counts));
            }
        }
    }

    /// Whole counts that are a mixture of the walks seen, if the best mixture happens to be whole.
    fn mixture(&self, best: &Plane, planes: &[Plane]) -> Option<Counts> {
        let mut master = Master::new(OptimizationDirection::Maximize);
        let all: Vec<&Plane> = planes.iter().chain([best]).collect();
        let parts: Vec<microlp::Variable> = all
            .iter()
            .map(|plane| {
                // The cost without multipliers.
                let of: i128 = plane.slopes.iter().zip(&plane.at).map(|(slope, at)| slope * at).sum();
                master.add_var((plane.value - of - best.value) as f64 / PART as f64, (0.0, 1.0))
            })
            .collect();
        let ones: Vec<_> = parts.iter().map(|part| (*part, 1.0)).collect();
        master.add_constraint(&ones[..], ComparisonOp::Eq, 1.0);
        for number in 0..self.multipliers.len() {
            let is_limit = number < self.problem.limits.len();
            if !is_limit {
                continue;
            }
            let terms: Vec<_> =
                parts.iter().zip(&all).map(|(part, plane)| (*part, plane.slopes[number] as f64)).collect();
            master.add_constraint(&terms[..], ComparisonOp::Ge, 0.0);
        }
        let solved = master.solve().ok()?;
        let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
        for (part, plane) in parts.iter().zip(&all) {
            let share = solved[*part];
            if share > 1e-12 {
                plane.counts.iter().for_each(|(edge, count)| *sums.entry(*edge).or_default() += share * *count as f64);
            }
        }
        let near = |count: &f64| (count - count.round()).abs() < 1e-3;
        if !sums.values().all(near) {
            return None;
        }
        let counts: Counts = sums
            .into_iter()
            .map(|(edge, count)| (edge, count.round() as u64))
            .filter(|(_, count)| *count > 0)
            .collect();
        let taken = |edge: &usize| counts.contains_key(edge);
        let violates = self.problem.conflicts.iter().any(|conflict| conflict.edges.iter().all(taken));
        (!violates && is_walk(self.problem, &counts)).then_some(counts)
    }
}

/// Whether the counts are those of a walk: as often into each node as out of it, and all in one piece.
fn is_walk(problem: &Problem, counts: &Counts) -> bool {
    let mut balance = vec![0i128; problem.nodes];
    balance[0] = 1;
    for (edge, count) in counts {
        let (from, to) = problem.edges[*edge];
        balance[from] -= i128::from(*count);
        balance[to] += i128::from(*count);
    }
    let open: Vec<usize> = (0..problem.nodes).filter(|node| balance[*node] != 0).collect();
    let ends = matches!(open[..], [end] if balance[end] == 1 && problem.exits.contains(&end));
    let mut reached = BTreeSet::from([0]);
    let mut changed = true;
    while changed {
        changed = false;
        for edge in counts.keys() {
            let (from, to) = problem.edges[*edge];
            changed |= reached.contains(&from) && reached.insert(to);
        }
    }
    ends && counts.keys().all(|edge| reached.contains(&problem.edges[*edge].0))
}
