//! Feasibility of a path: a model of its condition, or an unsatisfiable core and the predicates that refine the abstraction.

use crate::expr::{self, Compare, Expr, Node, Op as Operation, Var};
use crate::hash::{HashMap, HashSet};
use crate::program::{Op, Program, Step};
use crate::solver::{Answer, Solver, SolverError};

/// Conditions that are propagated backwards where candidate values replace a havocked variable.
const MOST_ACTIVE: usize = 16;

pub enum Feasible {
    Yes(Values),
    /// Steps of assumptions that contradict each other: one contradiction or more, of which none shares a step with another.
    No(Vec<Vec<usize>>),
    Unknown,
}

#[derive(Debug, Clone, Default)]
pub struct Values {
    /// Of each assumption: its variables, with their values at that moment.
    pub read: HashMap<usize, Vec<(Var, u64)>>,
}

/// The steps of a path: those of all its edges, of the last one only the first `last`.
pub fn steps<'a>(program: &'a Program, edges: &[usize], last: usize) -> Vec<&'a Step> {
    let mut all = Vec::new();
    for (index, edge) in edges.iter().enumerate() {
        let own = &program.edges[*edge].steps;
        let count = if index + 1 == edges.len() { last.min(own.len()) } else { own.len() };
        all.extend(&own[..count]);
    }
    all
}

/// Symbolic values along a path.
struct Symbolic<'a> {
    program: &'a Program,
    now: HashMap<Var, Expr>,
    fresh: Var,
}

impl<'a> Symbolic<'a> {
    fn new(program: &'a Program) -> Self {
        Symbolic { program, now: HashMap::default(), fresh: program.vars.len() as Var }
    }

    fn open(&mut self, var: Var) -> Expr {
        let value = expr::var(self.fresh, self.program.vars[var as usize].bits);
        self.fresh += 1;
        self.now.insert(var, value);
        value
    }

    fn value(&mut self, of: Expr) -> Expr {
        for var in of.vars().iter() {
            if !self.now.contains_key(var) {
                self.open(*var);
            }
        }
        of.replace(&|var| self.now.get(&var).copied())
    }
}

/// Whether the steps are feasible. If `repeats` names a step, the values of these variables must be equal there and at the
/// end.
pub fn check(
    program: &Program,
    solver: &mut Solver,
    steps: &[&Step],
    repeats: Option<(usize, &HashSet<Var>)>,
) -> Result<Feasible, SolverError> {
    let mut symbolic = Symbolic::new(program);
    let (mut conditions, mut at) = (Vec::new(), Vec::new());
    let mut read: Vec<(usize, Vec<(Var, Expr)>)> = Vec::new();
    let mut marked: Vec<(Var, Expr)> = Vec::new();
    // Steps that are impossible by themselves.
    let mut alone: Vec<Vec<usize>> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        if let Some((_, vars)) = repeats.filter(|(start, _)| *start == index) {
            for var in vars {
                let own = expr::var(*var, program.vars[*var as usize].bits);
                marked.push((*var, symbolic.value(own)));
            }
        }
        match &step.op {
            Op::Assign(var, value) => {
                let value = symbolic.value(*value);
                symbolic.now.insert(*var, value);
            }
            Op::Havoc(var) => {
                symbolic.open(*var);
            }
            Op::Assume(condition) => {
                let value = symbolic.value(*condition);
                if value.is_false() {
                    if !has_clients(program) {
                        return Ok(Feasible::No(vec![vec![index]]));
                    }
                    alone.push(vec![index]);
                    continue;
                }
                let vars = condition.vars();
                read.push((index, vars.iter().map(|var| (*var, symbolic.now[var])).collect()));
                if !value.is_true() {
                    conditions.push(value);
                    at.push(index);
                }
            }
            _ => {}
        }
    }
    let mut all: Vec<(Expr, usize)> = std::iter::zip(conditions, at).collect();
    for (var, before) in marked {
        let own = expr::var(var, program.vars[var as usize].bits);
        let same = expr::equal(before, symbolic.value(own));
        if same.is_false() {
            return Ok(Feasible::No(vec![Vec::new()]));
        }
        if !same.is_true() {
            all.push((same, usize::MAX));
        }
    }
    if !alone.is_empty() {
        alone.reverse();
        alone.truncate(MOST_CORES);
        return Ok(Feasible::No(contradictions(solver, all, alone)?));
    }
    Ok(match solve(solver, program, all.clone(), &read)? {
        Feasible::No(first) if has_clients(program) => Feasible::No(contradictions(solver, all, first)?),
        feasible => feasible,
    })
}

