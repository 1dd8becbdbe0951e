//! What the tree claims of each function of a kernel: proved, validated in the image, bounded.

use std::collections::BTreeSet;

use wcet_kernel::Kernel;
use wcet_report::{KernelFunction, Region};

use crate::bound::root;

/// Theorems of functions by layer, and the functions whose machine code is validated. `ashlar prove` compares the first with what
/// Coq says, `ashlar prove --binary` the second with the image.
pub(crate) const PROVED: &str = "proof/certified.toml";
const VALIDATED: &str = "proof/validated.txt";

/// Layers of [`PROVED`] that are not in the kernel that boots by default.
const OTHER_BUILDS: [&str; 1] = ["[spinlock-mcs]"];

/// The functions that run behind start-up, each with the region of the largest bound on whose worst path it is; none if a list
/// cannot be read.
pub(crate) fn functions(kernel: &Kernel<'_>, regions: &[Region]) -> Option<Vec<KernelFunction>> {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).ok();
    let (proved, validated) = (read(PROVED)?, read(VALIDATED)?);
    let (proved, validated) = (names_proved(&proved), validated.lines().collect::<BTreeSet<&str>>());
    let names: BTreeSet<&str> = kernel.graph.functions.values().map(|function| function.name.as_str()).collect();
    let one = |name: &str| {
        // A part that the compiler has split off belongs to its function.
        let family = name.split('.').next().unwrap_or(name);
        let on_path = regions.iter().filter(|region| region.functions.contains_key(name));
        let longest = on_path.max_by_key(|region| region.wcet_cycles);
        KernelFunction {
            function: name.to_string(),
            proved: proved.contains(family),
            validated: validated.contains(family),
            region: longest.map(|region| region.name.clone()),
            region_cycles: longest.and_then(|region| region.wcet_cycles),
        }
    };
    Some(names.into_iter().map(one).collect())
}

fn names_proved(text: &str) -> BTreeSet<&str> {
    let mut is_here = true;
    let mut names = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with('[') {
            is_here = !OTHER_BUILDS.contains(&line.trim_end());
        } else if let Some((name, _)) = line.split_once('=').filter(|_| is_here && !line.starts_with('#')) {
            names.insert(name.trim());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_another_build_are_not_proved_of_this_one() {
        let text = "# of = \"x\"\n[spinlock]\na = \"A\"\n[spinlock-mcs]\nb = \"B\"\n[timer]\nc = \"C\"\n";
        assert_eq!(names_proved(text), BTreeSet::from(["a", "c"]));
    }
}
