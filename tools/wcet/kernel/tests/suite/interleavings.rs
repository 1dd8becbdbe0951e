//! The bound on waits for locks against every interleaving of small systems: it is never below the longest wait that there is,
//! and at most a fifth above it.

use std::collections::{BTreeMap, BTreeSet};

use wcet_kernel::{Section, Sections, Taken};

/// What a processor does: `Work` takes time, the others none but what is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Take(usize),
    Work(u64),
    Give(usize),
}
use Step::{Give, Take, Work};

/// What processors do over and over, in any order, with any pauses between.
type Programs<'a> = &'a [&'a [Step]];

/// Where each of the other processors is: the program, its next step, and how much of that is done; and the queues of locks,
/// whose first holds the lock. Processor 0 is the one whose wait is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    at: Vec<Option<(usize, usize, u64)>>,
    queues: Vec<Vec<usize>>,
}

impl State {
    fn idle(processors: usize, locks: usize) -> State {
        State { at: vec![None; processors - 1], queues: vec![Vec::new(); locks] }
    }

    /// All that may happen next without time going by.
    fn at_once(&self, programs: Programs<'_>) -> Vec<State> {
        let mut found = Vec::new();
        for (index, at) in self.at.iter().enumerate() {
            let processor = index + 1;
            let mut next = self.clone();
            let Some((program, step, done)) = *at else {
                for program in 0..programs.len() {
                    let mut started = self.clone();
                    started.at[index] = Some((program, 0, 0));
                    found.push(started);
                }
                continue;
            };
            let go_on = |next: &mut State| {
                next.at[index] = Some((program, step + 1, 0)).filter(|_| step + 1 < programs[program].len());
            };
            match programs[program][step] {
                Take(lock) if self.queues[lock].first() == Some(&processor) => go_on(&mut next),
                Take(lock) if !self.queues[lock].contains(&processor) => next.queues[lock].push(processor),
                Work(cycles) if done == cycles => go_on(&mut next),
                Give(lock) => {
                    next.queues[lock].remove(0);
                    go_on(&mut next);
                }
                Take(_) | Work(_) => continue,
            }
            found.push(next);
        }
        found
    }

    /// One cycle later; None if a processor has something to do at once.
    fn later(&self, programs: Programs<'_>) -> Option<State> {
        let mut next = self.clone();
        for (index, at) in next.at.iter_mut().enumerate() {
            let Some((program, step, done)) = at else { continue };
            match programs[*program][*step] {
                Work(cycles) if *done < cycles => *done += 1,
                Take(lock) if self.queues[lock].iter().position(|one| *one == index + 1) > Some(0) => {}
                _ => return None,
            }
        }
        Some(next)
    }

    fn reachable(self, programs: Programs<'_>) -> BTreeSet<State> {
        let (mut found, mut open) = (BTreeSet::from([self.clone()]), vec![self]);
        while let Some(state) = open.pop() {
            for next in state.at_once(programs).into_iter().chain(state.later(programs)) {
                if found.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        found
    }

    /// The longest time until processor 0, which waits for this lock, has it.
    fn longest(&self, programs: Programs<'_>, lock: usize, known: &mut BTreeMap<State, u64>) -> u64 {
        if self.queues[lock].first() == Some(&0) {
            return 0;
        }
        if let Some(longest) = known.get(self) {
            return *longest;
        }
        let at_once = self.at_once(programs).into_iter().map(|next| next.longest(programs, lock, known)).max();
        let later = self.later(programs).map(|next| 1 + next.longest(programs, lock, known));
        let longest = at_once.max(later).expect("something happens");
        known.insert(self.clone(), longest);
        longest
    }
}

/// The longest wait for a lock among so many processors.
fn longest(programs: Programs<'_>, processors: usize, locks: usize, lock: usize) -> u64 {
    let mut known = BTreeMap::new();
    let asks = |mut state: State| {
        state.queues[lock].push(0);
        state.longest(programs, lock, &mut known)
    };
    State::idle(processors, locks).reachable(programs).into_iter().map(asks).max().expect("at least the first")
}

/// What the analysis would read from the programs.
fn sections(programs: Programs<'_>, locks: usize) -> Sections {
    let mut all: BTreeMap<((usize, usize), Taken), Section> = BTreeMap::new();
    for program in programs {
        for (place, step) in program.iter().enumerate() {
            let Take(lock) = *step else { continue };
            let within = program[place + 1..].iter().take_while(|step| **step != Give(lock));
            let (mut taken, mut cycles) = (Taken::new(), 0);
            for step in within {
                match step {
                    Take(inner) => *taken.entry((*inner, *inner)).or_default() += 1,
                    Work(more) => cycles += more,
                    Give(_) => {}
                }
            }
            let section = all.entry(((lock, lock), taken)).or_default();
            section.cycles = section.cycles.max(cycles);
        }
    }
    Sections::of_kinds(all, locks)
}

/// For 2 to 4 processors and each lock: the bound, and the longest wait.
fn compared(programs: Programs<'_>, locks: usize) -> Vec<(u64, u64)> {
    let sections = sections(programs, locks);
    let mut found = Vec::new();
    for processors in 2..=4 {
        let bounds = sections.one_wait(processors).expect("the locks are taken in one order");
        for (lock, bound) in bounds.iter().enumerate() {
            let longest = longest(programs, processors as usize, locks, lock);
            assert!(*bound >= longest, "{processors} processors wait {longest} for {lock}, not {bound}: {programs:?}");
            assert!(
                5 * bound <= 6 * longest,
                "{processors} processors wait {longest} for {lock}: {bound}: {programs:?}"
            );
            found.push((*bound, longest));
        }
    }
    found
}

const INNER: &[Step] = &[Take(0), Work(2), Give(0)];
const OUTER: &[Step] = &[Take(1), Work(1), Take(0), Work(2), Give(0), Work(1), Give(1)];

#[test]
fn a_lock_in_which_no_other_is_taken() {
    let one = compared(&[&[Take(0), Work(3), Give(0)]], 1);
    assert_eq!(one, [(3, 3), (6, 6), (9, 9)]);
    // The longest of its sections counts.
    compared(&[&[Take(0), Work(1), Give(0)], &[Take(0), Work(2), Give(0)]], 1);
}

#[test]
fn a_lock_around_another() {
    let found = compared(&[INNER, OUTER], 2);
    // Of three that wait for the outer lock, the second can be delayed by one at the inner lock, the third by two.
    assert_eq!(found, [(2, 2), (4, 4), (4, 4), (10, 10), (6, 6), (18, 18)]);
    // Taken twice, or under one of two.
    compared(&[INNER, &[Take(1), Take(0), Work(1), Give(0), Work(1), Take(0), Work(1), Give(0), Give(1)]], 2);
    compared(&[INNER, OUTER, &[Take(2), Work(1), Take(0), Work(1), Give(0), Give(2)]], 3);
}

#[test]
fn a_lock_around_another_around_a_third() {
    let middle = &[Take(1), Work(1), Take(0), Work(1), Give(0), Give(1)];
    let outer = &[Take(2), Work(1), Take(1), Take(0), Work(1), Give(0), Give(1), Give(2)];
    compared(&[&[Take(0), Work(1), Give(0)], middle, outer], 3);
}

#[test]
fn a_long_section_and_one_that_waits() {
    // Which of the two is longer depends on how many may get in its way.
    compared(&[&[Take(1), Work(4), Give(1)], &[Take(1), Work(1), Take(0), Work(2), Give(0), Give(1)], INNER], 2);
}
