//! Lifts every function of an executable from its first byte to its last: how fast, and what is not supported.

use std::collections::BTreeMap;
use std::time::Instant;

use timing_lift::Lifter;
use timing_load::{Program, SymbolKind};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: sweep FILE [show]")?;
    let show = std::env::args().nth(2);
    let program = Program::parse(&std::fs::read(path)?).map_err(|errors| format!("{errors:?}"))?;
    let lifter = Lifter::new(&program)?;
    let start = Instant::now();
    let (mut count, mut operations) = (0_u32, 0);
    let mut errors: BTreeMap<String, (u32, String)> = BTreeMap::new();
    for symbol in program.symbols().iter().filter(|symbol| symbol.kind == SymbolKind::Function) {
        let mut address = symbol.address;
        while address < symbol.address + symbol.size {
            match lifter.lift(address) {
                Ok(instruction) => {
                    if show.as_ref() == Some(&symbol.name) {
                        println!("{address:#x} {} {:?}", lifter.text(&instruction), instruction.flow);
                        println!("    {:?}", instruction.accesses);
                        instruction.ops.iter().for_each(|op| println!("    {op:?}"));
                    }
                    count += 1;
                    operations += instruction.ops.len();
                    address = instruction.next();
                }
                Err(error) => {
                    if show.as_ref() == Some(&symbol.name) {
                        println!("{error}");
                    }
                    let entry = errors.entry(error.problem.to_string()).or_default();
                    entry.0 += 1;
                    entry.1 = format!("{error} in {}", symbol.name);
                    address += if program.architecture == timing_load::Architecture::Arm { 4 } else { 1 };
                }
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{count} instructions, {operations} operations, {:.0} instructions a second", f64::from(count) / seconds);
    for (problem, (times, example)) in errors {
        println!("{times:6} {problem}   e.g. {example}");
    }
    Ok(())
}
