//! Writes operations: gives out temporaries, keeps registers whole, and remembers what SLEIGH's own variables hold.

use std::collections::{BTreeMap, BTreeSet};

use libsla::{AddressSpaceType, VarnodeData};

use crate::lift::il::{Binary, Expression, Op, Operand, Register, Unary, Value};
use crate::lift::sleigh::Semantics;

pub(crate) struct Emitter<'s> {
    semantics: &'s Semantics<'s>,
    pub ops: Vec<Op>,
    /// Registers that some operation writes.
    pub written: BTreeSet<Register>,
    next: u16,
    /// SLEIGH's temporaries and untracked registers: (whether a register, offset) -> value.
    variables: BTreeMap<(bool, u64), Value>,
}

impl<'s> Emitter<'s> {
    pub fn new(semantics: &'s Semantics<'_>) -> Emitter<'s> {
        Emitter { semantics, ops: Vec::new(), written: BTreeSet::new(), next: 0, variables: BTreeMap::new() }
    }

    fn temporary(&mut self, size: u8) -> Value {
        let value = Value { operand: Operand::Temporary(self.next), size };
        self.next += 1;
        value
    }

    /// A new temporary that holds `from`.
    pub fn set(&mut self, from: Expression, size: u8) -> Value {
        let to = self.temporary(size);
        self.ops.push(Op::Set { to, from });
        to
    }

    pub fn unary(&mut self, operation: Unary, operand: Value, size: u8) -> Value {
        self.set(Expression::Unary(operation, operand), size)
    }

    pub fn binary(&mut self, operation: Binary, a: Value, b: Value, size: u8) -> Value {
        self.set(Expression::Binary(operation, a, b), size)
    }

    /// The number between two that is next to a value; all of 4 bytes, with signs.
    pub fn nearest(&mut self, value: Value, low: i64, high: i64) -> Expression {
        let number = |number: i64| Value::constant(u64::from(number as u32), 4);
        let below = self.binary(Binary::LessSigned, value, number(low), 1);
        let above = self.binary(Binary::LessSigned, number(high), value, 1);
        let otherwise = self.set(Expression::Select { when: above, then: number(high), otherwise: value }, 4);
        Expression::Select { when: below, then: number(low), otherwise }
    }

    pub fn unknown(&mut self, size: u8) -> Value {
        self.set(Expression::Unknown, size)
    }

    /// Writes a tracked register.
    pub fn set_register(&mut self, register: Register, size: u8, from: Expression) {
        self.written.insert(register);
        self.ops.push(Op::Set { to: Value { operand: Operand::Register(register), size }, from });
    }

    pub fn read(&mut self, varnode: &VarnodeData) -> Result<Value, String> {
        let size = u8::try_from(varnode.size).map_err(|_| "a value of more than 255 bytes")?;
        let offset = varnode.address.offset;
        let space = &varnode.address.address_space;
        if space.is_constant() {
            return Ok(Value::constant(truncate(offset, size), size));
        }
        if space.id == self.semantics.spaces.memory {
            let address = self.fixed_address(offset, space.address_size);
            return Ok(self.set(Expression::Load { address, when: None }, size));
        }
        let is_register = space.id == self.semantics.spaces.register;
        if !is_register && space.space_type != AddressSpaceType::Internal {
            return Err(format!("it uses the space {}", space.name));
        }
        if is_register {
            if let Some((register, whole, at)) = self.tracked(offset, size)? {
                let value = Value { operand: Operand::Register(register), size: whole };
                return Ok(if whole == size { value } else { self.set(Expression::Extract { from: value, at }, size) });
            }
        }
        match self.variable(is_register, offset, size) {
            Some((value, 0)) if value.size == size => Ok(value),
            Some((from, at)) => Ok(self.set(Expression::Extract { from, at }, size)),
            // Vector, floating-point and control registers are not tracked.
            None if is_register => Ok(self.unknown(size)),
            None => Err("it reads a temporary that it has not written".to_string()),
        }
    }

    /// Writes where `when` is not 0. If operations may follow that happen where it is 0, `merges` is set.
    pub fn write(
        &mut self,
        to: &VarnodeData,
        from: Expression,
        when: Option<Value>,
        merges: bool,
    ) -> Result<(), String> {
        let size = u8::try_from(to.size).map_err(|_| "a value of more than 255 bytes")?;
        let offset = to.address.offset;
        let space = &to.address.address_space;
        // A register that is always 0.
        if space.is_constant() {
            return Ok(());
        }
        if space.id == self.semantics.spaces.memory {
            let from = self.set(from, size);
            let address = self.fixed_address(offset, space.address_size);
            self.ops.push(Op::Store { address, from, when });
            return Ok(());
        }
        let is_register = space.id == self.semantics.spaces.register;
        if is_register {
            if let Some((register, whole, at)) = self.tracked(offset, size)? {
                let old = Value { operand: Operand::Register(register), size: whole };
                let mut from = from;
                if size != whole {
                    let part = self.set(from, size);
                    from = Expression::Insert { into: old, from: part, at };
                }
                if let Some(when) = when {
                    let then = self.set(from, whole);
                    from = Expression::Select { when, then, otherwise: old };
                }
                self.set_register(register, whole, from);
                return Ok(());
            }
        }
        let old = self.variable(is_register, offset, size).filter(|(value, at)| value.size == size && *at == 0);
        let mut value = match from {
            Expression::Copy(Value { operand: Operand::Register(_), .. }) => self.set(from, size),
            Expression::Copy(value) => value,
            _ => self.set(from, size),
        };
        let when = when.filter(|_| merges);
        // An untracked register may hold anything before; a temporary is read only where it was written.
        let old = old.map(|(value, _)| value).or_else(|| (when.is_some() && is_register).then(|| self.unknown(size)));
        if let (Some(when), Some(otherwise)) = (when, old) {
            value = self.set(Expression::Select { when, then: value, otherwise }, size);
        }
        let end = offset.saturating_add(u64::from(size));
        self.variables.retain(|(register, start), other| {
            *register != is_register || *start >= end || start.saturating_add(u64::from(other.size)) <= offset
        });
        self.variables.insert((is_register, offset), value);
        Ok(())
    }

    fn fixed_address(&self, offset: u64, size: usize) -> Value {
        Value::constant(offset, if size == 4 { 4 } else { 8 })
    }

    /// The tracked register that holds the bytes, its size, and where in it they are.
    fn tracked(&self, offset: u64, size: u8) -> Result<Option<(Register, u8, u8)>, String> {
        let before = self.semantics.registers.range(..offset + u64::from(size)).next_back();
        let Some((start, (register, whole))) = before else { return Ok(None) };
        if start + u64::from(*whole) <= offset {
            return Ok(None);
        }
        match offset.checked_sub(*start).map(|at| at as u8) {
            Some(at) if at + size <= *whole => Ok(Some((*register, *whole, at))),
            _ => Err("it uses several registers as one".to_string()),
        }
    }

    fn variable(&self, is_register: bool, offset: u64, size: u8) -> Option<(Value, u8)> {
        let ((_, start), value) = self.variables.range((is_register, 0)..=(is_register, offset)).next_back()?;
        let at = u8::try_from(offset - start).ok()?;
        (at.checked_add(size)? <= value.size).then_some((*value, at))
    }
}

fn truncate(number: u64, size: u8) -> u64 {
    if size >= 8 {
        number
    } else {
        number & ((1 << (8 * size)) - 1)
    }
}
