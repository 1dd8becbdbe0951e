//! By how much the addresses of a block's accesses change each time it is executed again right away.
//!
//! Registers are followed through the block as what they held before it plus a number. Where a register comes out as itself
//! plus a number, an address made of such registers moves on by a number; what is not of this kind is not known.

use std::collections::HashMap;
use std::rc::Rc;

use wcet_binary::lift::il::{AddressForm, Binary, Expression, Flow, Op, Operand, Register, Value};
use wcet_binary::lift::Instruction;

/// Steps of a node that is a loop by itself.
pub struct Strides {
    /// Of each instruction's accesses.
    steps: Vec<Vec<Option<i64>>>,
    /// How often it is executed for each entry, at most.
    pub executions: u64,
}

/// What a register held before the block, plus a number.
type Sum = Option<(Register, i64)>;

/// What an address is the sum of: each part shifted to the left.
type Parts = Vec<(Sum, u8)>;

#[derive(Default)]
struct Block {
    registers: HashMap<Register, Sum>,
}

impl Block {
    fn register(&self, register: Register) -> Sum {
        self.registers.get(&register).copied().unwrap_or(Some((register, 0)))
    }

    fn execute(&mut self, instruction: &Instruction) {
        let mut temporaries: HashMap<u16, (Sum, u8)> = HashMap::new();
        for op in &instruction.ops {
            let Op::Set { to, from } = op else { continue };
            let value = |value: &Value| match value.operand {
                Operand::Register(register) => self.register(register),
                Operand::Temporary(number) => {
                    temporaries.get(&number).filter(|(_, size)| *size == value.size).and_then(|(sum, _)| *sum)
                }
                Operand::Constant(_) => None,
            };
            let plus = |a: &Value, b: &Value, sign: i64| {
                let (register, number) = value(a)?;
                Some((register, number.wrapping_add(sign.wrapping_mul(constant(b)?))))
            };
            let sum = match from {
                Expression::Copy(from) => value(from),
                Expression::Binary(Binary::Add, a, b) => plus(a, b, 1).or_else(|| plus(b, a, 1)),
                Expression::Binary(Binary::Subtract, a, b) => plus(a, b, -1),
                _ => None,
            };
            match to.operand {
                Operand::Register(register) => {
                    self.registers.insert(register, sum);
                }
                Operand::Temporary(number) => {
                    temporaries.insert(number, (sum, to.size));
                }
                Operand::Constant(_) => {}
            }
        }
    }
}

/// A constant with its sign.
fn constant(value: &Value) -> Option<i64> {
    let Operand::Constant(number) = value.operand else { return None };
    let unused = 64 - 8 * u32::from(value.size.clamp(1, 8));
    Some(((number << unused) as i64) >> unused)
}

impl Strides {
    pub fn new(instructions: &[Rc<Instruction>], executions: u64) -> Strides {
        if let [only] = instructions {
            if matches!(only.flow, Flow::Repeat { .. }) {
                // A string instruction moves on by what it accesses, up or down as long as it repeats.
                let steps = only.accesses.iter().map(|access| Some(i64::from(access.size))).collect();
                return Strides { steps: vec![steps], executions };
            }
        }
        let mut block = Block::default();
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
