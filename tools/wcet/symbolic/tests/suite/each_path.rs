//! Loop bounds by executing each path: held against executions on all inputs.

use crate::compiled::{inputs, most, run::run, with_setting};
use wcet_symbolic::{walk, Sharing, Walking};

/// The bounds of all loops are what some input reaches, and no input more.
fn exact(source: &str, inputs: &[Vec<u64>]) {
    with_setting(source, Sharing::Exclusive, &|target, setting| {
        let mut real = vec![0; setting.graph.loops.len()];
        for input in inputs {
            let run = run(setting.program, setting.graph, input, &[]);
            for (real, most) in real.iter_mut().zip(most(setting.graph, &run)) {
                *real = most.max(*real);
            }
        }
        let found = walk(setting, &Walking::default()).unwrap();
        let found = found.unwrap_or_else(|why| panic!("{target:?}: {why}"));
        let numbers: Vec<u64> = found.iter().map(|found| found.bound).collect();
        assert_eq!(numbers, real, "{target:?}: {found:?}");
        assert!(!real.is_empty(), "{target:?}");
    });
}

/// Which keys are exchanged depends on ranges that the program itself keeps on a stack in memory.
#[test]
fn a_quick_sort() {
    let source = "
        unsigned char keys[4]; volatile unsigned sink;
        void start(unsigned a, unsigned b) {
            unsigned char low[4], high[4]; unsigned count = 1;
            keys[0] = a; keys[1] = a >> 8; keys[2] = b; keys[3] = b >> 8;
            low[0] = 0; high[0] = 3;
            while (count > 0) {
                count--;
                unsigned l = low[count], h = high[count], place = l;
                for (unsigned i = l; i < h; i++)
                    if (keys[i] <= keys[h]) {
                        unsigned char key = keys[i]; keys[i] = keys[place]; keys[place++] = key;
                    }
                unsigned char key = keys[h]; keys[h] = keys[place]; keys[place] = key; sink = place;
                if (place > l + 1) { low[count] = l; high[count] = place - 1; count++; }
                if (place + 1 < h) { low[count] = place + 1; high[count] = h; count++; }
            }
        }";
    let orders = inputs(&[0x0102, 0x0201, 0x0304, 0x0403, 0x0104, 0x0401, 0x0303, 0x0203], 2);
    exact(source, &orders);
}

/// A loop in a function that is called twice: each call has its own registers to give back, and its own loop.
#[test]
fn a_function_called_twice() {
    let source = "
        volatile unsigned sink;
        __attribute__((noinline)) static unsigned ones(unsigned of) {
            unsigned count = 0;
            while (of) { count += of & 1; of >>= 1; sink = count; }
            return count;
        }
        void start(unsigned a, unsigned b) {
            unsigned most = ones(a & 7);
            for (unsigned i = 0; i < most; i++) sink = i;
            unsigned rest = ones(b & 3);
            while (rest < most) { rest++; sink = rest; }
        }";
    exact(source, &(0..8).flat_map(|a| (0..4).map(move |b| vec![a, b])).collect::<Vec<_>>());
}

/// Where the paths are more than the effort, or one is without end, nothing is said.
#[test]
fn too_many_paths_have_no_bounds() {
    let none = |source: &str, effort: &Walking, why: &str| {
        with_setting(source, Sharing::Exclusive, &|target, setting| {
            let found = walk(setting, effort).unwrap();
            assert_eq!(found, Err(why.to_string()), "{target:?}");
        });
    };
    let many = "
        volatile unsigned sink;
        void start(unsigned a) {
            for (unsigned i = 0; i < 20; i++) if (a >> i & 1) for (unsigned j = 0; j < i; j++) sink = j;
        }";
    none(many, &Walking { nodes: 2_000, ..Walking::default() }, "there are too many");
    let endless = "
        unsigned char next[4]; volatile unsigned sink;
        void start(unsigned a) { for (unsigned char at = a & 3; at != 255; at = next[at & 3]) sink = at; }";
    none(endless, &Walking { iterations: 40, ..Walking::default() }, "a path is too long");
}

/// Others may write what it reads: each read gives another value, and the loop goes on as long as they like.
#[test]
fn what_others_write_is_not_followed() {
    let source = "
        unsigned char left; volatile unsigned sink;
        void start(unsigned a) {
            *(volatile unsigned char *)&left = a & 3;
            while (*(volatile unsigned char *)&left) { left--; sink = a; }
        }";
    with_setting(source, Sharing::StackIsPrivate, &|target, setting| {
        let effort = Walking { iterations: 40, ..Walking::default() };
        assert_eq!(walk(setting, &effort).unwrap(), Err("a path is too long".to_string()), "{target:?}");
    });
}
