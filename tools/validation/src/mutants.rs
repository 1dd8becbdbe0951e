//! Mutants of machine code: one instruction of a validated function is changed, and the function must be refused.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use wcet_binary::lift::il::{Binary, Expression, Instruction, Op, Operand, Value};

use crate::image::Image;
use crate::layout::Layout;
use crate::program::Program;
use crate::random::Random;
use crate::report::MutantCounts;
use crate::run::{parsed, validate_one, Error, Options};

/// A change of the image's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    pub function: String,
    pub address: u64,
    pub bytes: Vec<u8>,
    pub change: String,
}

/// Where the file has the byte of an address.
fn file_offset(image: &[u8], address: u64) -> Option<usize> {
    let number = |at: usize, size: usize| {
        let bytes = image.get(at..at + size)?;
        Some(bytes.iter().rev().fold(0u64, |all, byte| all << 8 | u64::from(*byte)))
    };
    let (table, size, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
    (0..count).find_map(|row| {
        let at = usize::try_from(table + row * size).ok()?;
        let (offset, start, length) = (number(at + 8, 8)?, number(at + 0x10, 8)?, number(at + 0x20, 8)?);
        let inside = number(at, 4)? == 1 && address >= start && address - start < length;
        inside.then(|| usize::try_from(offset + address - start).ok()).flatten()
    })
}

/// The image with a mutant's bytes.
pub fn changed(image: &[u8], mutant: &Mutant) -> Option<Vec<u8>> {
    let mut image = image.to_vec();
    let at = file_offset(&image, mutant.address)?;
    image.get_mut(at..at + mutant.bytes.len())?.copy_from_slice(&mutant.bytes);
    Some(image)
}

/// Changes of one instruction: a condition turned round, a constant or register changed, the whole of it removed.
fn changes(bytes: &[u8], mnemonic: &str, random: &mut Random) -> Vec<(Vec<u8>, &'static str)> {
    let mut out = Vec::new();
    let size = bytes.len();
    let mut with = |at: usize, bits: u8, change: &'static str| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= bits;
        out.push((bytes, change));
    };
    let jumps = mnemonic.starts_with('j');
    if jumps && mnemonic != "jmp" {
        with(if size == 2 { 0 } else { 1 }, 1, "condition turned round");
    }
    if jumps || mnemonic == "call" {
        with(if size == 2 { 1 } else { size - 4 }, 1 << random.below(4), "target changed");
    }
    if size >= 3 && !jumps && mnemonic != "call" {
        with(size - 1, 1 << random.below(8), "last byte changed");
        with(if size >= 6 { size - 4 } else { size - 1 }, [1, 4, 8][random.below(3)], "constant changed");
    }
    if size == 2 && !jumps {
        with(1, [1, 2, 8][random.below(3)], "register changed");
    }
    if ["mov", "add", "sub", "or", "and", "call", "push", "pop", "xor", "shl", "shr", "lea"].contains(&mnemonic) {
        out.push((vec![0x90; size], "removed"));
    }
    out
}

/// What the instruction does, with what is known of constants computed: the upper bits of a shift's distance are gone.
fn effect(instruction: &Instruction) -> Vec<Op> {
    let folded = |op: &Op| match op {
        Op::Set { to, from: Expression::Binary(Binary::And, a, b) } => match (a.operand, b.operand) {
            (Operand::Constant(x), Operand::Constant(y)) => {
                Op::Set { to: *to, from: Expression::Copy(Value { operand: Operand::Constant(x & y), ..*a }) }
            }
            _ => *op,
        },
        _ => *op,
    };
    instruction.ops.iter().map(folded).collect()
}

/// Whether a mutant only spells its instruction in another way.
fn is_same(image: &[u8], mutant: &Mutant, before: &Instruction) -> bool {
    let Some(loaded) = changed(image, mutant).and_then(|bytes| parsed(&bytes).ok()) else { return false };
    let Ok(listing) = Image::new(&loaded) else { return false };
    listing.instruction(mutant.address).is_ok_and(|now| {
        now.bytes.len() == before.bytes.len() && now.flow == before.flow && effect(&now) == effect(before)
    })
}

/// So many mutants of the functions, as many of each as it has and the number allows, and none that only spells an instruction
/// in another way.
pub fn sample(image: &[u8], functions: &[String], count: usize, seed: u64) -> Result<Vec<Mutant>, Error> {
    let loaded = parsed(image)?;
    let listing = Image::new(&loaded).map_err(Error::Image)?;
    let mut random = Random(seed);
    let mut all = Vec::new();
    for name in functions {
        let Some(range) = listing.code(name) else { continue };
        let mut mine = Vec::new();
        for instruction in listing.instructions(&range).map_err(Error::Image)? {
            if instruction.mnemonic == "nop" {
                continue;
            }
            for (bytes, change) in changes(&instruction.bytes, &instruction.mnemonic, &mut random) {
                let change = format!("{}: {change}", listing.text(&instruction));
                let mutant = Mutant { function: name.clone(), address: instruction.address, bytes, change };
                mine.push((mutant, instruction.clone()));
            }
        }
        for at in (1..mine.len()).rev() {
            mine.swap(at, random.below(at + 1));
        }
        all.push(mine.into_iter().filter(|(mutant, before)| !is_same(image, mutant, before)));
    }
    // One of each function, then another one of each.
    let mut out = Vec::new();
    while out.len() < count && !all.is_empty() {
        all.retain_mut(|mine| {
            mine.next().is_some_and(|(mutant, _)| {
                out.push(mutant);
                true
            })
        });
    }
    out.truncate(count);
    Ok(out)
}

/// Validates each mutant's function, several side by side; one that is validated has survived. `done` hears of each, with how
/// many there were before it.
pub fn campaign(
    image: &[u8],
    mutants: &[Mutant],
    options: &Options,
    done: &(dyn Fn(&Mutant, bool, usize) + Sync),
) -> Result<MutantCounts, Error> {
    let program = Program::read(&options.kernel, &options.build)?;
    let next = AtomicUsize::new(0);
    let counts: Mutex<(MutantCounts, usize)> = Mutex::default();
    let survivor = |mutant: &Mutant| -> Result<Option<String>, Error> {
        let loaded = parsed(&changed(image, mutant).unwrap_or_default())?;
        let layout = Layout::new(&loaded, &program);
        let listing = Image::new(&loaded).map_err(Error::Image)?;
        let Some(function) = program.functions.get(&mutant.function) else {
            return Err(Error::Unknown(mutant.function.clone()));
        };
        let survives = validate_one(&program, &listing, &layout, function, options.limit, None).validated;
        let now = listing.describe(mutant.address);
        Ok(survives.then(|| format!("{}: {} became {now}", mutant.function, mutant.change)))
    };
    let work = || -> Result<(), Error> {
        while let Some(mutant) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
            let survivor = survivor(mutant)?;
            let Ok(mut counts) = counts.lock() else { break };
            done(mutant, survivor.is_some(), counts.1);
            counts.1 += 1;
            counts.0.refused += usize::from(survivor.is_none());
            counts.0.survived.extend(survivor);
        }
        Ok(())
    };
    std::thread::scope(|scope| -> Result<(), Error> {
        let start = || std::thread::Builder::new().stack_size(64 << 20).spawn_scoped(scope, work);
        let workers: Vec<_> = (0..options.threads.max(1)).filter_map(|_| start().ok()).collect();
        for worker in workers {
            worker.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))?;
        }
        Ok(())
    })?;
    Ok(counts.into_inner().unwrap_or_default().0)
}
