//! The bound of a compiled program with and without each set of edges that no run takes.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, machine, files @ ..] = &arguments[..] else { return Err("necessity MACHINE-FILE PROGRAM...".into()) };
    let machine = wcet_hardware::machine::load(std::path::Path::new(machine)).map_err(|faults| faults.to_string())?;
    for file in files {
        let found =
            wcet_oracle::compare::necessity(std::path::Path::new(file), &machine, std::time::Duration::from_secs(60))?;
        let Some(found) = found else { continue };
        println!("{file}: {} cycles, {} without any set", found.with_all, found.with_none);
        found.sets.iter().for_each(|set| println!("    {} without: {}", set.without, set.text));
    }
    Ok(())
}
