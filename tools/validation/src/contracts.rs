//! Contracts of `arch`: terms of functions that are written in C or assembly by hand, over actions of the machine.
//!
//! They stand in `proof/arch`, in the C subset, beside the kernel's folder. A primitive with a contract is validated against it
//! as a layer's function is against its term, and what it reads and writes is read off the contract.

use std::path::Path;

use c2coq::ast::Unit;
pub use c2coq::certified::ARCH;
use c2coq::certified::{contracts, Build, CoqError};
use c2coq::coq::fields;
use c2coq::Checked;

use crate::program::{Program, ProgramError};

impl Program {
    /// Adds the contracts of the kernel's `arch`, if there are any. Their functions are counted under a layer of that name.
    pub fn contracts(&mut self, kernel: &Path, build: &Build) -> Result<(), ProgramError> {
        let checked = match contracts(kernel, build.debug) {
            Ok(Some(checked)) => checked,
            Ok(None) => return Ok(()),
            Err(CoqError::Subset(checked)) => return Err(ProgramError::Refused(faults(&checked))),
            Err(other) => return Err(other.into()),
        };
        for unit in &checked.program.units {
            self.prototypes_of(unit);
            self.arch_objects(unit)?;
        }
        for unit in &checked.program.units {
            self.definitions(ARCH, unit)?;
        }
        Ok(())
    }

    /// Objects of `arch`. One that the terms of layers know too is the same object, and must have the same fields.
    fn arch_objects(&mut self, unit: &Unit) -> Result<(), ProgramError> {
        for object in &unit.objects {
            let list: Vec<(&str, u32, u64)> =
                fields(unit, object).into_iter().map(|(name, width, count)| (name, width.bits(), count)).collect();
            let count = object.size.unwrap_or(1);
            let Some(known) = self.objects.iter().find(|known| known.name == object.name) else {
                self.object(&object.name, count, &list);
                continue;
            };
            let cells = known.cells.iter().map(|number| &self.cells[*number]);
            let fields: Vec<(&str, u32, u64)> =
                cells.map(|cells| (cells.field.as_str(), cells.width, cells.count)).collect();
            if known.count != count || fields != list {
                let message = format!("{} has other fields in its contract than in the layers' terms", object.name);
                return Err(ProgramError::Refused(message));
            }
        }
        Ok(())
    }
}

/// What is outside the subset, a line each.
fn faults(checked: &Checked) -> String {
    let line = |fault: &c2coq::fault::Fault| {
        let (line, _) = checked.sources.position(fault.span.file, fault.span.start);
        format!("{}:{line}: {}", checked.sources.get(fault.span.file).path.display(), fault.message)
    };
    checked.faults.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a primitive does is said once: in its contract, or by hand.
    #[test]
    fn a_primitive_with_a_contract_is_not_described_by_hand() {
        let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel");
        let program = Program::read(&kernel, &Build::BOOTED).unwrap();
        let contracts: Vec<_> = program.functions.values().filter(|function| function.layer == ARCH).collect();
        assert!(contracts.len() > 80);
        for function in contracts {
            assert!(crate::primitives::writes(&function.name).is_none(), "{} is written by hand too", function.name);
            assert!(crate::primitives::reads(&function.name).is_none(), "{} is written by hand too", function.name);
        }
    }
}
