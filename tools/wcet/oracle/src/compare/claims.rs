//! What the analysis says of all runs, held against every run: edges never taken, loops, and paths excluded.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use wcet_flow::context::{EdgeId, Expanded, LoopId};
use wcet_paths::analysis::Claims;

use crate::measure::count::{count_and_see, heads, Counts};
use crate::measure::walk::Step;
use crate::measure::Error;

/// Claims that some case of `file` contradicts, each in words.
pub(crate) fn broken(file: &Path, claims: &Claims<'_, '_>) -> Result<BTreeSet<String>, Error> {
    Ok(contradicted(file, claims, u64::MAX)?.0)
}

/// The same of so many instructions at most, with what was counted.
pub(crate) fn contradicted(
    file: &Path,
    claims: &Claims<'_, '_>,
    most: u64,
) -> Result<(BTreeSet<String>, Counts), Error> {
    let Claims { program, expanded, bounds, constraints } = claims;
    let mut found = BTreeSet::new();
    let place = |edge: EdgeId| {
        let edge = expanded.edges[edge];
        format!("{} to {}", expanded.place(edge.from), expanded.place(edge.to))
    };
    let mut run = Run::new(expanded);
    let counts = count_and_see(file, program, expanded, most, &mut |step| {
        match step {
            Step::Entered => run.begin(),
            Step::Along(edge) => run.take(*edge),
            Step::Inside | Step::Outside => return,
            Step::Left => run.ended = true,
        }
        for conflict in &constraints.conflicts {
            if run.took_all(conflict.scope, &conflict.edges) {
                let edges: Vec<String> = conflict.edges.iter().map(|edge| place(*edge)).collect();
                found.insert(format!("all of these are taken, and said to exclude each other: {}", edges.join(", ")));
            }
        }
        // A limit speaks of whole runs.
        for limit in constraints.limits.iter().filter(|_| run.ended) {
            let sum: i128 = limit.terms.iter().map(|(edge, factor)| run.of(*edge) * i128::from(*factor)).sum();
            if sum > i128::from(limit.at_most) {
                found.insert(format!("a sum of edges is {sum}, and said to be at most {}", limit.at_most));
            }
        }
    })?;
    for edge in constraints.dead.iter().filter(|edge| counts.taken[**edge]) {
        found.insert(format!("the edge from {} is taken, and said to be dead", place(*edge)));
    }
    for (number, bound) in bounds.iter().filter(|(number, bound)| counts.loops[**number] > **bound) {
        let header = expanded.place(expanded.loops[*number].header);
        found.insert(format!("the loop at {header} runs {} times, bound {bound}", counts.loops[*number]));
    }
    for total in constraints.totals.iter().filter(|total| expanded.loops[total.inner].parent == Some(total.outer)) {
        if counts.totals[total.inner] > total.headers {
            let header = expanded.place(expanded.loops[total.inner].header);
            found.insert(format!("the loop at {header} runs {} times in all", counts.totals[total.inner]));
        }
    }
    Ok((found, counts))
}

/// The edges that one case has taken so far, in all and in the iteration of each loop in which it is.
struct Run {
    heads: Vec<Vec<(LoopId, bool)>>,
    within: BTreeMap<LoopId, BTreeSet<EdgeId>>,
    all: BTreeMap<EdgeId, u64>,
    /// Of each edge, the loops that it is in: those whose iterations it is a part of.
    loops: Vec<Vec<LoopId>>,
    /// Loops of which another iteration begins with the next edge.
    fresh: Vec<LoopId>,
    ended: bool,
}

impl Run {
    fn new(expanded: &Expanded<'_>) -> Run {
        // An edge belongs to the iteration that it leaves, also where it leaves the loop or closes it.
        let loops = expanded.edges.iter().map(|edge| expanded.around(edge.from).collect()).collect();
        Run {
            heads: heads(expanded),
            within: BTreeMap::new(),
            all: BTreeMap::new(),
            loops,
            fresh: Vec::new(),
            ended: false,
        }
    }

    fn begin(&mut self) {
        self.within.clear();
        self.all.clear();
        self.fresh.clear();
        self.ended = false;
    }

    fn take(&mut self, edge: EdgeId) {
        *self.all.entry(edge).or_default() += 1;
        for one in self.fresh.drain(..) {
            self.within.remove(&one);
        }
        for one in &self.loops[edge] {
            self.within.entry(*one).or_default().insert(edge);
        }
        self.fresh.extend(self.heads[edge].iter().map(|(one, _)| *one));
    }

    /// Whether the iteration of the scope that goes on, or has just ended, took all these edges.
    fn took_all(&self, scope: Option<LoopId>, edges: &[EdgeId]) -> bool {
        match scope {
            None => edges.iter().all(|edge| self.all.contains_key(edge)),
            Some(one) => self.within.get(&one).is_some_and(|within| edges.iter().all(|edge| within.contains(edge))),
        }
    }

    fn of(&self, edge: EdgeId) -> i128 {
        self.all.get(&edge).copied().map_or(0, i128::from)
    }
}

#[cfg(test)]
mod tests {
    use super::broken;
    use crate::adversarial::program;
    use crate::measure::build::{build, Target};
    use crate::measure::count::count;
    use crate::measure::Error;
    use wcet_paths::analysis::{analyse_and_show, load_machine, Claims, Request};
    use wcet_paths::ipet::{Conflict, Constraints, Limit};

    /// What is true of a program is not broken, and each kind of claim is once it is false.
    #[test]
    fn false_claims_are_found() {
        let target = Target::ArmSpeed;
        let folder = std::env::temp_dir().join(format!("wcet-claims-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = build(&program(1, target, &folder).unwrap(), target, &folder).unwrap();
        let request = Request {
            data: std::fs::read(&file).unwrap(),
            entry: Some("entry".to_string()),
            machine: Some(load_machine(None, &target.machine_file().to_string_lossy(), &[]).unwrap()),
            ..Request::default()
        };
        let mut tried = 0;
        analyse_and_show(&request, &mut |_, _, _| {}, &mut |claims| {
            tried = try_all(&file, &claims).unwrap();
        });
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(tried, 5);
    }

    fn try_all(file: &std::path::Path, claims: &Claims<'_, '_>) -> Result<usize, Error> {
        let said = |bounds, constraints: &Constraints| {
            let Claims { program, expanded, .. } = *claims;
            broken(file, &Claims { program, expanded, bounds, constraints })
        };
        assert_eq!(said(claims.bounds.clone(), claims.constraints)?.len(), 0);
        let counts = count(file, claims.program, claims.expanded)?;
        let taken: Vec<usize> = (0..counts.taken.len()).filter(|edge| counts.taken[*edge]).collect();
        let less = counts.loops.iter().map(|most| most.saturating_sub(1)).enumerate().collect();
        assert!(!said(less, &Constraints::default())?.is_empty());
        let first = taken[0];
        let wrong = [
            Constraints { dead: [first].into(), ..Constraints::default() },
            Constraints { conflicts: vec![Conflict { scope: None, edges: vec![first] }], ..Constraints::default() },
            Constraints { limits: vec![Limit { terms: [(first, 1)].into(), at_most: 0 }], ..Constraints::default() },
        ];
        for constraints in &wrong {
            assert!(!said(claims.bounds.clone(), constraints)?.is_empty(), "{constraints:?}");
        }
        Ok(2 + wrong.len())
    }
}
