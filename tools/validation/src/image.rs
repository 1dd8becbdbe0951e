//! The machine side: the image's functions, their instructions, and what can be read off these without executing them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use wcet_binary::lift::il::{Flow, Instruction, Kind, Op, Operand, Register, Target};
use wcet_binary::lift::Lifter;
use wcet_binary::load::{Program as Loaded, SymbolKind};

use crate::slots::Slots;

/// Numbers of registers, as the lifter has them.
pub const RAX: usize = 0;
pub const RCX: usize = 1;
pub const RDX: usize = 2;
pub const RBX: usize = 3;
pub const RSP: usize = 4;
pub const RBP: usize = 5;
pub const RSI: usize = 6;
pub const RDI: usize = 7;
pub const GS: usize = 17;
pub const GENERAL: usize = 16;
/// The direction flag.
pub const DF: usize = 24;
/// The other flags, as bits.
const FLAGS: u32 = ((1 << DF) - 1) & !((1 << (GENERAL + 2)) - 1);
/// Registers of the first six arguments.
pub const ARGUMENTS: [usize; 6] = [RDI, RSI, RDX, RCX, 8, 9];

/// A function with its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    pub start: u64,
    pub end: u64,
    pub name: String,
}

pub struct Image<'p> {
    lifter: Lifter<'p>,
    functions: Vec<Range>,
    /// Functions and assembly routines by the address where they begin.
    entries: BTreeMap<u64, String>,
    /// Further names of these, where the linker has folded functions of the same code.
    aliases: BTreeMap<String, u64>,
    lifted: RefCell<HashMap<u64, Result<Rc<Instruction>, String>>>,
    clobbers: RefCell<HashMap<u64, Rc<BTreeSet<usize>>>>,
    headers: RefCell<HashMap<u64, Rc<HashSet<u64>>>>,
    live: RefCell<HashMap<u64, Rc<HashMap<u64, u32>>>>,
    slots: RefCell<HashMap<u64, Option<Rc<Slots>>>>,
    next_calls: RefCell<HashMap<u64, Option<Rc<BTreeSet<String>>>>>,
}

/// A part of a function that gcc has split off or specialised, or one of several functions of a name: it is executed where it is
/// called.
pub fn is_clone(name: &str) -> bool {
    [".part.", ".isra.", ".constprop.", ".cold", ".lto_priv."].iter().any(|mark| name.contains(mark))
}

impl<'p> Image<'p> {
    pub fn new(program: &'p Loaded) -> Result<Image<'p>, String> {
        let lifter = Lifter::new(program).map_err(|error| error.to_string())?;
        let mut functions = Vec::new();
        let mut entries: BTreeMap<u64, String> = BTreeMap::new();
        let mut aliases = BTreeMap::new();
        for symbol in program.symbols() {
            if symbol.kind != SymbolKind::Function || program.code(symbol.address, 1).is_none() {
                continue;
            }
            if *entries.entry(symbol.address).or_insert_with(|| symbol.name.clone()) != symbol.name {
                aliases.insert(symbol.name.clone(), symbol.address);
            }
            if symbol.size > 0 {
                let (start, end) = (symbol.address, symbol.address.saturating_add(symbol.size));
                functions.push(Range { start, end, name: symbol.name.clone() });
            }
        }
        functions.sort_by_key(|range| range.start);
        Ok(Image {
            lifter,
            functions,
            entries,
            aliases,
            lifted: RefCell::default(),
            clobbers: RefCell::default(),
            headers: RefCell::default(),
            live: RefCell::default(),
            slots: RefCell::default(),
            next_calls: RefCell::default(),
        })
    }

    pub fn program(&self) -> &'p Loaded {
        self.lifter.program()
    }

    pub fn functions(&self) -> &[Range] {
        &self.functions
    }

    /// The only function of this name that is no clone.
    pub fn function(&self, name: &str) -> Option<&Range> {
        let mut named = self.functions.iter().filter(|range| range.name == name);
        let first = named.next()?;
        named.next().is_none().then_some(first)
    }

