//! Whether the values of a machine file make sense together.

use crate::machine::code::Code;
use crate::machine::model::{Cache, Machine, Policy};
use crate::machine::read::{Document, Table};
use diagnostics::Faults;
use std::collections::BTreeMap;

pub(crate) fn check(document: &Document, machine: &Machine, faults: &mut Faults) {
    sources(document, machine, faults);
    for table in document.tables_of("cache") {
        let complete = ["level", "holds", "size", "ways", "line", "policy", "latency"];
        let cache = machine.caches.iter().find(|cache| cache.name == table.name);
        if let Some(cache) = cache.filter(|_| complete.iter().all(|key| table.entry(key).is_some())) {
            geometry(table, cache, faults);
            reliance(table, cache, faults);
            locking(table, cache, faults);
            hierarchy(document, table, cache, machine, faults);
        }
    }
    regions(document, machine, faults);
    branches(document, machine, faults);
    if !document.broken && document.tables_of("class").next().is_none() {
        let remedy = "add [class.alu], [class.load], [class.store] and [class.branch] at least";
        faults.add(Code::Missing, &(0..0), "no class of instructions has a cost", remedy);
    }
}

fn sources(document: &Document, machine: &Machine, faults: &mut Faults) {
    for entry in document.tables.iter().flat_map(|table| &table.entries) {
        let Some((text, span)) = &entry.source else { continue };
        let name = text.split_whitespace().next().unwrap_or_default().trim_end_matches([',', ':']);
        if !machine.sources.contains_key(name) {
            let known: Vec<&str> = machine.sources.keys().map(String::as_str).collect();
            let remedy = format!("begin with the name of a source ({}), or add [source.NAME]", known.join(", "));
            faults.add(Code::UnknownSource, span, &format!("there is no source `{name}`"), &remedy);
        }
    }
}

fn geometry(table: &Table, cache: &Cache, faults: &mut Faults) {
    let size = table.number("size").unwrap_or(0);
    let whole = cache.line.is_power_of_two() && cache.sets.is_power_of_two();
    if !whole || size != cache.sets * cache.ways * cache.line {
        let message =
            format!("{size} bytes are not a power of two of sets of {} lines of {} bytes", cache.ways, cache.line);
        faults.add(
            Code::Geometry,
            &table.span_of("size"),
            &message,
            "size = sets × ways × line, sets and line powers of two",
        );
    }
    if cache.policy == Policy::Plru && !(cache.ways.is_power_of_two() && cache.locked_ways == 0) {
        let message = "tree PLRU needs a power of two of ways, none of them locked";
        faults.add(Code::Geometry, &table.span_of("policy"), message, "choose another policy or other ways");
    }
}

fn reliance(table: &Table, cache: &Cache, faults: &mut Faults) {
    let most = cache.policy.lru_ways(cache.free_ways());
    let unmodelled = matches!(cache.policy, Policy::RoundRobin | Policy::Random);
    if unmodelled && table.entry("taken_as").is_none() {
        let message = format!("{} replacement cannot be modelled, and `taken_as` is missing", cache.policy.name());
        faults.add(Code::Reliance, &table.span_of("policy"), &message, "add `taken_as` with the value 1");
    }
    if cache.taken_as > most.max(1) {
        let message = format!(
            "{} with {} free ways guarantees {most}, not {}",
            cache.policy.name(),
            cache.free_ways(),
            cache.taken_as
        );
        faults.add(Code::Reliance, &table.span_of("taken_as"), &message, &format!("write at most {}", most.max(1)));
    }
}

fn locking(table: &Table, cache: &Cache, faults: &mut Faults) {
    if table.number("locked_ways").unwrap_or(0) > cache.ways {
        let message = format!("more ways locked than the {} there are", cache.ways);
        faults.add(Code::Locking, &table.span_of("locked_ways"), &message, "lock fewer");
    }
    let capacity = cache.sets * cache.locked_ways;
    let lines: u128 =
        cache.pinned.iter().map(|(first, last)| u128::from(last / cache.line - first / cache.line) + 1).sum();
    let span = table.span_of("pinned");
    let remedy = "pin fewer lines or lock more ways";
    if lines > u128::from(capacity) {
        let message = format!("{lines} lines pinned, but the locked ways hold {capacity}");
        return faults.add(Code::Locking, &span, &message, remedy);
    }
    let mut pinned: Vec<u64> =
        cache.pinned.iter().flat_map(|(first, last)| first / cache.line..=last / cache.line).collect();
    pinned.sort_unstable();
    pinned.dedup();
    let mut used: BTreeMap<u64, u64> = BTreeMap::new();
    for line in pinned {
        *used.entry(cache.set_of(line)).or_default() += 1;
    }
    if let Some((set, count)) = used.into_iter().find(|(_, count)| *count > cache.locked_ways) {
        let message = format!("{count} pinned lines fall into set {set}, which has {} locked ways", cache.locked_ways);
        faults.add(Code::Locking, &span, &message, remedy);
    }
}

