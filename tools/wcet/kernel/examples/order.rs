//! Finds an order of the kernel's functions in which the worst paths touch few cache lines, and writes it into the linker script.
//! An interrupt finds little of the code in the cache, so each line of code on its way is a miss.
//!
//!     order KERNEL.elf kernel/timing.toml machines/timing/x86-inorder.toml kernel/arch/x86_64/kernel.ld PATHS [SECONDS [SEED]]
//!
//! Regions are bounded as they are linked now. Of those that count ([`weights`]) the worst path's code is taken, function by
//! function; then the order of these functions, and gaps between them, are changed at random for so many seconds (simulated
//! annealing), and the best one is kept. It begins with the order of the script, so without a better one that stays. In the new
//! order another path may be the worst: link, and run it again, as long as bounds become smaller. Paths are kept in the file
//! `PATHS`, so that later runs heed those that were the worst in other orders. They are of the same functions: begin with no file
//! once the code has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use wcet_binary::lift::Lifter;
use wcet_binary::load::Program;
use wcet_kernel::{whole, Description, Kernel, Whole};

const LINE: u64 = 64;
/// In the script, what the order stands between.
const BEGIN: &str = "        . = ALIGN(64);\n";
const END: &str = "        *(.text .text.*)\n    } :text";

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, description, machine, script, kept, rest @ ..] = arguments.as_slice() else {
        return Err("KERNEL DESCRIPTION MACHINE SCRIPT PATHS [SECONDS [SEED]]".to_string());
    };
    let number = |index: usize, usual| rest.get(index).map_or(Ok(usual), |text: &String| text.parse().map_err(show));
    let (seconds, seed): (u64, u64) = (number(0, 120)?, number(1, 1)?);
    let data = std::fs::read(file).map_err(show)?;
    let program = Program::parse(&data).map_err(|errors| format!("{errors:?}"))?;
    let description = Description::load(Path::new(description)).map_err(show)?;
    let machine = wcet_hardware::machine::load(Path::new(machine)).map_err(|faults| format!("{faults:?}"))?;
    let lifter = Lifter::new(&program).map_err(show)?;
    let kernel = Kernel::new(&lifter, &description).map_err(|errors| format!("{errors:?}"))?;
    let found = whole(&kernel, &machine, 2, &|_, _, _| {}).map_err(|errors| format!("{errors:?}"))?;
    let text = std::fs::read_to_string(script).map_err(show)?;
    let (head, order, tail) = split(&text)?;
    let fixed = assembled(Path::new(script).parent().ok_or("the script is in no folder")?)?;
    let mut layout = Layout::new(&program, &order, &fixed, &kernel, &weights(&found));
    if Path::new(kept).exists() {
        layout.take_in(&std::fs::read_to_string(kept).map_err(show)?)?;
    }
    std::fs::write(kept, layout.paths()).map_err(show)?;
    layout.keep_apart(&kernel);
    let before = layout.describe();
    layout.anneal(seconds, seed);
    let after = layout.describe();
    for ((path, one), other) in layout.paths.iter().zip(before).zip(after) {
        println!("{:>3} x {one:>3} to {other:>3} lines: {}", path.weight, path.region);
    }
    std::fs::write(script, format!("{head}{}{tail}", layout.script())).map_err(show)
}