    /// The code of a function, or of a routine of assembly, whose size no symbol tells: up to the next symbol.
    pub fn code(&self, name: &str) -> Option<Range> {
        if let Some(function) = self.function(name) {
            return Some(function.clone());
        }
        let start = self.only(name).filter(|start| self.function_at(*start).is_none())?;
        let symbols = self.program().symbols().iter().filter(|one| one.kind != SymbolKind::Label);
        let end = symbols.map(|one| one.address).filter(|at| *at > start).min()?;
        Some(Range { start, end, name: name.to_string() })
    }

    /// All functions, and all routines of assembly.
    pub fn all_code(&self) -> Vec<Range> {
        let is_mark = |name: &str| name.starts_with("kernel_");
        let routines = self.entries.iter().filter(|(at, name)| self.function_at(**at).is_none() && !is_mark(name));
        let routines = routines.filter_map(|(_, name)| self.code(name));
        self.functions.iter().cloned().chain(routines).collect()
    }

    /// Whether a function or an assembly routine has this name.
    pub fn has(&self, name: &str) -> bool {
        self.aliases.contains_key(name) || self.entries.values().any(|known| known == name)
    }

    /// Whether exactly one function or routine has this name, and begins there.
    pub fn is_only(&self, name: &str, address: u64) -> bool {
        self.only(name) == Some(address)
    }

    /// Where the only function or routine of this name begins.
    pub fn only(&self, name: &str) -> Option<u64> {
        let named = self.entries.iter().filter(|(_, known)| *known == name).map(|(address, _)| *address);
        let mut all = named.chain(self.aliases.get(name).copied());
        let first = all.next()?;
        all.next().is_none().then_some(first)
    }

    pub fn entry(&self, address: u64) -> Option<&str> {
        self.entries.get(&address).map(String::as_str)
    }

    pub fn function_at(&self, address: u64) -> Option<&Range> {
        let after = self.functions.partition_point(|range| range.start <= address);
        self.functions[..after].last().filter(|range| address < range.end)
    }

    pub fn instruction(&self, address: u64) -> Result<Rc<Instruction>, String> {
        if let Some(known) = self.lifted.borrow().get(&address) {
            return known.clone();
        }
        let lifted = self.lifter.lift(address).map(Rc::new).map_err(|error| error.to_string());
        self.lifted.borrow_mut().insert(address, lifted.clone());
        lifted
    }

    pub fn text(&self, instruction: &Instruction) -> String {
        self.lifter.text(instruction)
    }

    /// `name+0x12` and the instruction, for people.
    pub fn describe(&self, address: u64) -> String {
        let place = self.program().describe(address);
        match self.instruction(address) {
            Ok(instruction) => format!("{address:#x} <{place}> {}", self.text(&instruction)),
            Err(_) => format!("{address:#x} <{place}>"),
        }
    }

