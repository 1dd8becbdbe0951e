//! Paths through summarised loops, made whole: a path of the program itself, with values.
//!
//! At the head of a summarised loop, iterations are put in with the numbers as they are, until nothing known speaks against
//! going on as the path does. Where the solver then finds a contradiction, loops that have to do with it are gone round
//! once more, and so on, within bounds.

use crate::expr::{self, Expr, Var};
use crate::path::{self, Feasible, Values};
use crate::program::{Op, Program, Step};
use crate::safety::Context;
use crate::solver::{Solver, SolverError};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::Range;

/// Steps of a whole path; a polling loop with a bound of a hundred thousand fits.
const MOST_STEPS: usize = 2_000_000;
/// Ways that are tried to go round loops more often.
const ATTEMPTS: usize = 60;

pub struct Whole<'a> {
    pub steps: Vec<&'a Step>,
    /// Steps before each edge's end of the path it was made from.
    before: Vec<usize>,
    /// Steps of iterations that were put in.
    pub rounds: Vec<Range<usize>>,
    /// The loops on the path: where, and their heads.
    loops: Vec<(usize, usize)>,
}

pub enum Search<'a> {
    Found(Box<Found<'a>>),
    /// None was found; the summaries of these loops, by their heads, may be too coarse.
    Nothing(BTreeSet<usize>),
}

pub struct Found<'a> {
    pub whole: Whole<'a>,
    pub values: Values,
    /// The step from which the run repeats, if it was to.
    pub first: Option<usize>,
}

/// Makes a path of the summarised program whole; of its last edge, the first `last` steps. With `turn`, the run is to repeat
/// for ever from that edge on.
pub fn find<'a>(
    context: &Context<'a>,
    solver: &mut Solver,
    edges: &[usize],
    last: usize,
    turn: Option<usize>,
) -> Result<Search<'a>, SolverError> {
    let mut blame = BTreeSet::new();
    let mut queue: VecDeque<Vec<usize>> = VecDeque::from([Vec::new()]);
    let mut tried: HashSet<Vec<usize>> = HashSet::new();
    while let Some(more) = queue.pop_front() {
        if tried.len() >= ATTEMPTS {
            break;
        }
        if !tried.insert(more.clone()) {
            continue;
        }
        let whole = match make(context, edges, last, &more) {
            Ok(whole) => whole,
            Err(stuck) => {
                if more.is_empty() {
                    blame = stuck;
                }
                continue;
            }
        };
        let first = turn.map(|edge| edge.checked_sub(1).map_or(0, |edge| whole.before[edge]));
        let matter = first.map(|first| path::relevant(&whole.steps[first..])).unwrap_or_default();
        let repeats = first.map(|first| (first, &matter));
        match path::check(context.base, solver, &whole.steps, repeats)? {
            Feasible::Yes(values) => return Ok(Search::Found(Box::new(Found { whole, values, first }))),
            Feasible::Unknown => return Ok(Search::Nothing(blame)),
            Feasible::No(core) => {
                let end = core.iter().max().copied().unwrap_or(whole.steps.len() - 1);
                let cone = cone(&whole.steps, &core, &matter);
                for (index, (at, head)) in whole.loops.iter().enumerate().rev() {
                    if *at <= end && changes(context, *head).any(|var| cone.contains(&var)) {
                        let mut next = more.clone();
                        next.resize(next.len().max(index + 1), 0);
                        next[index] += 1;
                        queue.push_back(next);
                        if more.is_empty() {
                            blame.insert(*head);
                        }
                    }
                }
            }
        }
    }
    Ok(Search::Nothing(blame))
}

/// Variables that bear on conditions.
fn cone(steps: &[&Step], core: &[usize], matter: &HashSet<Var>) -> HashSet<Var> {
    let mut vars = matter.clone();
    for index in core {
        if let Op::Assume(condition) = &steps[*index].op {
            vars.extend(condition.vars().iter());
        }
    }
    loop {
        let before = vars.len();
        for step in steps {
            if let Op::Assign(var, value) = &step.op {
                if vars.contains(var) {
                    vars.extend(value.vars().iter());
                }
            }
        }
        if vars.len() == before {
            return vars;
        }
    }
}

fn changes<'a>(context: &'a Context, head: usize) -> impl Iterator<Item = Var> + 'a {
    let nodes = &context.summarised.heads[&head];
    let inside = context.base.edges.iter().filter(|edge| nodes.contains(&edge.from) && nodes.contains(&edge.to));
    inside.flat_map(|edge| &edge.steps).filter_map(|step| match step.op {
        Op::Assign(var, _) | Op::Havoc(var) => Some(var),
        _ => None,
    })
}

struct Run<'a> {
    base: &'a Program,
    out: Vec<Vec<usize>>,
    values: HashMap<Var, Expr>,
    /// What the variables were before each change, so that it can be taken back.
    journal: Vec<(Var, Option<Expr>)>,
    fresh: Var,
    steps: Vec<&'a Step>,
}