fn show(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Instructions of a worst path: first address and the one behind.
type Code = BTreeSet<(u64, u64)>;

/// The regions that count, each with its weight and path: those of responses most, less the longest ones, all of which must stay
/// short.
fn weights(found: &Whole) -> Vec<(usize, u64, &Code)> {
    let mut weights: BTreeMap<usize, (u64, &Code)> = BTreeMap::new();
    let cycles = |number: usize| found.regions[number].wcet_cycles.unwrap_or(0);
    let longest = (0..found.regions.len()).map(cycles).max().unwrap_or(0);
    for (number, region) in found.regions.iter().enumerate() {
        let weight = match cycles(number) * 100 / longest.max(1) {
            97.. => 4,
            85.. => 1,
            _ => 0,
        };
        weights.insert(number, (weight, &region.code));
    }
    for (interrupt, one) in found.by_vector.iter().map(|one| (one.name.as_str(), &one.response)) {
        // Lines are what devices that matter use.
        let weight = if interrupt.starts_with("line") { 6 } else { 2 };
        let all = one.closed.iter().chain(&one.handler).chain(&one.decided);
        for number in all {
            weights.entry(*number).and_modify(|(known, _)| *known = weight.max(*known));
        }
        let served =
            found.regions[one.served].serving.values().map(|serving| &serving.code).max_by_key(|code| code.len());
        let path = served.unwrap_or(&found.regions[one.served].code);
        weights.entry(one.served).and_modify(|known| *known = (weight.max(known.0), path));
    }
    let all = weights.into_iter().filter(|(_, (weight, _))| *weight > 0);
    all.map(|(number, (weight, code))| (number, weight, code)).collect()
}

/// Functions by name, with the gaps before them.
type Order = Vec<(String, u64)>;

/// The script before the order, the order, and what is behind.
fn split(text: &str) -> Result<(String, Order, String), String> {
    let begin = text.find(BEGIN).ok_or("the script has no order")? + BEGIN.len();
    let end = text.find(END).filter(|end| *end >= begin).ok_or("the script's order has no end")?;
    let (mut order, mut gap) = (Vec::new(), 0);
    for line in text[begin..end].lines().map(str::trim) {
        if let Some(bytes) = line.strip_prefix(". = . + ").and_then(|rest| rest.split(';').next()) {
            gap = bytes.parse().map_err(show)?;
        } else if let Some(name) = line.strip_prefix("*(.text.").and_then(|rest| rest.strip_suffix(')')) {
            order.push((name.to_string(), std::mem::take(&mut gap)));
        }
    }
    Ok((text[..begin].to_string(), order, text[end..].to_string()))
}

/// Labels of assembly, below a folder: such code has no section of its own.
fn assembled(folder: &Path) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(show)? {
        let path = entry.map_err(show)?.path();
        if path.is_dir() {
            found.append(&mut assembled(&path)?);
        } else if path.extension().is_some_and(|end| end == "S") {
            let text = std::fs::read_to_string(&path).map_err(show)?;
            let labels = text.lines().filter_map(|line| line.split_once(':')).map(|(label, _)| label.to_string());
            found.extend(labels);
        }
    }
    Ok(found)
}

/// A function that can be placed.
struct Placed {
    name: String,
    bytes: u64,
    gap: u64,
    at: u64,
}

/// A path: its weight, lines that are where they are, and of functions, by number, the first byte and the one behind of stretches.
#[derive(Clone)]
struct Touched {
    region: String,
    weight: u64,
    fixed: u64,
    stretches: Vec<(usize, u64, u64)>,
}

struct Layout {
    functions: Vec<Placed>,
    order: Vec<usize>,
    paths: Vec<Touched>,
    /// Functions that end with a jump to another, with that.
    apart: BTreeSet<(usize, usize)>,
    /// Of each line, the number of the last path that was seen to touch it.
    seen: Vec<u64>,
    searches: u64,
}

