//! Parts of the report that other stages give as they are.

use wcet_report::{Machine, Number, Source};

use crate::analysis::machine::Loaded;

/// The machine with the source of each number.
pub fn machine(loaded: &Loaded) -> Machine {
    let machine = &loaded.machine;
    let number = |number: &wcet_hardware::machine::Number| Number {
        place: number.place.clone(),
        value: number.value.clone(),
        source: number.source.clone(),
        instead_of: loaded.changed.iter().find(|(place, _)| *place == number.place).map(|(_, before)| before.clone()),
    };
    let source = |(name, title): (&String, &String)| Source { name: name.clone(), title: title.clone() };
    Machine {
        name: machine.name.clone(),
        about: machine.about.clone(),
        sha256: loaded.sha256.clone(),
        clock_hz: (machine.clock > 0).then_some(machine.clock),
        numbers: machine.numbers.iter().map(number).collect(),
        sources: machine.sources.iter().map(source).collect(),
    }
}
