//! Edges that no execution takes together, and what follows for their counts.

use std::collections::{BTreeMap, BTreeSet};

use crate::ipet::{Conflict as Together, Constraints, Limit};
use wcet_flow::context::{EdgeId, Expanded, LoopId};
use wcet_symbolic::scope::Scope;

use crate::infeasible::path_conditions::Step;

/// Edges of which each execution leaves out one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conflict {
    /// With the scope whose iteration takes them: one in which the others' scopes are, or inside them.
    pub edges: Vec<(EdgeId, Scope)>,
    /// The outermost of these scopes: the conflict is within one of its iterations.
    pub scope: Scope,
}

/// What a conflict says in the language of the path search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// Never taken.
    Dead(EdgeId),
    /// Not all taken in one iteration of the scope.
    Together(Together),
    Limit(Limit),
}

impl Conflict {
    /// From steps of one trail that cannot be taken together.
    pub fn of(graph: &Expanded<'_>, steps: &[&Step]) -> Conflict {
        let depth = |scope: Scope| std::iter::successors(scope, |one| graph.loops[*one].parent).count();
        let mut edges: Vec<(EdgeId, Scope)> = steps.iter().map(|step| (step.edge, step.scope)).collect();
        edges.sort_by_key(|(edge, scope)| (depth(*scope), *edge));
        edges.dedup();
        let scope = edges.first().and_then(|(_, scope)| *scope);
        Conflict { edges, scope }
    }

    /// What follows for counts; none if a bound of a loop is needed that is not known.
    ///
    /// Each edge is taken at most once in an iteration of its scope. If all edges but one are of the outermost scope, it
    /// is enough that they are not all taken in one of its iterations. Otherwise, let `x` be the counts, `h(j)` the number
    /// of iterations of the `j`-th scope, and `n(j)` its bound per iteration of the scope before it. The edges of scope
    /// `j` are all taken in at least `x - (number - 1) h(j)` of its iterations. For the innermost scope these iterations
    /// lie in iterations of outer scopes in which an edge is missing, of which there are at most the sum of
    /// `h(j) - x` over its edges.
    pub fn form(&self, graph: &Expanded<'_>, bound: &dyn Fn(LoopId) -> Option<u64>) -> Option<Form> {
        if let [(edge, _)] = self.edges[..] {
            return Some(Form::Dead(edge));
        }
        let deeper = self.edges.iter().filter(|(_, scope)| *scope != self.scope).count();
        if deeper <= 1 {
            let edges = self.edges.iter().map(|(edge, _)| *edge).collect();
            return Some(Form::Together(Together { scope: self.scope, edges }));
        }
        let mut sum = Sum::default();
        let mut scopes: Vec<Scope> = self.edges.iter().map(|(_, scope)| *scope).collect();
        scopes.dedup();
        let innermost = scopes.pop()?;
        let inner: Vec<EdgeId> = self.of_scope(innermost).collect();
        // At most 0: those of the innermost scope, less the iterations in which one of them is missing.
        inner.iter().for_each(|edge| sum.edge(*edge, 1));
        sum.iterations(graph, innermost, -(inner.len() as i64 - 1));
        // Iterations of the innermost scope for each of an outer one in which something is missing.
        let mut times: i64 = 1;
        let mut below = innermost;
        for scope in scopes.into_iter().rev() {
            while below != scope {
                let one = below?;
                times = times.checked_mul(i64::try_from(bound(one)?).ok()?)?;
                below = graph.loops[one].parent;
            }
            for edge in self.of_scope(scope) {
                sum.edge(edge, times);
                sum.iterations(graph, scope, -times);
            }
        }
        Some(Form::Limit(sum.limit()))
    }

    fn of_scope(&self, scope: Scope) -> impl Iterator<Item = EdgeId> + '_ {
        self.edges.iter().filter(move |(_, other)| *other == scope).map(|(edge, _)| *edge)
    }
}

/// A sum of counts, and a number.
#[derive(Default)]
struct Sum {
    terms: BTreeMap<EdgeId, i64>,
    number: i64,
}

impl Sum {
    fn edge(&mut self, edge: EdgeId, factor: i64) {
        *self.terms.entry(edge).or_default() += factor;
    }

    /// Adds the number of iterations of a scope.
    fn iterations(&mut self, graph: &Expanded<'_>, scope: Scope, factor: i64) {
        match scope {
            None => self.number += factor,
            Some(one) => {
                let of = &graph.loops[one];
                of.entries.iter().chain(&of.back).for_each(|edge| self.edge(*edge, factor));
                if of.header == graph.entry {
                    self.number += factor;
                }
            }
        }
    }

    fn limit(mut self) -> Limit {
        self.terms.retain(|_, factor| *factor != 0);
        Limit { terms: self.terms, at_most: -self.number }
    }
}

impl Form {
    /// Adds it, if it is not among the constraints already.
    pub fn add_to(&self, constraints: &mut Constraints) -> bool {
        match self {
            Form::Dead(edge) => constraints.dead.insert(*edge),
            Form::Together(conflict) if !constraints.conflicts.contains(conflict) => {
                constraints.conflicts.push(conflict.clone());
                true
            }
            Form::Limit(limit) if !constraints.limits.contains(limit) => {
                constraints.limits.push(limit.clone());
                true
            }
            Form::Together(_) | Form::Limit(_) => false,
        }
    }

    /// Whether counts respect it; for tests and for progress.
    pub fn edges(&self) -> BTreeSet<EdgeId> {
        match self {
            Form::Dead(edge) => BTreeSet::from([*edge]),
            Form::Together(conflict) => conflict.edges.iter().copied().collect(),
            Form::Limit(limit) => limit.terms.keys().copied().collect(),
        }
    }
}
