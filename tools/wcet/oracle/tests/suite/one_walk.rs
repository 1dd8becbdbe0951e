//! The time of a program's one run, in a graph with one copy of each function, beside that on a simulated machine.

use std::path::Path;

use wcet_binary::load::Lines;
use wcet_oracle::measure::build::{build, Target};
use wcet_oracle::measure::cycles::cycles;
use wcet_oracle::measure::set::{directory, Program};
use wcet_oracle::measure::subject::with;
use wcet_paths::analysis::time_of_one_run;
use wcet_values::{one_run, Options};

/// Functions that are called from several places, with loops that follow no rule, on arrays at places that calls choose.
const SOURCE: &str = "
const uint32_t cases = 1;
static uint32_t tables[3][64], state = 9;
void prepare(uint32_t number) { (void)number; }
static NOINLINE uint32_t next(void) { return state = state * 1103515245u + 12345u; }
static NOINLINE uint32_t fill(uint32_t *table, uint32_t count)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += table[(next() >> 16) & 63] = i;
    return sum;
}
static NOINLINE uint32_t steps(uint32_t number)
{
    uint32_t steps = 0;
    while (number != 1) {
        number = number & 1 ? 3 * number + 1 : number / 2;
        if ((number & 7) == 3)
            steps += fill(tables[number & 1], 5);
        steps++;
    }
    return steps;
}
uint32_t ENTRY entry(uint32_t first, uint32_t second)
{
    (void)first;
    (void)second;
    uint32_t sum = fill(tables[2], 300) + steps(27) + fill(tables[0], 7) + steps(97);
    return sum + steps((sum & 15) + 2);
}
";

#[test]
fn the_time_of_the_one_run_covers_that_of_a_simulated_machine() {
    let into = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for target in [Target::X86Speed, Target::ArmSpeed, Target::RiscV64Speed, Target::RiscV32Size] {
        let source = into.join(format!("one-walk-{}.c", target.name()));
        std::fs::write(&source, format!("#include \"{}\"\n{SOURCE}", directory().join("program.h").display())).unwrap();
        let program = Program { name: "one-walk".to_string(), source, about: String::new(), conflict: None };
        let file = build(&program, target, into).unwrap();
        let machine = wcet_hardware::machine::load(&target.machine_file()).unwrap();
        let lines = Lines::parse(&std::fs::read(&file).unwrap());
        with(&file, |subject| {
            let options = Options { memory_as_loaded: true, ..Options::default() };
            let run = one_run(subject.program, subject.expanded, &options, 1_000_000).unwrap();
            let found = time_of_one_run(subject.program, &lines, subject.expanded, &machine, &options, &run, false);
            let (merged, walked) = found.unwrap();
            // `fill` has copies for each of its callers, and those for `next`.
            let of_fill =
                merged.graph.contexts.iter().filter(|one| merged.graph.graph.functions[&one.function].name == "fill");
            assert_eq!(of_fill.count(), 1, "{target:?}");
            assert!(merged.graph.nodes.len() < subject.expanded.nodes.len(), "{target:?}");
            let observed = cycles(subject.file, subject.program, subject.expanded, &machine, 0)?;
            let least = walked.visits.iter().map(|visit| visit.cycles).sum::<u64>();
            assert_eq!(least + walked.first_misses, walked.cycles, "{target:?}");
            assert!(walked.cycles >= observed, "{target:?}: {} below {observed}", walked.cycles);
            assert!(walked.cycles < 8 * observed, "{target:?}: {} far above {observed}", walked.cycles);
            Ok(())
        })
        .unwrap();
    }
}
