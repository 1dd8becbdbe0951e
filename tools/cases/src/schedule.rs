//! Which test begins next: a fixed order, the longest first, of which each moment takes the first that fits. Tests that
//! need the machine for themselves come last.

use super::needs::{Capacity, Needs};
use std::collections::BTreeSet;

#[derive(Debug)]
pub struct Schedule {
    needs: Vec<Needs>,
    /// Numbers of tests that have not begun, in their order.
    waiting: Vec<usize>,
    free: Capacity,
    /// Words of `exclusive` of the tests that run.
    held: BTreeSet<String>,
    running: usize,
    alone: bool,
}

impl Schedule {
    /// A schedule of the tests with these needs; one that needs more than there is gets all there is.
    pub fn new(needs: impl Iterator<Item = Needs>, capacity: Capacity) -> Schedule {
        let clamped = |needs: Needs| Needs {
            cores: needs.cores.min(capacity.cores),
            memory: needs.memory.min(capacity.memory),
            ..needs
        };
        let needs: Vec<Needs> = needs.map(clamped).collect();
        let mut waiting: Vec<usize> = (0..needs.len()).collect();
        waiting.sort_by_key(|&test| (needs[test].alone, std::cmp::Reverse(needs[test].seconds)));
        Schedule { needs, waiting, free: capacity, held: BTreeSet::new(), running: 0, alone: false }
    }

    /// Begins a test that fits beside those that run, if there is one.
    pub fn begin(&mut self) -> Option<usize> {
        let place = self.waiting.iter().position(|&test| self.fits(&self.needs[test]))?;
        let test = self.waiting.remove(place);
        let needs = &self.needs[test];
        self.free.cores -= needs.cores;
        self.free.memory -= needs.memory;
        self.held.extend(needs.exclusive.clone());
        self.running += 1;
        self.alone = needs.alone;
        Some(test)
    }

    /// A test that was begun has ended.
    pub fn end(&mut self, test: usize) {
        let needs = &self.needs[test];
        self.free.cores += needs.cores;
        self.free.memory += needs.memory;
        if let Some(word) = &needs.exclusive {
            self.held.remove(word);
        }
        self.running -= 1;
        self.alone = false;
    }

    /// Nothing runs and nothing waits.
    pub fn is_done(&self) -> bool {
        self.running == 0 && self.waiting.is_empty()
    }

    fn fits(&self, needs: &Needs) -> bool {
        if self.running == 0 {
            return true;
        }
        let excluded = needs.exclusive.as_ref().is_some_and(|word| self.held.contains(word));
        let room = needs.cores <= self.free.cores && needs.memory <= self.free.memory;
        room && !excluded && !needs.alone && !self.alone
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;
    use crate::needs::{Capacity, Needs};

    const TWO: Capacity = Capacity { cores: 2, memory: 4000 };

    fn needs(cores: usize, seconds: u64) -> Needs {
        Needs { cores, seconds, memory: 1000, ..Needs::default() }
    }

    fn schedule(all: &[Needs]) -> Schedule {
        Schedule::new(all.iter().cloned(), TWO)
    }

    fn begun(schedule: &mut Schedule) -> Vec<usize> {
        std::iter::from_fn(|| schedule.begin()).collect()
    }

    #[test]
    fn the_longest_begin_first_and_fill_the_cores() {
        let mut schedule = schedule(&[needs(1, 5), needs(1, 50), needs(1, 20), needs(1, 5)]);
        assert_eq!(begun(&mut schedule), [1, 2]);
        schedule.end(2);
        assert_eq!(begun(&mut schedule), [0]);
        schedule.end(1);
        assert_eq!(begun(&mut schedule), [3]);
        assert!(!schedule.is_done());
        schedule.end(0);
        schedule.end(3);
        assert!(schedule.is_done());
    }

    #[test]
    fn a_test_of_two_cores_waits_for_both_while_smaller_ones_pass_it() {
        let mut schedule = schedule(&[needs(1, 90), needs(2, 80), needs(1, 10)]);
        assert_eq!(begun(&mut schedule), [0, 2]);
        schedule.end(0);
        assert!(begun(&mut schedule).is_empty());
        schedule.end(2);
        assert_eq!(begun(&mut schedule), [1]);
    }

    #[test]
    fn memory_limits_too() {
        let large = Needs { memory: 2500, ..needs(1, 20) };
        let mut schedule = schedule(&[large.clone(), large, needs(1, 1)]);
        assert_eq!(begun(&mut schedule), [0, 2]);
    }

    #[test]
    fn more_than_there_is_runs_with_all_there_is() {
        let mut schedule = schedule(&[Needs { cores: 64, memory: u64::MAX, ..needs(1, 5) }, needs(1, 4)]);
        assert_eq!(begun(&mut schedule), [0]);
        schedule.end(0);
        assert_eq!(begun(&mut schedule), [1]);
        schedule.end(1);
        assert!(schedule.is_done());
    }

    #[test]
    fn of_those_that_exclude_each_other_one_runs() {
        let proof = Needs { exclusive: Some("proofs".into()), ..needs(1, 20) };
        let other = Needs { exclusive: Some("cargo".into()), ..needs(1, 5) };
        let mut schedule = schedule(&[proof.clone(), proof, other]);
        assert_eq!(begun(&mut schedule), [0, 2]);
        schedule.end(2);
        assert!(begun(&mut schedule).is_empty());
        schedule.end(0);
        assert_eq!(begun(&mut schedule), [1]);
    }

    #[test]
    fn tests_that_need_the_machine_run_last_and_one_by_one() {
        let alone = Needs { alone: true, ..needs(1, 900) };
        let mut schedule = schedule(&[alone.clone(), needs(1, 1), alone]);
        assert_eq!(begun(&mut schedule), [1]);
        schedule.end(1);
        assert_eq!(begun(&mut schedule), [0]);
        schedule.end(0);
        assert_eq!(begun(&mut schedule), [2]);
    }

    #[test]
    fn every_test_begins_once_whatever_ends_first() {
        // All ends in all orders would be too many; a multiplier that is prime to the counts varies them.
        for step in [1, 3, 7, 11] {
            let all: Vec<Needs> = (0..30)
                .map(|at| Needs {
                    alone: at % 9 == 0,
                    exclusive: (at % 4 == 0).then(|| "proofs".to_string()),
                    ..needs(1 + at % 3, (at * 7 % 13) as u64)
                })
                .collect();
            let mut schedule = schedule(&all);
            let (mut running, mut seen) = (Vec::new(), Vec::<usize>::new());
            while !schedule.is_done() {
                let new = begun(&mut schedule);
                seen.extend(&new);
                running.extend(new);
                assert!(running.iter().map(|&at: &usize| all[at].cores.min(2)).sum::<usize>() <= 2);
                assert!(running.len() == 1 || running.iter().all(|&at| !all[at].alone));
                let place = step * seen.len() % running.len();
                schedule.end(running.remove(place));
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..30).collect::<Vec<_>>());
        }
    }
}