/// Programs with several clients do much that has nothing to do with the one that is followed, so a path that is impossible mostly is
/// for several reasons, of which the simplest one is wanted.
fn has_clients(program: &Program) -> bool {
    program.client.is_some()
}

/// How many contradictions of a path are looked for.
const MOST_CORES: usize = 6;

/// Contradictions among the conditions, each from other steps.
fn contradictions(
    solver: &mut Solver,
    mut all: Vec<(Expr, usize)>,
    mut found: Vec<Vec<usize>>,
) -> Result<Vec<Vec<usize>>, SolverError> {
    while found.len() < MOST_CORES {
        let Some(last) = found.last().filter(|last| !last.is_empty()) else { break };
        all.retain(|(_, step)| *step == usize::MAX || !last.contains(step));
        let conditions: Vec<Expr> = all.iter().map(|(condition, _)| *condition).collect();
        let Answer::Unsat(core) = solver.check(&conditions, false, true)? else { break };
        found.push(core.into_iter().map(|one| all[one].1).filter(|one| *one != usize::MAX).collect());
    }
    Ok(found)
}

/// Whether conditions can hold together, each with the step that requires it (the greatest number: none), with the values of
/// what is read.
pub fn solve(
    solver: &mut Solver,
    program: &Program,
    all: Vec<(Expr, usize)>,
    read: &[(usize, Vec<(Var, Expr)>)],
) -> Result<Feasible, SolverError> {
    let (mut conditions, mut at): (Vec<Expr>, Vec<usize>) = all.into_iter().unzip();
    let mut lonely = match lonely(solver, program, &mut conditions, &mut at)? {
        Lonely::Values(values) => values,
        Lonely::Impossible(index) => return Ok(Feasible::No(vec![vec![index]])),
        Lonely::Unknown => return Ok(Feasible::Unknown),
    };
    Ok(match solver.check(&conditions, true, true)? {
        Answer::Sat(mut model) => {
            model.extend(lonely.drain());
            let of = |value: Expr| value.evaluate(&|var| model.get(&var).copied().unwrap_or(0));
            let values = |all: &[(Var, Expr)]| all.iter().map(|(var, value)| (*var, of(*value))).collect();
            Feasible::Yes(Values { read: read.iter().map(|(index, all)| (*index, values(all))).collect() })
        }
        Answer::Unsat(core) => {
            Feasible::No(vec![core.into_iter().map(|one| at[one]).filter(|one| *one != usize::MAX).collect()])
        }
        Answer::Unknown => Feasible::Unknown,
    })
}

enum Lonely {
    Values(HashMap<Var, u64>),
    Impossible(usize),
    Unknown,
}

