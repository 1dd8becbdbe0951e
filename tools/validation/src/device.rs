//! Accesses to registers of devices, which are in no object that the terms know: one instruction, at an address that the term gives.

use crate::actions::bits;
use crate::engine::{Engine, Touch};
use crate::machine::Step;
use crate::state::{refuse, State, Stop};
use crate::term::build::{extract, zero_extend};
use crate::term::{constant, fresh, Term};

impl Engine<'_> {
    /// What a load at an address gives, if an instruction is executed that accesses a device.
    pub fn device_load(&mut self, address: Term, bytes: u32) -> Option<Term> {
        let held = self.device.filter(|_| !is_stack(self, address))?;
        self.touched.push(Touch { address, value: None, bytes });
        Some(if held.width() < bytes * 8 { zero_extend(held, bytes * 8) } else { extract(held, 0, bytes * 8) })
    }

    /// Whether a store went to a device.
    pub fn device_store(&mut self, address: Term, value: Term) -> bool {
        if self.device.is_none() || is_stack(self, address) {
            return false;
        }
        self.touched.push(Touch { address, value: Some(value), bytes: value.width() / 8 });
        true
    }

    /// One instruction that reads or writes a device's register, which is in no object that the terms know.
    pub fn device(&mut self, state: &mut State, function: &str, arguments: &[Term]) -> Result<Option<Term>, Stop> {
        let width = bits(function);
        let (address, written) = match (function.starts_with("machine_read"), arguments) {
            (true, [address]) => (*address, None),
            (false, [address, value]) => (*address, Some(*value)),
            _ => return Ok(None),
        };
        self.memory_agrees(state)?;
        let held = fresh("device", width);
        self.device = Some(held);
        self.touched.clear();
        let step = self.step_machine(state);
        self.device = None;
        let Step::Next(next) = step? else { return refuse("a jump that accesses a device") };
        let touched: Vec<Touch> = std::mem::take(&mut self.touched);
        let [touch] = touched.as_slice() else {
            return refuse(format!("{function}: {} accesses by one instruction", touched.len()));
        };
        if touch.bytes * 8 != width || touch.value.is_some() != written.is_some() {
            return refuse(format!("the term does {function}, the machine accesses {} bytes", touch.bytes));
        }
        self.require(state, "the device's address", touch.address, address)?;
        if let (Some(stored), Some(value)) = (touch.value, written) {
            self.require(state, "what is written to the device", stored, value)?;
        }
        state.address = next;
        Ok(Some(match written {
            Some(_) => constant(0, 64),
            None if width < 32 => zero_extend(held, 32),
            None => held,
        }))
    }
}

/// The stack is no device.
fn is_stack(engine: &Engine<'_>, address: Term) -> bool {
    crate::memory::offset(address, engine.entry.stack).is_some()
}
