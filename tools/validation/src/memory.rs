//! The machine's accesses: which scalar an address means.

use crate::early::read_early;
use crate::engine::Engine;
use crate::ownership::NOT_OWNED;
use crate::state::{refuse, Access, Event, State, Stop};
use crate::term::build::{
    add, and, as_sum, concat, equal, extract, from_sum, insert, less, or, read, select, store, times, zero_extend,
};
use crate::term::evaluate::Model;
use crate::term::{constant, Term};

/// Where an access goes.
#[derive(Debug, Clone)]
pub enum Spot {
    /// Offset from the stack pointer at entry.
    Frame(i64),
    /// An atomic cell; the address is still to be compared with the term's.
    Atomic,
    /// A constant's address.
    Constant(u64),
    /// Scalars, or bytes of scalars, in the order of their addresses.
    Scalars(Vec<Part>),
}

#[derive(Debug, Clone, Copy)]
pub struct Part {
    pub access: Access,
    /// First byte of the scalar, and number of bytes.
    pub at: u32,
    pub bytes: u32,
}

fn blocked<T>(why: String) -> Result<T, Stop> {
    Err(Stop::Event(Event::Blocked(why)))
}

/// The offset of an address from another, if it is a constant.
pub fn offset(address: Term, from: Term) -> Option<i64> {
    crate::term::build::sub(address, from).value().map(|value| value as u64 as i64)
}

