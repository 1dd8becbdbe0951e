//! The system calls that a program makes, from its executable.
//!
//! Every instruction that enters the kernel, in the code that is reached from the program's entry, with what the register of the
//! number holds there. A number that is not a constant, or control flow that is not known, leaves the set open.

use std::collections::BTreeSet;

use wcet_binary::lift::Lifter;
use wcet_binary::load::Program;

use crate::base_address::Form;
use crate::base_address_analysis::held;
use crate::described_calls::Calls;

/// The register that holds a call's number.
const NUMBER: &str = "RAX";

/// The numbers of all calls of a program, or why they are not known.
pub fn program_calls(data: &[u8], calls: &Calls) -> Result<BTreeSet<u64>, String> {
    let all = |errors: Vec<String>| errors.join("; ");
    let program = Program::parse(data).map_err(|errors| all(errors.iter().map(ToString::to_string).collect()))?;
    in_program(&program, calls)
}

fn in_program(program: &Program, calls: &Calls) -> Result<BTreeSet<u64>, String> {
    let all = |errors: Vec<String>| errors.join("; ");
    let lifter = Lifter::new(program).map_err(|cause| cause.to_string())?;
    let graph = wcet_flow::analyse(&lifter, &[program.entry], &wcet_flow::Options::default())
        .map_err(|errors| all(errors.iter().map(ToString::to_string).collect()))?;
    let registers = lifter.registers();
    let number = registers.named(NUMBER).ok_or("its processor has other system calls")?;
    let never_returns = |form: &Form| form.exact().is_some_and(|number| calls.never_return.contains(&number));
    let enters = |instruction: &wcet_binary::lift::Instruction| {
        matches!(instruction.mnemonic.as_str(), "syscall" | "sysenter" | "int")
    };
    let mut found = BTreeSet::new();
    for (address, form) in held(&graph, registers, number, enters, never_returns) {
        let constants = form.constants().filter(|all| all.iter().all(|(_, open)| !open));
        let unknown = || format!("which system call {} makes is not known", program.describe(address));
        found.extend(constants.ok_or_else(unknown)?.into_iter().map(|(number, _)| number));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use wcet_binary::load::Architecture;

    use super::*;

    fn found(code: &[u8], never_return: &[u64]) -> Result<BTreeSet<u64>, String> {
        let never_return = never_return.iter().copied().collect();
        let calls = Calls { never_return, ..Calls::default() };
        in_program(&Program::from_code(Architecture::X86_64, 0x1000, code), &calls)
    }

    #[test]
    fn numbers_are_constants() {
        // mov eax,10; syscall; mov eax,11; test edi,edi; jz +5; mov eax,12; syscall; ret
        let code =
            [0xb8, 10, 0, 0, 0, 0x0f, 5, 0xb8, 11, 0, 0, 0, 0x85, 0xff, 0x74, 5, 0xb8, 12, 0, 0, 0, 0x0f, 5, 0xc3];
        assert_eq!(found(&code, &[]), Ok(BTreeSet::from([10, 11, 12])));
        assert_eq!(found(&[0xc3], &[]), Ok(BTreeSet::new()));
    }

    #[test]
    fn a_number_that_may_be_any_is_refused() {
        // mov eax,edi; syscall; ret
        let error = found(&[0x89, 0xf8, 0x0f, 5, 0xc3], &[]).unwrap_err();
        assert!(error.contains("which system call 0x1002 makes is not known"), "{error}");
        // mov eax,10; syscall; syscall; ret: the first leaves its status there.
        assert!(found(&[0xb8, 10, 0, 0, 0, 0x0f, 5, 0x0f, 5, 0xc3], &[]).is_err());
        // jmp rax: what it reaches is not known.
        assert!(found(&[0xff, 0xe0], &[]).is_err());
    }

    #[test]
    fn nothing_is_executed_behind_a_call_that_does_not_return() {
        // mov r8d,26; mov rax,r8; syscall; jmp -7
        let code = [0x41, 0xb8, 26, 0, 0, 0, 0x4c, 0x89, 0xc0, 0x0f, 5, 0xeb, 0xf9];
        assert_eq!(found(&code, &[26]), Ok(BTreeSet::from([26])));
        assert!(found(&code, &[]).is_err());
    }
}