fn hierarchy(document: &Document, table: &Table, cache: &Cache, machine: &Machine, faults: &mut Faults) {
    let meets = |other: &Cache| {
        (other.holds_data() && cache.holds_data()) || (other.holds_instructions() && cache.holds_instructions())
    };
    for other in machine.caches.iter().filter(|other| other.name != cache.name) {
        // Of two that clash, the later in the text is told.
        let first = document.tables_of("cache").find(|table| table.name == cache.name || table.name == other.name);
        let told = first.is_some_and(|table| table.name != cache.name);
        if told && other.line != cache.line {
            let message = format!("lines of {} bytes here, of {} in `{}`", cache.line, other.line, other.name);
            faults.add(Code::Hierarchy, &table.span_of("line"), &message, "give all caches one line size");
        }
        if told && other.level == cache.level && meets(other) {
            let message = format!("`{}` holds the same at level {}", other.name, cache.level);
            faults.add(Code::Hierarchy, &table.span_of("level"), &message, "give it another level");
        }
        if other.level > cache.level && meets(other) && other.latency <= cache.latency {
            let message =
                format!("its latency {} is not below that of `{}`, {}", cache.latency, other.name, other.latency);
            faults.add(
                Code::Timing,
                &table.span_of("latency"),
                &message,
                "latencies are totals and rise with the level",
            );
        }
    }
    if cache.holds_data() && machine.memory.write < cache.latency {
        for table in document.tables_of("memory").filter(|table| table.entry("write").is_some()) {
            let message = format!("a write that `{}` takes would be slower, with {}", cache.name, cache.latency);
            faults.add(Code::Timing, &table.span_of("write"), &message, "latencies are totals and rise with the level");
        }
    }
    if machine.memory.latency <= cache.latency
        && document.tables_of("memory").any(|table| table.entry("latency").is_some())
    {
        let message = format!("its latency {} is not below memory's, {}", cache.latency, machine.memory.latency);
        faults.add(Code::Timing, &table.span_of("latency"), &message, "latencies are totals and rise with the level");
    }
}

fn regions(document: &Document, machine: &Machine, faults: &mut Faults) {
    let meets = |a: (u64, u64), b: (u64, u64)| a.0 <= b.1 && b.0 <= a.1;
    for (index, region) in machine.regions.iter().enumerate() {
        let Some(table) = document.tables_of("region").find(|table| table.name == region.name) else { continue };
        let line = machine.line();
        let lines = (region.range.0 / line * line, (region.range.1 / line * line).saturating_add(line - 1));
        if region.range != lines {
            let message = format!("the region does not consist of whole lines of {line} bytes");
            faults.add(
                Code::Overlap,
                &table.span_of("range"),
                &message,
                &format!("write {:#x}..{:#x}", lines.0, lines.1),
            );
        }
        let earlier = machine.regions[..index].iter().find(|other| meets(other.range, region.range));
        let pinned = machine.caches.iter().find(|cache| cache.pinned.iter().any(|range| meets(*range, region.range)));
        if let Some(other) = earlier.map(|other| &other.name).or(pinned.map(|cache| &cache.name)) {
            let message = format!("the region meets `{other}`");
            faults.add(Code::Overlap, &table.span_of("range"), &message, "keep them apart");
        }
    }
}

/// A control transfer takes a cycle of execution, a fetch and the front of the pipeline at least.
fn branches(document: &Document, machine: &Machine, faults: &mut Faults) {
    let least = 1 + machine.fetch_hit() + machine.pipeline.front;
    for table in document.tables_of("branch") {
        for key in ["taken", "not_taken"] {
            if table.number(key).is_some_and(|cycles| cycles < least) {
                let message = format!("execution, fetch and front of the pipeline take {least} cycles");
                faults.add(Code::Timing, &table.span_of(key), &message, &format!("write at least {least}"));
            }
        }
        let branch = &machine.branch;
        let most = branch.taken.min(branch.not_taken).saturating_sub(machine.fetch_hit());
        for (key, cycles) in [("foreseen", branch.foreseen), ("repeat", branch.repeat)] {
            if cycles.is_some_and(|cycles| cycles > most) {
                let message = format!("a transfer that is not foreseen is followed by the next fetch in {most} cycles");
                faults.add(Code::Timing, &table.span_of(key), &message, &format!("write at most {most}"));
            }
        }
    }
}
