//! The iterations of a loop as far as they concern a few variables, such as its counter. Conditions on others are left out, so
//! there may be iterations that the program cannot take, and paths that do the same to these variables are one. A loop whose
//! body has too many paths is analysed by such slices.

use crate::expr::Var;
use crate::hash::HashSet;
use crate::loops::bodies::{apply, open, Iteration, Now, MAX_PATHS};
use crate::loops::ranking::Loop;
use crate::program::{Edge, Op, Program};

/// A slice with more variables is not tried.
const MAX_VARS: usize = 8;

/// Sets of variables on which it depends whether the loop is left: one for each condition that leaves it, with all that its
/// variables are computed from inside the loop.
pub fn of(program: &Program, one: &Loop) -> Vec<HashSet<Var>> {
    let mut found: Vec<HashSet<Var>> = Vec::new();
    for edge in program.edges.iter().filter(|edge| one.nodes.contains(&edge.from) && !one.nodes.contains(&edge.to)) {
        for step in &edge.steps {
            let Op::Assume(condition) = &step.op else { continue };
            let Some(vars) = closure(program, one, condition.vars().iter().copied().collect()) else { continue };
            if !found.contains(&vars) {
                found.push(vars);
            }
        }
    }
    found
}

/// The variables with those that they are computed from inside the loop; none if there are too many.
fn closure(program: &Program, one: &Loop, mut vars: HashSet<Var>) -> Option<HashSet<Var>> {
    loop {
        let known = vars.len();
        if known > MAX_VARS {
            return None;
        }
        for step in program.edges.iter().filter(|edge| is_inside(one, edge)).flat_map(|edge| &edge.steps) {
            if let Op::Assign(var, value) = &step.op {
                if vars.contains(var) {
                    vars.extend(value.vars().iter());
                }
            }
        }
        if vars.len() == known {
            return Some(vars);
        }
    }
}

fn is_inside(one: &Loop, edge: &Edge) -> bool {
    one.nodes.contains(&edge.from) && one.nodes.contains(&edge.to)
}

/// What the paths from the loop's head back to it do to these variables; none if there are too many.
pub fn iterations(program: &Program, one: &Loop, vars: &HashSet<Var>) -> Option<Vec<Iteration>> {
    let out = program.leaving();
    let inner_of = |node: usize| one.inner.iter().position(|inner| inner.nodes.contains(&node));
    // An inner loop is one place, named by one of its nodes.
    let place_of = |node: usize| inner_of(node).map_or(node, |inner| one.inner[inner].head);
    let leaving = |place: usize| -> Vec<usize> {
        let nodes: Vec<usize> = match inner_of(place) {
            Some(inner) => {
                let mut all: Vec<usize> = one.inner[inner].nodes.iter().copied().collect();
                all.sort_unstable();
                all
            }
            None => vec![place],
        };
        let edges = nodes.into_iter().flat_map(|node| out[node].iter().copied());
        let is_kept = |edge: &usize| {
            let to = program.edges[*edge].to;
            one.nodes.contains(&to) && inner_of(place).is_none_or(|inner| !one.inner[inner].nodes.contains(&to))
        };
        edges.filter(is_kept).collect()
    };
    let order = order(one.head, &|place| {
        leaving(place)
            .into_iter()
            .map(|edge| program.edges[edge].to)
            .filter(|to| *to != one.head)
            .map(place_of)
            .collect()
    })?;
    let begin = Now::at_head(program);
    let mut states: Vec<(usize, Vec<Now>)> = vec![(one.head, vec![begin])];
    let mut made: Vec<Iteration> = Vec::new();
    for place in order {
        let Some(index) = states.iter().position(|(own, _)| *own == place) else { continue };
        let (_, mut here) = states.swap_remove(index);
        if let Some(inner) = inner_of(place) {
            // The inner loop ran any number of times, and may be left from any of its nodes.
            for step in program.edges.iter().filter(|edge| is_inside(&one.inner[inner], edge)).flat_map(|e| &e.steps) {
                if let Op::Assign(var, _) | Op::Havoc(var) = &step.op {
                    if vars.contains(var) {
                        here.iter_mut().for_each(|now| open(program, now, *var));
                    }
                }
            }
        }
        for edge in leaving(place) {
            let edge = &program.edges[edge];
            for now in &here {
                let mut now = now.clone();
                if !follow(program, &mut now, edge, vars) {
                    continue;
                }
                if edge.to == one.head {
                    let iteration = now.iteration();
                    if !made.contains(&iteration) {
                        made.push(iteration);
                    }
                    continue;
                }
                let to = place_of(edge.to);
                match states.iter_mut().find(|(own, _)| *own == to) {
                    Some((_, all)) if all.contains(&now) => {}
                    Some((_, all)) => all.push(now),
                    None => states.push((to, vec![now])),
                }
            }
        }
        if made.len() > MAX_PATHS || states.iter().any(|(_, all)| all.len() > MAX_PATHS) {
            return None;
        }
    }
    made.sort_unstable();
    Some(made)
}

/// Goes along an edge, as far as it concerns these variables. False if the edge cannot be taken.
fn follow(program: &Program, now: &mut Now, edge: &Edge, vars: &HashSet<Var>) -> bool {
    let concerns = |op: &Op| match op {
        Op::Assign(var, _) | Op::Havoc(var) => vars.contains(var),
        Op::Assume(condition) => condition.vars().iter().all(|var| vars.contains(var)),
        _ => false,
    };
    edge.steps.iter().filter(|step| concerns(&step.op)).all(|step| apply(program, now, step))
}

/// The places that are reached from the first, each behind all that lead to it; none if there is a cycle among them.
fn order(first: usize, next: &dyn Fn(usize) -> Vec<usize>) -> Option<Vec<usize>> {
    let mut done: Vec<usize> = Vec::new();
    let mut seen: HashSet<usize> = HashSet::default();
    let mut open: HashSet<usize> = HashSet::default();
    let mut work = vec![(first, next(first))];
    seen.insert(first);
    open.insert(first);
    while let Some((place, left)) = work.last_mut() {
        match left.pop() {
            Some(to) if open.contains(&to) => return None,
            Some(to) if seen.insert(to) => {
                open.insert(to);
                work.push((to, next(to)));
            }
            Some(_) => {}
            None => {
                open.remove(place);
                done.push(*place);
                work.pop();
            }
        }
    }
    done.reverse();
    Some(done)
}
