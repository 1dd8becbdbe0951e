//! By how much the addresses of a block's accesses change each time it is executed again right away.
//!
//! Where a register comes out of the block as itself plus a number ([`Displacements`]), an address made of such registers moves
//! on by a number; the step of any other address is unknown.

use std::rc::Rc;

use wcet_binary::lift::il::{AddressForm, Flow, Register};
use wcet_binary::lift::Instruction;
use wcet_flow::Displacements;

/// Steps of a node that is a loop by itself.
pub struct Strides {
    /// Of each instruction's accesses.
    steps: Vec<Vec<Option<i64>>>,
    /// How often it is executed for each entry, at most.
    pub executions: u64,
}

/// What an address is the sum of: each part shifted to the left.
type Parts = Vec<(Option<(Register, i64)>, u8)>;

impl Strides {
    pub fn new(instructions: &[Rc<Instruction>], executions: u64) -> Strides {
        if let [only] = instructions {
            if matches!(only.flow, Flow::Repeat { .. }) {
                // A string instruction moves on by what it accesses, up or down as long as it repeats.
                let steps = only.accesses.iter().map(|access| Some(i64::from(access.size))).collect();
                return Strides { steps: vec![steps], executions };
            }
        }
        let mut block = Displacements::default();
        // For each access the registers that its address is made of, and how often each.
        let mut made: Vec<Vec<Option<Parts>>> = Vec::new();
        for instruction in instructions {
            let parts = |access: &wcet_binary::lift::il::Access| {
                let AddressForm::Known { base, index, segment, .. } = access.address else { return None };
                // What is not made at each execution may be made long after the last time.
                (!access.conditional).then_some(())?;
                let plain = [base, segment].into_iter().flatten().map(|register| (block.register(register), 0));
                Some(plain.chain(index.map(|(index, shift)| (block.register(index), shift))).collect())
            };
            made.push(instruction.accesses.iter().map(parts).collect());
            block.execute(instruction);
        }
        let step = |parts: &Option<Parts>| {
            let mut step = 0i64;
            for (sum, shift) in parts.as_ref()? {
                let (register, _) = (*sum)?;
                let (same, by) = block.register(register)?;
                (same == register).then_some(())?;
                step = step.checked_add(by.checked_mul(1i64.checked_shl((*shift).into())?)?)?;
            }
            Some(step)
        };
        Strides { steps: made.iter().map(|parts| parts.iter().map(step).collect()).collect(), executions }
    }

    /// By how much an access moves on; up or down, if the instruction repeats itself.
    pub fn of(&self, instruction: usize, access: usize) -> Option<i64> {
        *self.steps.get(instruction)?.get(access)?
    }
}

#[cfg(test)]
mod tests {
    use wcet_binary::lift::Lifter;
    use wcet_binary::load::{Architecture, Program};

    use super::*;

    fn steps(code: &[u8]) -> Vec<Option<i64>> {
        let program = Program::from_code(Architecture::X86_64, 0x1000, code);
        let lifter = Lifter::new(&program).unwrap();
        let (mut address, mut found) = (0x1000, Vec::new());
        while address < 0x1000 + code.len() as u64 {
            let instruction = lifter.lift(address).unwrap();
            address = instruction.next();
            found.push(Rc::new(instruction));
        }
        Strides::new(&found, 8).steps.concat()
    }

    #[test]
    fn addresses_move_on_with_their_registers() {
        // mov rdx, [rsi+rax*8]; mov [rdi+rax*4+8], rdx; mov rcx, [rbx]; add rax, 2; sub rdi, 8; mov r8, [rsi+rax*8]
        let mut code = vec![0x48, 0x8b, 0x14, 0xc6, 0x48, 0x89, 0x54, 0x87, 8, 0x48, 0x8b, 0x0b, 0x48, 0x83, 0xc0, 2];
        code.extend([0x48, 0x83, 0xef, 8, 0x4c, 0x8b, 0x04, 0xc6]);
        assert_eq!(steps(&code), [Some(16), Some(0), Some(0), Some(16)]);
        // mov rdx, [rsi]; mov rsi, [rsi+8]: a list.
        assert_eq!(steps(&[0x48, 0x8b, 0x16, 0x48, 0x8b, 0x76, 8]), [None, None]);
        // mov rdx, [rsi+rax]; lea rax, [rax+rax+8]: faster and faster.
        assert_eq!(steps(&[0x48, 0x8b, 0x14, 0x06, 0x48, 0x8d, 0x44, 0x00, 8]), [None]);
        // inc eax wraps around at its 32 bits: mov rdx, [rsi+rax*8]; inc eax
        assert_eq!(steps(&[0x48, 0x8b, 0x14, 0xc6, 0xff, 0xc0]), [None]);
        // xchg rsi, rdi swaps two walks: mov rdx, [rsi]; add rsi, 8; xchg rsi, rdi
        assert_eq!(steps(&[0x48, 0x8b, 0x16, 0x48, 0x83, 0xc6, 8, 0x48, 0x87, 0xfe]), [None]);
        // rep movsq
        assert_eq!(steps(&[0xf3, 0x48, 0xa5]), [Some(8), Some(8)]);
    }
}