/// Removes conditions whose variables occur in no other condition, as in polling, where each iteration reads a register
/// anew. They are decided separately, and equal ones only once.
fn lonely(
    solver: &mut Solver,
    program: &Program,
    conditions: &mut Vec<Expr>,
    at: &mut Vec<usize>,
) -> Result<Lonely, SolverError> {
    let mut uses: HashMap<Var, usize> = HashMap::default();
    for condition in conditions.iter() {
        condition.vars().iter().for_each(|var| *uses.entry(*var).or_default() += 1);
    }
    let first = program.vars.len() as Var;
    let mut known: HashMap<Expr, Option<HashMap<Var, u64>>> = HashMap::default();
    let mut values = HashMap::default();
    let (mut kept, mut kept_at) = (Vec::new(), Vec::new());
    for (condition, index) in std::iter::zip(conditions.drain(..), at.drain(..)) {
        let vars = condition.vars();
        if vars.iter().any(|var| uses[var] > 1) {
            kept.push(condition);
            kept_at.push(index);
            continue;
        }
        let number = |var: Var| vars.iter().position(|own| *own == var).map(|place| first + place as Var);
        let shape = condition.replace(&|var| number(var).map(|fresh| expr::var(fresh, condition.width_of(var))));
        let model = match known.get(&shape) {
            Some(model) => model,
            None => {
                let model = match solver.check(&[shape], true, false)? {
                    Answer::Sat(model) => Some(model),
                    Answer::Unsat(_) => None,
                    Answer::Unknown => return Ok(Lonely::Unknown),
                };
                known.entry(shape).or_insert(model)
            }
        };
        let Some(model) = model else { return Ok(Lonely::Impossible(index)) };
        values.extend(vars.iter().filter_map(|var| Some((*var, *model.get(&number(*var)?)?))));
    }
    (*conditions, *at) = (kept, kept_at);
    Ok(Lonely::Values(values))
}

/// Variables that decide whether the steps can be repeated: those that some later round reads before it sets them.
pub fn relevant(steps: &[&Step]) -> HashSet<Var> {
    let mut vars: HashSet<Var> = HashSet::default();
    loop {
        // The end of a round must provide what the next one needs.
        let mut live = vars.clone();
        for step in steps.iter().rev() {
            match &step.op {
                // What an assignment needs, it needs only if the variable is read later.
                Op::Assign(var, value) if live.remove(var) => live.extend(value.vars().iter()),
                Op::Havoc(var) => {
                    live.remove(var);
                }
                Op::Assume(condition) => live.extend(condition.vars().iter()),
                _ => {}
            }
        }
        if live == vars {
            return vars;
        }
        vars = live;
    }
}

/// How predicates are made of a core.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effort {
    /// A havocked variable is replaced by what an equality gives for it.
    Exact,
    /// ... or by the all-zero and the all-one value.
    Bold,
    /// Variables that have one value at an assumption of the core, or where another one of a condition is havocked, have
    /// that value.
    Values,
    /// Which bit a havocked variable takes out of a set does not matter: it is the lowest.
    Sets,
}

/// Predicates that exclude the path: the weakest preconditions of a contradiction's assumptions at each earlier moment. More effort is
/// made only if no predicate is new. Of several contradictions that one is taken which needs the fewest new ones, if possible of those that
/// are `near` what is checked. `is_new` says whether one is new and, if it is asked to, adds it.
pub fn predicates(
    steps: &[&Step],
    cores: &[Vec<usize>],
    distance: &dyn Fn(&[Expr]) -> u8,
    is_new: &mut dyn FnMut(Expr, bool) -> bool,
) -> bool {
    for effort in [Effort::Exact, Effort::Bold, Effort::Values, Effort::Sets] {
        let mut all: Vec<Vec<Expr>> = cores.iter().map(|core| collect(steps, core, effort)).collect();
        if all.len() > 1 {
            for own in &mut all {
                own.retain(|one| is_new(*one, false));
                own.sort_unstable();
                own.dedup();
            }
            all.retain(|own| !own.is_empty());
            all.sort_by_key(|own| (distance(own), own.len()));
        }
        for own in all {
            if own.into_iter().filter(|one| is_new(*one, true)).count() != 0 {
                return true;
            }
        }
    }
    false
}

fn collect(steps: &[&Step], core: &[usize], effort: Effort) -> Vec<Expr> {
    let mut found = Vec::new();
    let mut active: Vec<Expr> = Vec::new();
    for (index, step) in steps.iter().enumerate().rev() {
        match &step.op {
            Op::Assume(condition) if core.contains(&index) => {
                active.push(*condition);
                if effort == Effort::Values {
                    active.extend(values(&steps[..index], &condition.vars()));
                }
            }
            Op::Assign(var, value) if active.iter().any(|one| one.mentions(*var)) => {
                for condition in &mut active {
                    *condition = condition.replace(&|one| (one == *var).then_some(*value));
                }
            }
            Op::Havoc(var) if active.iter().any(|one| one.mentions(*var)) => {
                if effort == Effort::Values {
                    let open = active.iter().filter(|one| one.mentions(*var));
                    let others: Vec<Var> = open.flat_map(|one| one.vars().to_vec()).collect();
                    active.extend(values(&steps[..index], &others));
                }
                close(&mut active, *var, effort);
            }
            _ => continue,
        }
        active.sort_unstable();
        active.dedup();
        active.iter().for_each(|condition| condition.atoms(&mut found));
        active.retain(|condition| condition.value().is_none());
    }
    found
}