impl Engine<'_> {
    pub fn spot(&mut self, state: &mut State, address: Term, bytes: u32) -> Result<Spot, Stop> {
        if let Some(at) = offset(address, self.entry.stack) {
            return Ok(Spot::Frame(at));
        }
        let (terms, _) = as_sum(address);
        if terms.iter().any(|(term, _)| *term == self.entry.stack) {
            return refuse("an access at an unknown place of the stack");
        }
        if let Some(at) = offset(address, self.entry.percpu) {
            return self.own_record(u64::try_from(at).unwrap_or(u64::MAX), bytes);
        }
        if let Some(at) = self.in_own_record(state, address) {
            return self.own_record(at, bytes);
        }
        let model = match address.value() {
            Some(_) => Model::default(),
            None => match state.path.model(&mut self.solver)? {
                Some(model) => model,
                None => return blocked("an access at an address of which no value is known".to_string()),
            },
        };
        let concrete = model.value(address) as u64;
        let Some((start, object)) = self.layout.at(concrete) else {
            return match address.value() {
                Some(at) if self.image.program().constant(at as u64, bytes as u8).is_some() => {
                    Ok(Spot::Constant(at as u64))
                }
                _ => {
                    let place = self.image.program().describe(concrete);
                    blocked(format!("an access to {place}, which is no object of the term"))
                }
            };
        };
        let Some(object) = object else { return Ok(Spot::Atomic) };
        match self.by_sum(state, address, bytes, object, start, &model)? {
            Some(spot) => Ok(spot),
            None => self.by_access(state, address, bytes, object, start, &model),
        }
    }

    /// This CPU's record, by the segment register.
    fn own_record(&self, at: u64, bytes: u32) -> Result<Spot, Stop> {
        let Some(object) = self.program.objects.iter().position(|object| object.name == "percpu") else {
            return refuse("no record of the CPU");
        };
        self.scalars(object, constant(0, 64), at, bytes)
    }

    /// The offset in this CPU's record, where an address names it by the CPU's number: the segment register has the address of the
    /// record of that number.
    fn in_own_record(&self, state: &State, address: Term) -> Option<u64> {
        let (number, records) =
            (self.program.place("percpu", "cpu")?, self.layout.address(self.program, "percpu_records")?);
        let stride = self.program.objects.iter().find(|object| object.name == "percpu_records")?.stride;
        let number = zero_extend(read(state.memory[number], constant(0, 32)), 64);
        let own = add(constant(u128::from(records), 64), times(number, u128::from(stride)));
        // What start-up sets there is an object of its own.
        let at = u64::try_from(offset(address, own)?).ok().filter(|at| *at < stride)?;
        self.field(self.program.objects.iter().position(|object| object.name == "percpu_records")?, at)
            .is_none()
            .then_some(at)
    }

    fn in_range(&mut self, state: &mut State, index: Term, bound: u64) -> Result<bool, Stop> {
        Ok(state.path.always(less(index, constant(u128::from(bound), 64)), &mut self.solver)?)
    }

    /// address = start + stride * index + offset + bytes * element, read off the address itself.
    fn by_sum(
        &mut self,
        state: &mut State,
        address: Term,
        bytes: u32,
        object: usize,
        start: u64,
        model: &Model,
    ) -> Result<Option<Spot>, Stop> {
        let (stride, count) = (self.program.objects[object].stride, self.program.objects[object].count);
        let concrete = (model.value(address) as u64) - start;
        let (wanted, rest) = (concrete / stride, concrete % stride);
        let (terms, _) = as_sum(address);
        let (whole, inner): (Vec<_>, Vec<_>) =
            terms.into_iter().partition(|(_, times)| times % u128::from(stride) == 0 && count > 1);
        let divided = |terms: Vec<(Term, u128)>, by: u64, wanted: u64| -> Term {
            let sum = from_sum(terms.into_iter().map(|(term, times)| (term, times / u128::from(by))).collect(), 0, 64);
            let lack = u128::from(wanted).wrapping_sub(model.value(sum));
            add(sum, constant(lack, 64))
        };
        let index = divided(whole, stride, wanted);
        let Some(number) = self.field(object, rest) else {
            return blocked(format!("an access to a gap between fields of {}", self.program.objects[object].name));
        };
        let cells = self.program.cells[number].clone();
        let size = u64::from(cells.width / 8);
        if inner.is_empty() {
            let spot = self.scalars(object, index, rest, bytes)?;
            return Ok(self.in_range(state, index, count)?.then_some(spot));
        }
        if inner.iter().any(|(_, times)| times % u128::from(size) != 0) {
            return Ok(None);
        }
        let at = rest - cells.offset;
        let element = divided(inner, size, at / size);
        if at % size + u64::from(bytes) > size {
            return Ok(None);
        }
        if !self.in_range(state, index, count)? || !self.in_range(state, element, cells.count)? {
            return Ok(None);
        }
        let access = self.access(number, index, element);
        Ok(Some(Spot::Scalars(vec![Part { access, at: (at % size) as u32, bytes }])))
    }

    fn access(&self, cells: usize, index: Term, element: Term) -> Access {
        let count = u128::from(self.program.cells[cells].count);
        let (index32, element32) = (extract(index, 0, 32), extract(element, 0, 32));
        let flat = add(times(index32, count), element32);
        Access { cells, index: index32, element: element32, flat, guard: constant(1, 1), locks: NOT_OWNED }
    }

    /// The field at an offset in an element of an object.
    fn field(&self, object: usize, at: u64) -> Option<usize> {
        self.program.objects[object].cells.iter().copied().find(|number| {
            let cells = &self.program.cells[*number];
            at >= cells.offset && at < cells.offset + u64::from(cells.width / 8) * cells.count
        })
    }

    /// The scalars from a fixed offset in an element on.
    fn scalars(&self, object: usize, index: Term, at: u64, bytes: u32) -> Result<Spot, Stop> {
        let (mut at, mut left, mut parts) = (at, bytes, Vec::new());
        while left > 0 {
            let name = &self.program.objects[object].name;
            if at >= self.program.objects[object].stride {
                return blocked(format!("an access across elements of {name}"));
            }
            let Some(number) = self.field(object, at) else {
                return blocked(format!("an access to byte {at} of an element of {name}, where no field is"));
            };
            let cells = self.program.cells[number].clone();
            let size = u64::from(cells.width / 8);
            let (element, byte) = ((at - cells.offset) / size, (at - cells.offset) % size);
            let take = left.min((size - byte) as u32);
            let access = self.access(number, index, constant(u128::from(element), 64));
            parts.push(Part { access, at: byte as u32, bytes: take });
            at += u64::from(take);
            left -= take;
        }
        Ok(Spot::Scalars(parts))
    }

    /// The same scalar as one that the term has accessed.
    fn by_access(
        &mut self,
        state: &mut State,
        address: Term,
        bytes: u32,
        object: usize,
        start: u64,
        model: &Model,
    ) -> Result<Spot, Stop> {
        let concrete = model.value(address) as u64;
        let stride = u128::from(self.program.objects[object].stride);
        let candidates: Vec<Access> = state.accesses.iter().rev().copied().collect();
        for access in candidates {
            let cells = self.program.cells[access.cells].clone();
            if cells.object != object {
                continue;
            }
            let size = u64::from(cells.width / 8);
            let base = constant(u128::from(start + cells.offset), 64);
            let index = times(zero_extend(access.index, 64), stride);
            let element = times(zero_extend(access.element, 64), u128::from(size));
            let meant = add(base, add(index, element));
            let Some(at) = concrete.checked_sub(model.value(meant) as u64).filter(|at| *at < size) else { continue };
            if at + u64::from(bytes) > size {
                continue;
            }
            let same = and(access.guard, equal(address, add(meant, constant(u128::from(at), 64))));
            if state.path.always(same, &mut self.solver)? {
                let access = self.access(access.cells, zero_extend(access.index, 64), zero_extend(access.element, 64));
                return Ok(Spot::Scalars(vec![Part { access, at: at as u32, bytes }]));
            }
        }
        let name = &self.program.objects[object].name;
        blocked(format!(
            "an access to {name} at an index that the term does not use: {}",
            crate::term::print::shown(address)
        ))
    }

    /// The index by which the term has accessed this scalar since others may last have changed memory, and on which of the paths
    /// that the state stands for it has. What it has not accessed may change at any time: its value is any value.
    fn accessed(&mut self, state: &mut State, access: &Access) -> Result<(Term, Term), Stop> {
        if self.program.is_set_at_start(access.cells) || self.stays.contains(&access.cells) {
            return Ok((access.flat, constant(1, 1)));
        }
        let (mut flat, mut guard) = (None, constant(0, 1));
        let known: Vec<Access> = state.accesses.iter().filter(|one| one.cells == access.cells).copied().collect();
        for one in known.iter().filter(|one| one.flat == access.flat) {
            flat = Some(one.flat);
            guard = or(guard, one.guard);
        }
        for one in known.iter().filter(|one| one.flat != access.flat) {
            if guard.is_true() {
                break;
            }
            if state.path.always(equal(one.flat, access.flat), &mut self.solver)? {
                flat = flat.or(Some(one.flat));
                guard = or(guard, one.guard);
            }
        }
        // On different paths the term may have accessed it by different indices.
        if !guard.is_true() && known.iter().any(|one| !one.guard.is_true()) {
            for one in known.iter().filter(|one| one.flat != access.flat) {
                guard = or(guard, and(one.guard, equal(one.flat, access.flat)));
            }
            if state.path.always(guard, &mut self.solver)? {
                guard = constant(1, 1);
            }
        }
        Ok((flat.unwrap_or(access.flat), guard))
    }

    pub fn load(&mut self, state: &mut State, address: Term, bytes: u32) -> Result<Term, Stop> {
        if bytes > 8 {
            return refuse("a load of more than 8 bytes");
        }
        if let Some(value) = self.device_load(address, bytes) {
            return Ok(value);
        }
        match self.spot(state, address, bytes)? {
            Spot::Frame(at) => {
                let end = at + i64::from(bytes);
                if at >= 0 && end <= 8 {
                    return Ok(extract(self.entry.back, at as u32 * 8, bytes * 8));
                }
                if end > 0 {
                    return refuse("a load from the caller's stack frame");
                }
                Ok(state.frame.load(at, i64::from(bytes)))
            }
            Spot::Constant(at) => match self.image.program().constant(at, bytes as u8) {
                Some(value) => Ok(constant(u128::from(value), bytes * 8)),
                None => refuse("a load from what is no constant"),
            },
            Spot::Atomic => self.atomic_load(address, bytes),
            Spot::Scalars(parts) => {
                let mut value: Option<Term> = None;
                for part in parts {
                    let (flat, guard) = self.accessed(state, &part.access)?;
                    let held = read(state.memory[part.access.cells], flat);
                    let scalar = match guard.is_true() {
                        true => held,
                        false => select(guard, held, read_early(state, part.access.cells, flat, held)),
                    };
                    let piece = extract(scalar, part.at * 8, part.bytes * 8);
                    value = Some(value.map_or(piece, |low| concat(piece, low)));
                }
                value.map_or_else(|| refuse("an empty load"), Ok)
            }
        }
    }

    /// `lowest`: the lowest offset of the stack to which this instruction may write.
    pub fn store(&mut self, state: &mut State, address: Term, value: Term, lowest: Option<i64>) -> Result<(), Stop> {
        let bytes = value.width() / 8;
        if bytes > 8 {
            return refuse("a store of more than 8 bytes");
        }
        if self.device_store(address, value) {
            return Ok(());
        }
        match self.spot(state, address, bytes)? {
            Spot::Frame(at) => {
                if at + i64::from(bytes) > 0 {
                    return refuse("a store above the function's stack frame");
                }
                if lowest.is_none_or(|lowest| at < lowest) {
                    return refuse("a store below the stack pointer");
                }
                state.frame.store(at, value);
                Ok(())
            }
            Spot::Constant(_) => refuse("a store to a constant"),
            Spot::Atomic => self.atomic_store(address, value),
            Spot::Scalars(parts) => {
                let mut done = 0;
                for part in parts {
                    let cells = part.access.cells;
                    let (flat, _) = self.accessed(state, &part.access)?;
                    let width = self.program.cells[cells].width;
                    let mut scalar = extract(value, done * 8, part.bytes * 8);
                    if scalar.width() != width {
                        scalar = insert(read(state.memory[cells], flat), scalar, part.at * 8);
                    }
                    state.memory[cells] = store(state.memory[cells], flat, scalar);
                    state.machine_stores.push((cells, flat, state.address));
                    done += part.bytes;
                }
                Ok(())
            }
        }
    }
}