impl<'a> Run<'a> {
    fn mark(&self) -> (usize, usize) {
        (self.journal.len(), self.steps.len())
    }

    fn undo(&mut self, mark: (usize, usize)) {
        for (var, value) in self.journal.drain(mark.0..).rev() {
            match value {
                Some(value) => self.values.insert(var, value),
                None => self.values.remove(&var),
            };
        }
        self.steps.truncate(mark.1);
    }

    /// Goes along an edge, if nothing known speaks against it; otherwise changes nothing.
    fn along(&mut self, edge: usize, steps: Range<usize>) -> bool {
        let mark = self.mark();
        let base = self.base;
        let all = &base.edges[edge].steps;
        for step in &all[steps.start.min(all.len())..steps.end.min(all.len())] {
            let set = match &step.op {
                Op::Assign(var, value) => Some((*var, value.replace(&|one| self.values.get(&one).copied()))),
                Op::Havoc(var) => {
                    self.fresh += 1;
                    Some((*var, expr::var(self.fresh, base.vars[*var as usize].bits)))
                }
                Op::Assume(condition) => {
                    if condition.replace(&|one| self.values.get(&one).copied()).is_false() {
                        self.undo(mark);
                        return false;
                    }
                    None
                }
                _ => None,
            };
            if let Some((var, value)) = set {
                let old = self.values.insert(var, value);
                self.journal.push((var, old));
            }
            self.steps.push(step);
        }
        true
    }

    /// Goes once round a loop, from its head back to it, by whatever branches are open.
    fn round(&mut self, head: usize, nodes: &HashSet<usize>) -> bool {
        let mut node = head;
        loop {
            let inside = |edge: &usize| nodes.contains(&self.base.edges[*edge].to);
            let choices: Vec<usize> = self.out[node].iter().copied().filter(inside).collect();
            let Some(edge) = choices.into_iter().find(|edge| self.along(*edge, 0..usize::MAX)) else { return false };
            node = self.base.edges[edge].to;
            if node == head {
                return true;
            }
            if self.steps.len() > MOST_STEPS {
                return false;
            }
        }
    }
}

/// One way to make a path whole: `more` says how many more iterations than needed each loop gets.
/// Otherwise tells the loops after whose last iteration the path could not go on.
fn make<'a>(context: &Context<'a>, path: &[usize], last: usize, more: &[usize]) -> Result<Whole<'a>, BTreeSet<usize>> {
    let (base, program, summarised) = (context.base, context.program, context.summarised);
    let mut run = Run {
        base,
        out: base.leaving(),
        values: HashMap::new(),
        journal: Vec::new(),
        fresh: base.vars.len() as Var,
        steps: Vec::new(),
    };
    let mut whole = Whole { steps: Vec::new(), before: Vec::new(), rounds: Vec::new(), loops: Vec::new() };
    // The steps of an edge of the path, in the program itself.
    let piece = |at: usize| {
        let edge = &program.edges[path[at]];
        let count = if at + 1 == path.len() { last.min(edge.steps.len()) } else { edge.steps.len() };
        (edge.origin.0, edge.origin.1..edge.origin.1 + count)
    };
    for at in 0..path.len() {
        let (edge, steps) = piece(at);
        if !run.along(edge, steps.clone()) {
            // What the edge asks for cannot be: loops before it that bear on that.
            let mut until = run.steps.clone();
            let all = &base.edges[edge].steps;
            until.extend(&all[steps.start.min(all.len())..steps.end.min(all.len())]);
            let core: Vec<usize> = (run.steps.len()..until.len()).collect();
            let cone = cone(&until, &core, &HashSet::new());
            let heads = whole.loops.iter().map(|(_, head)| *head);
            return Err(heads.filter(|head| changes(context, *head).any(|var| cone.contains(&var))).collect());
        }
        whole.before.push(run.steps.len());
        let head = program.edges[path[at]].to;
        let Some(nodes) = summarised.heads.get(&head) else { continue };
        // The rest of the path inside the loop, up to the next head.
        let mut end = at + 1;
        while end < path.len() {
            let to = program.edges[path[end]].to;
            end += 1;
            if !nodes.contains(&to) || summarised.heads.contains_key(&to) {
                break;
            }
        }
        let mut left = more.get(whole.loops.len()).copied().unwrap_or(0);
        whole.loops.push((run.steps.len(), head));
        let start = run.steps.len();
        loop {
            let mark = run.mark();
            let fits = (at + 1..end).all(|next| {
                let (edge, steps) = piece(next);
                run.along(edge, steps)
            });
            run.undo(mark);
            if fits && left == 0 {
                break;
            }
            left = left.saturating_sub(usize::from(fits));
            if run.steps.len() > MOST_STEPS || !run.round(head, nodes) {
                return Err(BTreeSet::from([head]));
            }
        }
        if run.steps.len() > start {
            whole.rounds.push(start..run.steps.len());
        }
    }
    whole.steps = run.steps;
    Ok(whole)
}
