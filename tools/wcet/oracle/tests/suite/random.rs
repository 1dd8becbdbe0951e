//! Random machines for the property tests of the timing crates.

use std::collections::BTreeMap;

pub use testing::{cases, Random};
use wcet_hardware::machine::{
    Branch, Cache, Class, ClassCost, Holds, Issue, Machine, Memory, Pipeline, Policy, Region,
};

pub const LINE: u64 = 16;

fn cache(random: &mut Random, name: &str, level: u64, holds: Holds, latency: u64) -> Cache {
    let policy =
        random.pick(&[Policy::Lru, Policy::Lru, Policy::Fifo, Policy::Plru, Policy::RoundRobin, Policy::Random]);
    let ways = if policy == Policy::Plru { random.pick(&[1, 2, 4, 8]) } else { 1 + random.below_u64(4) };
    let locked_ways = if policy != Policy::Plru && random.one_in(4) { random.below_u64(ways) } else { 0 };
    let free = ways - locked_ways;
    let most = policy.lru_ways(free);
    Cache {
        name: name.into(),
        level,
        holds,
        sets: random.pick(&[1, 1, 2, 4]),
        ways,
        line: LINE,
        policy,
        taken_as: if random.one_in(5) { 1 + random.below_u64(most) } else { most },
        locked_ways,
        pinned: if locked_ways > 0 {
            vec![(LINE * random.below_u64(8), LINE * 8)].into_iter().map(|(a, _)| (a, a)).collect()
        } else {
            Vec::new()
        },
        latency,
        write_back: if holds == Holds::Instructions { 0 } else { random.pick(&[0, 0, 3, 20]) },
        allocate_on_write: !random.one_in(3),
    }
}

/// A machine with small caches, so that short paths see evictions.
pub fn machine(random: &mut Random) -> Machine {
    let hit = 1 + random.below_u64(2);
    let mut caches = match random.below_u64(5) {
        0 => vec![cache(random, "l1", 1, Holds::Both, hit)],
        1 => Vec::new(),
        _ => {
            let data = hit + random.below_u64(3);
            vec![cache(random, "l1i", 1, Holds::Instructions, hit), cache(random, "l1d", 1, Holds::Data, data)]
        }
    };
    if !caches.is_empty() && random.one_in(2) {
        let latency = 6 + random.below_u64(10);
        caches.push(cache(random, "l2", 2, Holds::Both, latency));
    }
    let fetch = if caches.is_empty() { 20 } else { hit };
    let front = random.below_u64(5);
    let least = 1 + fetch + front;
    let mut machine = Machine {
        name: "random".into(),
        about: String::new(),
        assumes: Vec::new(),
        clock: 0,
        pipeline: Pipeline {
            issue: random.pick(&[Issue::Single, Issue::Dual]),
            front,
            queue: 1 + random.below_u64(10),
        },
        branch: Branch {
            taken: least + random.below_u64(6),
            not_taken: least + random.below_u64(3),
            foreseen: random.one_in(2).then(|| random.below_u64(2 + front)),
            repeat: random.one_in(2).then(|| random.below_u64(2 + front)),
            ahead: if random.one_in(2) { random.below_u64(2 * LINE) } else { 0 },
        },
        memory: Memory { latency: 20, write: 20 },
        caches,
        regions: Vec::new(),
        classes: BTreeMap::new(),
        sources: BTreeMap::new(),
        numbers: Vec::new(),
    };
    if !machine.caches.is_empty() {
        machine.memory.latency += random.below_u64(60);
        if random.one_in(2) {
            let slowest = machine.caches.iter().map(|cache| cache.latency).max().unwrap_or(1);
            machine.memory.write = slowest + random.below_u64(machine.memory.latency - slowest);
        }
    }
    if random.one_in(3) {
        let range = (LINE * 14, LINE * 15 - 1);
        machine.regions.push(Region { name: "device".into(), range, latency: 1 + random.below_u64(100) });
    }
    for class in [Class::Alu, Class::Multiply, Class::Load, Class::Store, Class::Branch, Class::ModeChange] {
        let pairs = matches!(class, Class::Alu | Class::Load | Class::Branch);
        let occupies = match class {
            Class::Multiply => 1 + random.below_u64(6),
            Class::ModeChange => random.below_u64(30),
            Class::Load | Class::Store => random.below_u64(2),
            _ => 1,
        };
        let latency = if random.one_in(2) { random.below_u64(5) } else { 0 };
        let cost = ClassCost {
            occupies,
            behind_store: if random.one_in(4) { random.below_u64(8) } else { 0 },
            latency,
            pairs_first: pairs && !random.one_in(4),
            pairs_second: pairs && !random.one_in(4),
        };
        machine.classes.insert(class, cost);
    }
    machine
}
