//! The machine in a document, with defaults filled in. Values that are missing read as harmless ones: their faults
//! are told already, and no machine with faults leaves the crate.

use crate::machine::model::{Cache, ClassCost, Holds, Issue, Machine, Memory, Number, Pipeline, Policy, Region};
use crate::machine::read::{Document, Table, Value};
use crate::machine::{Branch, Class};
use std::collections::BTreeMap;

impl Table {
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        match self.entry(key)?.value {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn flag(&self, key: &str, default: bool) -> bool {
        match self.entry(key).map(|entry| &entry.value) {
            Some(Value::Flag(flag)) => *flag,
            _ => default,
        }
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match &self.entry(key)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn ranges(&self, key: &str) -> &[(u64, u64)] {
        match self.entry(key).map(|entry| &entry.value) {
            Some(Value::Ranges(ranges)) => ranges,
            _ => &[],
        }
    }
}

pub(crate) fn build(name: &str, document: &Document) -> Machine {
    let number = |table: &'static str, key: &'static str| document.tables_of(table).find_map(|table| table.number(key));
    let text =
        |table: &'static str, key: &'static str| document.tables_of(table).find_map(move |table| table.text(key));
    let mut caches: Vec<Cache> = document.tables_of("cache").map(cache).collect();
    caches.sort_by_key(|cache| cache.level);
    let mut classes: BTreeMap<Class, ClassCost> = document.tables_of("class").filter_map(class).collect();
    if let Some(alu) = classes.get(&Class::Alu).copied() {
        classes.entry(Class::Shift).or_insert(alu);
    }
    Machine {
        name: name.to_string(),
        about: text("machine", "about").unwrap_or_default().to_string(),
        assumes: document.tables_of("machine").flat_map(assumes).collect(),
        clock: number("machine", "clock").unwrap_or(0),
        pipeline: Pipeline {
            issue: if text("pipeline", "issue") == Some("dual") { Issue::Dual } else { Issue::Single },
            front: number("pipeline", "front").unwrap_or(0),
            queue: number("pipeline", "queue").unwrap_or(1),
        },
        branch: Branch {
            taken: number("branch", "taken").unwrap_or(1),
            not_taken: number("branch", "not_taken").unwrap_or(1),
            foreseen: number("branch", "foreseen"),
            repeat: number("branch", "repeat"),
            ahead: number("branch", "ahead").unwrap_or(0),
        },
        memory: Memory {
            latency: number("memory", "latency").unwrap_or(1),
            write: number("memory", "write").or(number("memory", "latency")).unwrap_or(1),
        },
        caches,
        regions: document.tables_of("region").filter_map(region).collect(),
        classes,
        sources: document
            .tables_of("source")
            .map(|table| (table.name.clone(), table.text("title").unwrap_or_default().to_string()))
            .collect(),
        numbers: document.tables.iter().flat_map(numbers).collect(),
    }
}

fn assumes(table: &Table) -> Vec<String> {
    match table.entry("assumes").map(|entry| &entry.value) {
        Some(Value::Texts(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

fn numbers(table: &Table) -> Vec<Number> {
    let cited = table.entries.iter().filter_map(|entry| {
        let (source, _) = entry.source.as_ref()?;
        let place = format!("{}.{}", table.place(), entry.key);
        Some(Number { place, value: entry.written.clone(), source: source.clone() })
    });
    cited.collect()
}

/// The policy named, LRU if there is none.
fn policy(table: &Table) -> Policy {
    let all = [Policy::Lru, Policy::Fifo, Policy::Plru, Policy::RoundRobin, Policy::Random];
    all.into_iter().find(|policy| Some(policy.name()) == table.text("policy")).unwrap_or(Policy::Lru)
}

fn cache(table: &Table) -> Cache {
    let (ways, line) = (table.number("ways").unwrap_or(1), table.number("line").unwrap_or(64).max(1));
    let locked_ways = table.number("locked_ways").unwrap_or(0).min(ways);
    let policy = policy(table);
    Cache {
        name: table.name.clone(),
        level: table.number("level").unwrap_or(1),
        holds: match table.text("holds") {
            Some("instructions") => Holds::Instructions,
            Some("data") => Holds::Data,
            _ => Holds::Both,
        },
        sets: (table.number("size").unwrap_or(line) / line / ways.max(1)).max(1),
        ways,
        line,
        policy,
        taken_as: table.number("taken_as").unwrap_or_else(|| policy.lru_ways(ways - locked_ways)),
        locked_ways,
        pinned: table.ranges("pinned").to_vec(),
        latency: table.number("latency").unwrap_or(1),
        write_back: table.number("write_back").unwrap_or(0),
        allocate_on_write: table.flag("allocate_on_write", true),
    }
}

fn region(table: &Table) -> Option<Region> {
    let range = *table.ranges("range").first()?;
    Some(Region { name: table.name.clone(), range, latency: table.number("latency").unwrap_or(1) })
}

fn class(table: &Table) -> Option<(Class, ClassCost)> {
    let cost = ClassCost {
        occupies: table.number("occupies").unwrap_or(0),
        behind_store: table.number("behind_store").unwrap_or(0),
        latency: table.number("latency").unwrap_or(0),
        pairs_first: table.flag("pairs_first", false),
        pairs_second: table.flag("pairs_second", false),
    };
    Some((Class::parse(&table.name)?, cost))
}
