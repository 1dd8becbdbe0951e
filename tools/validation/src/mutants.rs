//! Mutants of machine code: one instruction of a validated function is changed, and the function must be refused.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use wcet_binary::lift::il::Kind;

use crate::equivalent::is_equivalent;
use crate::image::Image;
use crate::layout::Layout;
use crate::program::Program;
use crate::random::Random;
use crate::report::MutantCounts;
use crate::run::{parsed, validate_one, Error, Options};
use crate::solver::Solver;

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

/// Whether two images that differ in the instruction at this address do the same: it is spelled in another way, or nothing
/// looks at what has changed.
pub fn do_the_same(before: &[u8], now: &[u8], address: u64) -> Result<bool, Error> {
    let loaded = parsed(before)?;
    let before = Image::new(&loaded).map_err(Error::Image)?;
    is_same(&before, now, address, &mut Solver::new())
}

fn is_same(before: &Image<'_>, now: &[u8], address: u64, solver: &mut Solver) -> Result<bool, Error> {
    let loaded = parsed(now)?;
    let now = Image::new(&loaded).map_err(Error::Image)?;
    let (Ok(one), Ok(other)) = (before.instruction(address), now.instruction(address)) else { return Ok(false) };
    let is_spelling = if one.kind == Kind::Ordinary && other.kind == Kind::Ordinary {
        one.bytes.len() == other.bytes.len() && one.flow == other.flow && one.ops == other.ops
    } else {
        before.text(&one) == now.text(&other)
    };
    Ok(is_spelling || is_equivalent(before, &now, address, solver))
}

/// So many mutants of the functions, as many of each as it has and the number allows, and none that does the same; with how
/// many were left out for that.
pub fn sample(image: &[u8], functions: &[String], count: usize, seed: u64) -> Result<(Vec<Mutant>, usize), Error> {
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
                mine.push(Mutant { function: name.clone(), address: instruction.address, bytes, change });
            }
        }
        for at in (1..mine.len()).rev() {
            mine.swap(at, random.below(at + 1));
        }
        all.push(mine.into_iter());
    }
    // One of each function, then another one of each.
    let (mut out, mut solver, mut same) = (Vec::new(), Solver::new(), 0);
    while out.len() < count && !all.is_empty() {
        all.retain_mut(|mine| {
            if out.len() == count {
                return true;
            }
            let next = mine.find(|mutant| {
                let now = changed(image, mutant).unwrap_or_default();
                let does_same = is_same(&listing, &now, mutant.address, &mut solver).unwrap_or(false);
                same += usize::from(does_same);
                !does_same
            });
            out.extend(next.clone());
            next.is_some()
        });
    }
    Ok((out, same))
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
