//! Which interrupt each CPU is serving: what woke a thread, and since when its work has been there.

use crate::event::{Event, What};
use std::collections::BTreeMap;

/// By CPU, the vector of the interrupt that is being served, and when that began.
#[derive(Debug, Default)]
pub struct Causes(BTreeMap<u32, (u32, u64)>);

impl Causes {
    /// The interrupt that is behind what happens on this event's CPU, if one is. To be asked before the event is seen.
    pub fn of(&self, event: &Event) -> Option<(u32, u64)> {
        self.0.get(&event.cpu).copied()
    }

    pub fn see(&mut self, event: &Event) {
        match event.what {
            What::Interrupt { vector } => {
                self.0.insert(event.cpu, (vector, event.when));
            }
            What::Switch { .. }
            | What::Call { .. }
            | What::GuestEntry { .. }
            | What::GuestExit { .. }
            | What::Fault { .. } => {
                self.0.remove(&event.cpu);
            }
            What::Wake { .. } | What::Message { .. } | What::Spent { .. } | What::Period { .. } => {}
        }
    }
}