impl Layout {
    fn new(
        program: &Program,
        order: &[(String, u64)],
        fixed: &BTreeSet<String>,
        kernel: &Kernel<'_>,
        weights: &[(usize, u64, &Code)],
    ) -> Layout {
        let mut layout = Layout {
            functions: Vec::new(),
            order: Vec::new(),
            paths: Vec::new(),
            apart: BTreeSet::new(),
            seen: Vec::new(),
            searches: 0,
        };
        let mut numbers: BTreeMap<u64, usize> = BTreeMap::new();
        let mut place = |layout: &mut Layout, name: &str, gap| {
            let Some(symbol) = program.symbol(name) else { return };
            numbers.entry(symbol.address).or_insert_with(|| {
                layout.order.push(layout.functions.len());
                layout.functions.push(Placed { name: name.to_string(), bytes: symbol.size, gap, at: 0 });
                layout.functions.len() - 1
            });
        };
        order.iter().for_each(|(name, gap)| place(&mut layout, name, *gap));
        for (address, _) in weights.iter().flat_map(|(_, _, code)| code.iter()) {
            let symbol = program.symbol_of(*address).filter(|symbol| !fixed.contains(&symbol.name));
            symbol.iter().for_each(|symbol| place(&mut layout, &symbol.name, 0));
        }
        for &(region, weight, code) in weights {
            let region = kernel.regions[region].name.clone();
            let mut path = Touched { region, weight, fixed: 0, stretches: Vec::new() };
            let mut lines = BTreeSet::new();
            for &(from, to) in code {
                match program.symbol_of(from).and_then(|symbol| Some((symbol, *numbers.get(&symbol.address)?))) {
                    Some((symbol, number)) => {
                        let (first, behind) = (from - symbol.address, to - symbol.address);
                        match path.stretches.last_mut() {
                            Some((last, _, end)) if *last == number && *end == first => *end = behind,
                            _ => path.stretches.push((number, first, behind)),
                        }
                    }
                    None => lines.extend([from / LINE, (to - 1) / LINE]),
                }
            }
            path.fixed = lines.len() as u64;
            layout.add(path);
        }
        layout
    }

    /// Such as the entries of lines: one path stands for all that are alike.
    fn add(&mut self, path: Touched) {
        match self.paths.iter_mut().find(|other| other.stretches == path.stretches) {
            Some(other) => other.weight = path.weight.max(other.weight),
            None => self.paths.push(path),
        }
    }

    /// The paths, a line each: the weight, lines that are where they are, stretches of functions, and the region's name.
    fn paths(&self) -> String {
        let mut text = String::new();
        for Touched { region, weight, fixed, stretches } in &self.paths {
            write!(text, "{weight} {fixed} ").unwrap_or_default();
            for (number, first, behind) in stretches {
                write!(text, "{}:{first}:{behind},", self.functions[*number].name).unwrap_or_default();
            }
            writeln!(text, " {region}").unwrap_or_default();
        }
        text
    }

    /// Adds paths that are written so.
    fn take_in(&mut self, text: &str) -> Result<(), String> {
        let numbers: BTreeMap<String, usize> =
            self.functions.iter().enumerate().map(|(number, function)| (function.name.clone(), number)).collect();
        for line in text.lines() {
            let mut parts = line.splitn(4, ' ');
            let mut next = || parts.next().ok_or_else(|| format!("no path: {line}"));
            let (weight, fixed) = (next()?.parse().map_err(show)?, next()?.parse().map_err(show)?);
            let mut path = Touched { region: String::new(), weight, fixed, stretches: Vec::new() };
            for stretch in next()?.split_terminator(',') {
                let [name, first, behind] = stretch.split(':').collect::<Vec<_>>()[..] else {
                    return Err(format!("no stretch: {stretch}"));
                };
                // What is not placed any more is none of its lines.
                if let Some(number) = numbers.get(name) {
                    path.stretches.push((*number, first.parse().map_err(show)?, behind.parse().map_err(show)?));
                }
            }
            path.region = next()?.to_string();
            self.add(path);
        }
        Ok(())
    }

    /// Finds functions that must not follow each other directly: to the analysis, a jump to the next instruction leaves no
    /// function, and the second one's name would mean nothing.
    fn keep_apart(&mut self, kernel: &Kernel<'_>) {
        let program = kernel.lifter.program();
        let entries: BTreeMap<u64, usize> = (self.functions.iter().enumerate())
            .filter_map(|(number, function)| Some((program.symbol(&function.name)?.address, number)))
            .collect();
        for (address, &first) in &entries {
            let end = address + self.functions[first].bytes;
            let blocks = kernel.graph.functions.get(address).map(|function| &function.blocks);
            let last = blocks.into_iter().flatten().filter(|block| block.last().next() == end);
            let next = last.flat_map(|block| &block.tail_calls).filter_map(|callee| entries.get(callee));
            self.apart.extend(next.map(|second| (first, *second)));
        }
    }