    /// The instructions of a function, one after the other from its start on.
    pub fn instructions(&self, range: &Range) -> Result<Vec<Rc<Instruction>>, String> {
        let mut all = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let instruction = self.instruction(at)?;
            at = instruction.next();
            all.push(instruction);
        }
        Ok(all)
    }

    /// Registers that a call of the function may change, by its code and by that of all that it calls. All but the stack
    /// pointer and rbp if its code cannot be followed, or switches stacks.
    pub fn clobbers(&self, address: u64) -> Rc<BTreeSet<usize>> {
        if let Some(known) = self.clobbers.borrow().get(&address) {
            return Rc::clone(known);
        }
        let found = Rc::new(self.written(address).unwrap_or_else(|| (0..GENERAL).collect()));
        let found = Rc::new(found.iter().copied().filter(|one| *one != RSP && *one != RBP).collect());
        self.clobbers.borrow_mut().insert(address, Rc::clone(&found));
        found
    }

    fn written(&self, address: u64) -> Option<BTreeSet<usize>> {
        let (mut seen, mut todo, mut written) = (HashSet::new(), vec![address], BTreeSet::new());
        while let Some(next) = todo.pop() {
            let range = self.function_at(next)?;
            if !seen.insert(range.start) {
                continue;
            }
            for instruction in self.instructions(range).ok()? {
                for op in &instruction.ops {
                    if let Op::Set { to, .. } = op {
                        if let Operand::Register(Register(number)) = to.operand {
                            written.insert(usize::from(number));
                        }
                    }
                }
                match instruction.flow {
                    Flow::Jump { to: Target::Direct(to), .. } if to >= range.start && to < range.end => {}
                    Flow::Jump { to: Target::Direct(to), .. } | Flow::Call { to: Target::Direct(to), .. } => {
                        todo.push(to);
                    }
                    Flow::Jump { .. } | Flow::Call { .. } | Flow::Leave => return None,
                    _ => {}
                }
            }
        }
        written.retain(|one| *one < GENERAL);
        Some(written)
    }

    /// Where an instruction goes inside its function.
    pub fn successors(instruction: &Instruction, range: &Range) -> Vec<u64> {
        let inside = |to: u64| (to >= range.start && to < range.end).then_some(to);
        match instruction.flow {
            Flow::Jump { to: Target::Direct(to), when } => {
                inside(to).into_iter().chain(when.map(|_| instruction.next())).collect()
            }
            Flow::Jump { .. } | Flow::Return { .. } | Flow::Leave | Flow::Trap => Vec::new(),
            _ => vec![instruction.next()],
        }
    }

    /// Whether a call of the function may come back: not if all of its ways end in a loop without a way out.
    pub fn returns(&self, address: u64) -> bool {
        let Some(range) = self.function_at(address) else { return true };
        let (mut seen, mut todo) = (HashSet::new(), vec![address]);
        while let Some(at) = todo.pop() {
            if !seen.insert(at) {
                continue;
            }
            let Ok(instruction) = self.instruction(at) else { return true };
            let leaves = match instruction.flow {
                Flow::Return { .. } | Flow::Leave | Flow::Trap => true,
                Flow::Jump { to: Target::Direct(to), .. } => to < range.start || to >= range.end,
                Flow::Jump { to: Target::Indirect(_), .. } => true,
                // The last instruction: a call of what does not come back.
                Flow::Call { to: Target::Direct(to), when: None } if instruction.next() >= range.end => {
                    to == range.start || self.returns(to)
                }
                _ => instruction.next() >= range.end,
            };
            if leaves {
                return true;
            }
            todo.extend(Image::successors(&instruction, range).into_iter().filter(|to| *to < range.end));
        }
        false
    }

    /// Addresses to which a jump of the function leads back.
    pub fn headers(&self, range: &Range) -> Rc<HashSet<u64>> {
        if let Some(known) = self.headers.borrow().get(&range.start) {
            return Rc::clone(known);
        }
        let mut next: HashMap<u64, Vec<u64>> = HashMap::new();
        for instruction in self.instructions(range).unwrap_or_default() {
            next.insert(instruction.address, Image::successors(&instruction, range));
        }
        let (mut headers, mut open, mut done) = (HashSet::new(), HashSet::new(), HashSet::new());
        let mut todo = vec![(range.start, 0)];
        while let Some((at, which)) = todo.pop() {
            if which == 0 {
                if !done.insert(at) {
                    continue;
                }
                open.insert(at);
            }
            match next.get(&at).and_then(|all| all.get(which)) {
                Some(to) => {
                    todo.push((at, which + 1));
                    if open.contains(to) {
                        headers.insert(*to);
                    } else if !done.contains(to) {
                        todo.push((*to, 0));
                    }
                }
                None => {
                    open.remove(&at);
                }
            }
        }
        let headers = Rc::new(headers);
        self.headers.borrow_mut().insert(range.start, Rc::clone(&headers));
        headers
    }

    /// Registers that may still be read from an address on, as bits. Only used to forget values: what is forgotten is
    /// any value.
    pub fn live(&self, address: u64) -> u32 {
        let Some(range) = self.function_at(address) else { return u32::MAX };
        let known = self.live.borrow().get(&range.start).cloned();
        let known = known.unwrap_or_else(|| {
            let found = Rc::new(self.liveness(range));
            self.live.borrow_mut().insert(range.start, Rc::clone(&found));
            found
        });
        known.get(&address).copied().unwrap_or(u32::MAX)
    }

    /// How far the stack pointer is at an address from where it was at the function's entry, and what of the frame may still be
    /// read; none if that is not known.
    pub fn slots(&self, address: u64) -> Option<(i64, u128)> {
        let range = self.function_at(address)?;
        let known = self.slots.borrow().get(&range.start).cloned();
        let known = known.unwrap_or_else(|| {
            let found = crate::slots::of(self, range).map(Rc::new);
            self.slots.borrow_mut().insert(range.start, found.clone());
            found
        });
        known?.get(&address).copied()
    }

    /// Whether a function may be the next one that the machine calls.
    pub fn may_call(&self, address: u64, function: &str) -> bool {
        let known = self.next_calls.borrow().get(&address).cloned();
        let known = known.unwrap_or_else(|| {
            let found = crate::reach::next_calls(self, address).map(Rc::new);
            self.next_calls.borrow_mut().insert(address, found.clone());
            found
        });
        let name = self.only(function).and_then(|at| self.entry(at)).unwrap_or(function);
        known.is_none_or(|names| names.contains(name))
    }

    fn liveness(&self, range: &Range) -> HashMap<u64, u32> {
        let all = self.instructions(range).unwrap_or_default();
        let arguments = ARGUMENTS.iter().fold(1 << RSP | 1 << RBP, |bits, one| bits | 1u32 << one);
        // Behind a part of a function is the rest of it, which may read any register.
        let result = if is_clone(&range.name) { u32::MAX } else { 1u32 << RAX | 1 << RBP | 1 << RSP };
        let mut rows = Vec::new();
        for instruction in &all {
            let (mut uses, mut sets) = effects(instruction);
            match instruction.flow {
                Flow::Call { to: Target::Direct(to), .. } if !is_clone(self.entry(to).unwrap_or(".part.")) => {
                    uses |= arguments;
                    sets |= self.clobbers(to).iter().fold(FLAGS, |bits, one| bits | 1u32 << one);
                }
                Flow::Call { .. } => uses = u32::MAX,
                Flow::Return { .. } => uses |= result,
                Flow::Jump { to: Target::Direct(to), .. } if to < range.start || to >= range.end => {
                    let is_part = is_clone(&range.name) || is_clone(self.entry(to).unwrap_or(".part."));
                    uses |= if is_part { u32::MAX } else { arguments };
                }
                Flow::Jump { to: Target::Indirect(_), .. } | Flow::Leave => uses = u32::MAX,
                _ => {}
            }
            rows.push((instruction.address, uses, sets, Image::successors(instruction, range)));
        }
        let mut live: HashMap<u64, u32> = HashMap::new();
        loop {
            let mut changed = false;
            for (at, uses, sets, next) in rows.iter().rev() {
                let after = next.iter().fold(0, |bits, to| bits | live.get(to).copied().unwrap_or(0));
                let now = uses | (after & !sets);
                changed |= live.insert(*at, now) != Some(now);
            }
            if !changed {
                return live;
            }
        }
    }
}

