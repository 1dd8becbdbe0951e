//! Programs as suites of others have them: without input, and with loops that follow no rule.

use std::path::{Path, PathBuf};

use wcet_oracle::measure::build::Target;
use wcet_oracle::suites::{self, Answer, Program, Row};

/// A program of this source, compiled, bounded and run.
fn row(name: &str, source: &str, target: Target) -> Row {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("suites-{}", std::process::id())).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("main.c"), source).unwrap();
    let program = Program { name: name.to_string(), part: "own".to_string(), folder: folder.clone() };
    let suite = suites::Suite { timeout: 1, ..suites::read().unwrap() };
    let row = suites::row(&suite, &program, target, Path::new(&folder)).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    row
}

/// The steps of 27 down to 1, halved where even and else times three and one more; and a sort of numbers by chance.
const NO_RULE: &str = "
static unsigned number = 27, numbers[200], steps;
int main(void)
{
    while (number != 1) {
        number = number % 2 ? 3 * number + 1 : number / 2;
        steps++;
    }
    unsigned seed = steps;
    for (int i = 0; i < 200; i++)
        numbers[i] = seed = seed * 1103515245 + 12345;
    int swapped;
    do {
        swapped = 0;
        for (int i = 0; i < 199; i++)
            if (numbers[i] > numbers[i + 1]) {
                unsigned kept = numbers[i];
                numbers[i] = numbers[i + 1];
                numbers[i + 1] = kept;
                swapped = 1;
            }
    } while (swapped);
    return (int)numbers[0];
}
";

#[test]
fn a_program_without_input_has_exact_bounds() {
    for target in [Target::X86Size, Target::ArmSpeed, Target::RiscV32Size, Target::ThumbSpeed] {
        let row = row("no-rule", NO_RULE, target);
        assert_eq!(row.answer, Answer::Bounded, "{row:?}");
        assert!(row.complete && row.instructions > 1000 && row.faults().is_empty(), "{row:?}");
        assert!(row.loops.len() >= 3, "{row:?}");
        assert!(row.loops.iter().any(|one| one.bound.is_some_and(|bound| bound >= 111)), "{row:?}");
        assert!(row.loops.iter().all(|one| one.bound == one.measured), "{row:?}");
    }
}

/// What decides is not known here: how often the loop runs depends on where the stack is.
const DEPENDS: &str = "
int main(void)
{
    volatile unsigned char here;
    unsigned long number = (unsigned long)&here >> 4;
    while (number != 1 && number)
        number = number % 2 ? 3 * number + 1 : number / 2;
    return 0;
}
";

#[test]
fn a_loop_that_depends_on_the_stacks_place_has_no_bound() {
    let row = row("depends", DEPENDS, Target::ArmSpeed);
    assert_eq!(row.answer, Answer::Open, "{row:?}");
    assert!(row.loops.iter().all(|one| one.bound.is_none() && one.measured > Some(1)), "{row:?}");
}