/// What these variables are equal to behind the steps, of those that have one value there whatever was havocked.
fn values(steps: &[&Step], vars: &[Var]) -> Vec<Expr> {
    let mut now: HashMap<Var, Expr> = HashMap::default();
    for step in steps {
        match &step.op {
            Op::Assign(var, value) => {
                let value = value.replace(&|one| now.get(&one).copied());
                now.remove(var);
                if value.value().is_some() {
                    now.insert(*var, value);
                }
            }
            Op::Havoc(var) => {
                now.remove(var);
            }
            _ => {}
        }
    }
    vars.iter().filter_map(|var| now.get(var).map(|value| expr::equal(expr::var(*var, value.bits()), *value))).collect()
}

/// Eliminates a variable from conditions.
fn close(active: &mut Vec<Expr>, var: Var, effort: Effort) {
    let equal = active.iter().find_map(|condition| match condition.node() {
        Node::Compare(Compare::Eq, a, b) => match (a.node(), b.node()) {
            (Node::Var { var: own, .. }, _) if own == var && !b.mentions(var) => Some(b),
            (_, Node::Var { var: own, .. }) if own == var && !a.mentions(var) => Some(a),
            _ => None,
        },
        _ => None,
    });
    if let Some(value) = equal {
        for condition in active.iter_mut() {
            *condition = condition.replace(&|one| (one == var).then_some(value));
        }
    }
    let open: Vec<Expr> = active.iter().copied().filter(|condition| condition.mentions(var)).collect();
    active.retain(|condition| !condition.mentions(var));
    for condition in open {
        if active.len() >= MOST_ACTIVE {
            break;
        }
        if effort == Effort::Bold {
            let bits = condition.width_of(var);
            for value in [0, u64::MAX] {
                active.push(condition.replace(&|one| (one == var).then_some(expr::constant(value, bits))));
            }
        }
        if effort == Effort::Sets {
            let made = without_lowest(condition, var);
            active.extend((!made.mentions(var)).then_some(made));
        }
    }
}

/// The lowest bit taken out of each set out of which the variable takes one: `set & ~(1 << var)` as `set & (set - 1)`. What is
/// left is empty for the one if and only if it is for the other.
fn without_lowest(of: Expr, var: Var) -> Expr {
    if !of.mentions(var) {
        return of;
    }
    let takes_out = |mask: Expr| match mask.node() {
        Node::Not(bit) => matches!(bit.node(), Node::Binary(Operation::Shl, one, _) if one.value() == Some(1)),
        _ => false,
    };
    let lowest = |set: Expr| expr::and(set, expr::binary(Operation::Sub, set, expr::constant(1, set.bits())));
    let go = |part: Expr| without_lowest(part, var);
    match of.node() {
        Node::Const { .. } | Node::Var { .. } => of,
        Node::Binary(Operation::And, set, mask) if takes_out(mask) && !set.mentions(var) => lowest(set),
        Node::Binary(Operation::And, mask, set) if takes_out(mask) && !set.mentions(var) => lowest(set),
        Node::Not(a) => expr::not(go(a)),
        Node::Binary(op, a, b) => expr::binary(op, go(a), go(b)),
        Node::Compare(op, a, b) => expr::compare(op, go(a), go(b)),
        Node::Choose(c, a, b) => expr::choose(go(c), go(a), go(b)),
        Node::Zero(a, bits) => expr::zero_extend(go(a), bits),
        Node::Sign(a, bits) => expr::sign_extend(go(a), bits),
        Node::Cut(a, bits) => expr::cut(go(a), bits),
    }
}