    /// The gap before a function, behind another.
    fn gap(&self, before: Option<usize>, number: usize) -> u64 {
        let apart = before.is_some_and(|before| self.apart.contains(&(before, number)));
        self.functions[number].gap.max(u64::from(apart))
    }

    /// What a path's lines cost in this order, and a little for its length.
    fn cost(&mut self) -> f64 {
        let (mut at, mut before) = (0, None);
        for place in 0..self.order.len() {
            let number = self.order[place];
            at += self.gap(before.replace(number), number);
            self.functions[number].at = at;
            at += self.functions[number].bytes;
        }
        self.seen.resize((at / LINE) as usize + 2, 0);
        let lines: u64 = (0..self.paths.len()).map(|path| self.paths[path].weight * self.lines(path)).sum();
        lines as f64 + at as f64 * 1e-5
    }

    /// How many lines a path touches.
    fn lines(&mut self, path: usize) -> u64 {
        self.searches += 1;
        let path = &self.paths[path];
        let mut count = path.fixed;
        for &(number, first, behind) in &path.stretches {
            let at = self.functions[number].at;
            for line in (at + first) / LINE..=(at + behind - 1) / LINE {
                let seen = &mut self.seen[line as usize];
                count += u64::from(*seen != self.searches);
                *seen = self.searches;
            }
        }
        count
    }

    /// How many lines each path touches.
    fn describe(&mut self) -> Vec<u64> {
        self.cost();
        (0..self.paths.len()).map(|path| self.lines(path)).collect()
    }

    fn anneal(&mut self, seconds: u64, seed: u64) {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let gaps = |layout: &Layout| -> Vec<u64> { layout.functions.iter().map(|one| one.gap).collect() };
        let mut now = self.cost();
        let mut best = (now, self.order.clone(), gaps(self));
        let began = Instant::now();
        let mut heat = 1.0;
        for turn in 0u64.. {
            if turn % 256 == 0 {
                let left = 1.0 - began.elapsed().as_secs_f64() / seconds.max(1) as f64;
                if left <= 0.0 {
                    break;
                }
                heat = 2.0 * left * left + 0.02;
            }
            let (order, gap) = (self.order.clone(), self.change(&mut random));
            let next = self.cost();
            if next <= now || ((now - next) / heat).exp() > random.part() {
                now = next;
                if now < best.0 {
                    best = (now, self.order.clone(), gaps(self));
                }
            } else {
                self.order = order;
                gap.into_iter().for_each(|(number, gap)| self.functions[number].gap = gap);
            }
        }
        self.order = best.1;
        self.functions.iter_mut().zip(best.2).for_each(|(function, gap)| function.gap = gap);
    }

    /// Moves some functions elsewhere, or changes a gap; returns what that was.
    fn change(&mut self, random: &mut Random) -> Option<(usize, u64)> {
        let count = self.order.len();
        match random.below(10) {
            0..=6 => {
                let first = random.below(count);
                let moved = if random.below(2) == 0 { 1 } else { (1 + random.below(6)).min(count - first) };
                let moved: Vec<usize> = self.order.drain(first..first + moved).collect();
                let to = random.below(self.order.len() + 1);
                self.order.splice(to..to, moved);
                None
            }
            _ => {
                let number = random.below(self.functions.len());
                let gap = if random.below(3) == 0 { 0 } else { random.below(LINE as usize) as u64 };
                Some((number, std::mem::replace(&mut self.functions[number].gap, gap)))
            }
        }
    }

    fn script(&self) -> String {
        let (mut text, mut before) = (String::new(), None);
        for &number in &self.order {
            let gap = self.gap(before.replace(number), number);
            if gap > 0 {
                writeln!(text, "        . = . + {gap};").unwrap_or_default();
            }
            writeln!(text, "        *(.text.{})", self.functions[number].name).unwrap_or_default();
        }
        text
    }
}

/// Marsaglia's xorshift: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
