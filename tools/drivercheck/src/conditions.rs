//! Conditions before they are asked about: what they say of single variables, and which have nothing to do with each other.

use crate::expr::{self, Expr, Var};
use crate::hash::{HashMap, HashSet};
use std::collections::BTreeSet;

/// The conditions with the variables replaced that they say have one value, and these values. Nothing if they contradict
/// each other already: much that is asked is as simple as that.
pub fn substituted(mut all: Vec<Expr>) -> Option<(Vec<Expr>, HashMap<Var, u64>)> {
    let mut values: HashMap<Var, u64> = HashMap::default();
    loop {
        let mut fresh: HashMap<Var, Expr> = HashMap::default();
        for condition in &all {
            if let Some((var, value)) = condition.fixes() {
                fresh.entry(var).or_insert(value);
            }
        }
        if fresh.is_empty() {
            break;
        }
        values.extend(fresh.iter().filter_map(|(var, value)| Some((*var, value.value()?))));
        for condition in &mut all {
            *condition = condition.replace(&|var| fresh.get(&var).copied());
        }
        all.retain(|one| !one.is_true());
    }
    let known: HashSet<Expr> = all.iter().copied().collect();
    let contradicts = |one: &Expr| one.is_false() || known.contains(&expr::not(*one));
    (!all.iter().any(contradicts)).then_some((all, values))
}

/// Groups of conditions, such that no two have a variable in common: what holds for one does not matter for another. The
/// order within stays.
pub fn independent(all: &[Expr]) -> Vec<Vec<Expr>> {
    let mut groups: Vec<(BTreeSet<Var>, Vec<usize>)> = Vec::new();
    for (index, condition) in all.iter().enumerate() {
        if all[..index].contains(condition) {
            continue;
        }
        let mut merged = (condition.vars().iter().copied().collect::<BTreeSet<Var>>(), vec![index]);
        let (near, far): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(vars, _)| !vars.is_disjoint(&merged.0));
        for (vars, members) in near {
            merged.0.extend(vars);
            merged.1.extend(members);
        }
        groups = far;
        groups.push(merged);
    }
    let sorted = |mut members: Vec<usize>| {
        members.sort_unstable();
        members.into_iter().map(|index| all[index]).collect()
    };
    groups.into_iter().map(|(_, members)| sorted(members)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{and, compare, constant, equal, not, var, Compare};

    #[test]
    fn variables_with_one_value_are_replaced() {
        let (a, b, c) = (var(0, 8), var(1, 8), var(2, 1));
        let two = constant(2, 8);
        let all = vec![equal(a, b), equal(two, b), not(c), compare(Compare::ULt, var(3, 8), a)];
        let (left, values) = substituted(all).expect("they can hold together");
        assert_eq!(left, [compare(Compare::ULt, var(3, 8), two)]);
        assert_eq!((values[&0], values[&1], values[&2]), (2, 2, 0));
    }

    #[test]
    fn contradictions_are_seen() {
        let (a, b) = (var(0, 8), var(1, 8));
        let is = |one, value| equal(one, constant(value, 8));
        assert!(substituted(vec![is(a, 1), is(a, 2)]).is_none());
        assert!(substituted(vec![is(a, 1), is(b, 2), equal(a, b)]).is_none());
        let below = compare(Compare::ULt, a, b);
        assert!(substituted(vec![below, not(below)]).is_none());
        assert!(substituted(vec![and(below, not(is(a, 3))), not(is(b, 3))]).is_some());
    }
}
