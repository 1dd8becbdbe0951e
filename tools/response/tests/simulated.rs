//! Bounds held against a simulator of reservations, over all moments at which others may begin, for small systems.

use response::{respond, Thread, Verdict};

fn thread(name: &str, priority: u64, period: u64, budget: u64) -> Thread {
    Thread {
        name: name.to_string(),
        table: format!("process.{name}"),
        cpu: 0,
        priority,
        reservation: Some((period, budget)),
        deadline: None,
        lends_to: Vec::new(),
    }
}

/// One reservation as the kernel keeps it, in whole steps.
struct Server {
    period: u64,
    budget: u64,
    left: u64,
    end: u64,
    /// Before that it does not want to run.
    wakes: u64,
    began: bool,
}

impl Server {
    fn new(of: &Thread, wakes: u64) -> Server {
        let (period, budget) = of.reservation.unwrap();
        Server { period, budget, left: 0, end: 0, wakes, began: false }
    }

    /// Whether it wants to run and may, at this step.
    fn ready(&mut self, now: u64, idle: bool) -> bool {
        if now < self.wakes || idle {
            return false;
        }
        if !self.began || now >= self.end {
            let late = !self.began || self.end + self.period <= now;
            self.end = if late { now } else { self.end } + self.period;
            self.left = self.budget;
            self.began = true;
        }
        self.left > 0
    }
}

/// How long the last thread takes from `begin` on for its budget; others want to run from their moment on, pause between
/// `pause` and `begin`, and then run whenever they may. Begun early, they have spent nothing of a period that ends soon.
fn simulate(threads: &[Thread], wakes: &[u64], begin: u64, pause: u64) -> u64 {
    let own = threads.len() - 1;
    let mut servers: Vec<Server> = threads.iter().zip(wakes).map(|(one, wakes)| Server::new(one, *wakes)).collect();
    servers[own].wakes = begin;
    let mut done = 0;
    for now in 0..10_000 {
        let ready: Vec<bool> = servers
            .iter_mut()
            .enumerate()
            .map(|(number, server)| server.ready(now, number != own && now >= pause && now < begin))
            .collect();
        let highest =
            (0..threads.len()).filter(|one| ready[*one]).max_by_key(|one| (threads[*one].priority, *one != own));
        if let Some(one) = highest {
            servers[one].left -= 1;
            if one == own {
                done += 1;
                if done == servers[own].budget {
                    return now + 1 - begin;
                }
            }
        }
    }
    panic!("it does not end");
}

#[test]
fn no_simulated_response_is_above_its_bound_and_bounds_are_near() {
    let (mut tried, mut reached) = (0, 0);
    for (one, other, own) in [
        ((8, 2), (12, 3), (40, 5)),
        ((5, 2), (7, 1), (60, 4)),
        ((6, 3), (9, 1), (80, 6)),
        ((10, 1), (10, 4), (50, 7)),
        ((4, 1), (16, 5), (64, 3)),
    ] {
        let threads = [thread("a", 9, one.0, one.1), thread("b", 8, other.0, other.1), thread("c", 8, own.0, own.1)];
        let bound = respond(&threads, 0)[2].response_ns.unwrap();
        let mut most = 0;
        for a in 0..one.0 + other.0 {
            for b in 0..one.0 + other.0 {
                for begin in 20..20 + one.0 + other.0 {
                    for pause in [0, 10, 15, begin] {
                        let taken = simulate(&threads, &[a, b, 0], begin, pause);
                        assert!(taken <= bound, "{one:?} {other:?} {own:?}: {taken} at {a} {b} {begin}, bound {bound}");
                        most = most.max(taken);
                        tried += 1;
                    }
                }
            }
        }
        println!("{one:?} {other:?} {own:?}: {most}, bound {bound}");
        reached += u64::from(most == bound);
        assert!(2 * bound <= 3 * most, "{one:?} {other:?} {own:?}: {most}, bound {bound}");
    }
    assert!(tried > 10_000 && reached >= 1, "{tried} tried, {reached} bounds reached");
}

#[test]
fn the_kernel_counts_for_each_that_may_run() {
    let threads = [thread("a", 9, 10_000_000, 2_000_000), thread("b", 8, 10_000_000, 2_000_000)];
    let found = respond(&threads, 1_000);
    assert_eq!(found[0].response_ns, Some(2_002_000));
    assert_eq!(found[1].response_ns, Some(6_003_000));
    assert_eq!(found[1].slack_ns, Some(3_997_000));
    assert_eq!(found[1].parts[0].what, "a");
}

#[test]
fn who_runs_as_long_as_it_likes_leaves_no_bound() {
    let mut threads = [thread("free", 100, 1, 1), thread("b", 100, 10_000_000, 2_000_000)];
    threads[0].reservation = None;
    let found = respond(&threads, 1_000);
    assert_eq!((found.len(), found[0].verdict), (1, Verdict::Unbounded));
    assert!(found[0].reason.as_ref().unwrap().contains("`free`"));
    assert!(found[0].remedy.as_ref().unwrap().contains("[process.free]"));
    // Below it, or on another processor, it does no harm; called by it, it works at its own priority.
    threads[0].priority = 99;
    assert_eq!(respond(&threads, 1_000)[0].verdict, Verdict::Met);
    threads[1].lends_to = vec![0];
    assert_eq!(respond(&threads, 1_000)[0].verdict, Verdict::Unbounded);
    threads[0].priority = 101;
    threads[0].cpu = 1;
    threads[1].lends_to.clear();
    assert_eq!(respond(&threads, 1_000)[0].verdict, Verdict::Met);
}

#[test]
fn advice_is_an_edit_that_helps() {
    let mut threads = [thread("a", 9, 10_000_000, 4_000_000), thread("b", 8, 10_000_000, 2_000_000)];
    threads[1].deadline = Some(5_000_000);
    let found = respond(&threads, 1_000);
    assert_eq!((found[1].verdict, found[1].response_ns), (Verdict::Missed, Some(10_003_000)));
    assert_eq!(found[1].slack_ns, Some(-5_003_000));
    let remedy = found[1].remedy.clone().unwrap();
    assert_eq!(remedy, "`budget = \"1490us\"` in [process.a]");
    threads[0].reservation = Some((10_000_000, 1_490_000));
    assert_eq!(respond(&threads, 1_000)[1].verdict, Verdict::Met);
    threads[0].reservation = Some((10_000_000, 1_500_000));
    assert_eq!(respond(&threads, 1_000)[1].verdict, Verdict::Missed);
}

#[test]
fn where_the_kernel_alone_is_too_slow_no_budget_is_blamed() {
    let found = respond(&[thread("a", 9, 10_000_000, 2_000_000)], 5_000_000);
    assert_eq!(found[0].verdict, Verdict::Missed);
    assert!(found[0].remedy.as_ref().unwrap().contains("the kernel alone"));
}

#[test]
fn a_processor_that_is_full_has_no_bound_below() {
    let threads = [thread("a", 9, 10, 10), thread("b", 8, 100, 1)];
    let found = respond(&threads, 0);
    assert_eq!(found[1].verdict, Verdict::Unbounded);
    assert!(found[1].remedy.is_some());
}