/// Instructions that do more than compute, and read no register.
const READS_NOTHING: [&str; 11] =
    ["rdtsc", "pause", "nop", "endbr64", "lfence", "sfence", "mfence", "sti", "cli", "hlt", "clts"];

/// Registers that an instruction reads before it sets them, and those that it sets, as bits.
fn effects(instruction: &Instruction) -> (u32, u32) {
    // What an instruction reads that does more than compute is not listed.
    let reads_all = instruction.kind != Kind::Ordinary && !READS_NOTHING.contains(&instruction.mnemonic.as_str());
    let (mut uses, mut sets) = (if reads_all { u32::MAX } else { 0 }, 0u32);
    let bit = |operand: Operand| match operand {
        Operand::Register(Register(number)) if usize::from(number) <= DF => 1u32 << number,
        _ => 0,
    };
    for op in &instruction.ops {
        match op {
            Op::Set { to, from } => {
                from.operands().iter().for_each(|value| uses |= bit(value.operand) & !sets);
                sets |= bit(to.operand);
            }
            Op::Store { address, from, when } => {
                for value in [Some(*address), Some(*from), *when].into_iter().flatten() {
                    uses |= bit(value.operand) & !sets;
                }
            }
            Op::ClobberMemory => {}
        }
    }
    let end = match instruction.flow {
        Flow::Jump { to: Target::Indirect(value), .. } | Flow::Call { to: Target::Indirect(value), .. } => Some(value),
        Flow::Return { to, .. } => Some(to),
        _ => None,
    };
    uses |= end.map_or(0, |value| bit(value.operand) & !sets);
    (uses, sets)
}
