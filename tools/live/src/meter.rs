//! From events to rates: what each thread and processor did between two looks at the rings.

use std::collections::BTreeMap;
use trace::{Event, What};

/// What happened in an interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// The interval's end, in nanoseconds since boot, and its length.
    pub now: u64,
    pub length: u64,
    /// Of each processor: the time that each thread had.
    pub time: Vec<BTreeMap<u32, u64>>,
    /// Of each processor.
    pub interrupts: Vec<u64>,
    pub messages: Vec<u64>,
    pub calls: Vec<u64>,
    /// Exits of the guest that a thread runs, and the reason of the last one.
    pub exits: BTreeMap<u32, (u64, u32)>,
}

impl Usage {
    /// Thousandths of the interval.
    pub fn permille(&self, time: u64) -> u32 {
        u32::try_from(time.saturating_mul(1000) / self.length.max(1)).unwrap_or(1000).min(1000)
    }

    /// How often in a second something was that was so often in the interval.
    pub fn rate(&self, count: u64) -> u64 {
        count.saturating_mul(1_000_000_000) / self.length.max(1)
    }

    /// Of a thread, on all processors.
    pub fn time_of(&self, thread: u32) -> u64 {
        self.time.iter().filter_map(|times| times.get(&thread)).sum()
    }
}

/// Where the last interval ended.
#[derive(Debug)]
pub struct Meter {
    at: u64,
    /// The host's time less the kernel's; it is never smaller, because events are seen after they happen.
    behind: Option<u64>,
    /// By processor; its idle thread has its number.
    running: Vec<u32>,
    exits: BTreeMap<u32, (u64, u32)>,
}

impl Meter {
    pub fn new(cpus: u32) -> Meter {
        Meter { at: 0, behind: None, running: (0..cpus).collect(), exits: BTreeMap::new() }
    }

    /// Takes what was recorded since the last call, in the order of its times. `host` is the time since the emulator was
    /// started, in nanoseconds: a processor that records nothing has gone on as well.
    pub fn advance(&mut self, events: &[Event], host: u64) -> Usage {
        if let Some(newest) = events.last() {
            let behind = host.saturating_sub(newest.when);
            self.behind = Some(self.behind.map_or(behind, |least| least.min(behind)));
        }
        let estimated = self.behind.map_or(0, |behind| host.saturating_sub(behind));
        let now = events.last().map_or(0, |event| event.when).max(estimated).max(self.at);
        let cpus = self.running.len();
        let mut usage = Usage {
            now,
            length: now - self.at,
            time: vec![BTreeMap::new(); cpus],
            interrupts: vec![0; cpus],
            messages: vec![0; cpus],
            calls: vec![0; cpus],
            exits: BTreeMap::new(),
        };
        self.exits.values_mut().for_each(|(count, _)| *count = 0);
        let mut since = vec![self.at; cpus];
        for event in events.iter().filter(|event| (event.cpu as usize) < cpus) {
            let cpu = event.cpu as usize;
            match event.what {
                What::Switch { thread } => {
                    let when = event.when.max(since[cpu]);
                    *usage.time[cpu].entry(self.running[cpu]).or_default() += when - since[cpu];
                    (since[cpu], self.running[cpu]) = (when, thread);
                }
                What::Interrupt { .. } => usage.interrupts[cpu] += 1,
                What::Message { .. } => usage.messages[cpu] += 1,
                What::Call { .. } => usage.calls[cpu] += 1,
                What::GuestExit { reason } => {
                    let exits = self.exits.entry(self.running[cpu]).or_default();
                    *exits = (exits.0 + 1, reason);
                }
                _ => {}
            }
        }
        for ((time, running), since) in usage.time.iter_mut().zip(&self.running).zip(&since) {
            *time.entry(*running).or_default() += now - since;
        }
        usage.exits = self.exits.clone();
        self.at = now;
        usage
    }
}

#[cfg(test)]
mod tests {
    use super::Meter;
    use trace::{Event, What};

    fn switch(when: u64, cpu: u32, thread: u32) -> Event {
        Event { when, cpu, what: What::Switch { thread } }
    }

    #[test]
    fn time_belongs_to_who_has_the_processor() {
        let mut meter = Meter::new(2);
        let usage = meter.advance(&[switch(100, 0, 7), switch(400, 0, 0), switch(900, 1, 8), switch(1000, 0, 7)], 5000);
        assert_eq!((usage.now, usage.length), (1000, 1000));
        assert_eq!((usage.time_of(7), usage.time_of(8), usage.time[0][&0], usage.time[1][&1]), (300, 100, 700, 900));
        assert_eq!(usage.permille(usage.time_of(7)), 300);
    }

    #[test]
    fn a_thread_that_never_gives_way_is_counted_by_the_host_s_time() {
        let mut meter = Meter::new(1);
        meter.advance(&[switch(1000, 0, 7)], 4000);
        let usage = meter.advance(&[], 9000);
        assert_eq!((usage.now, usage.length, usage.time_of(7)), (6000, 5000, 5000));
        // What is seen later shows that less time has passed at most than was thought.
        let usage = meter.advance(&[switch(7000, 0, 0)], 9500);
        assert_eq!((usage.now, usage.time_of(7)), (7000, 1000));
    }

    #[test]
    fn exits_are_those_of_the_thread_that_runs_the_guest() {
        let mut meter = Meter::new(1);
        let exit = |when, reason| Event { when, cpu: 0, what: What::GuestExit { reason } };
        let usage = meter.advance(&[switch(10, 0, 5), exit(20, 1), exit(30, 6)], 30);
        assert_eq!(usage.exits[&5], (2, 6));
        assert_eq!(meter.advance(&[], 60).exits[&5], (0, 6), "the reason stays");
    }
}
