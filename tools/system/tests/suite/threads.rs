//! Threads and whom they lend their time to.

use crate::common::assets;
use testing::Folder;

const DESCRIPTION: &str = r#"
[system]
machine = "q35"
cpus = 2

[process.client]
program = "hello"
priority = 150
period = "10ms"
budget = "2ms"
deadline = "5ms"
thread.second.cpu = 1
thread.second.period = "20ms"
thread.second.budget = "1ms"

[process.near]
program = "hello"

[process.behind]
program = "hello"

[process.paid]
program = "hello"
period = "10ms"
budget = "1ms"

[process.far]
program = "hello"
cpu = 1

[endpoint.a]
receiver = "near"
senders = ["client"]

[endpoint.b]
receiver = "behind"
senders = ["near"]

[endpoint.c]
receiver = "paid"
senders = ["client"]

[endpoint.d]
receiver = "far"
senders = ["client"]
"#;

#[test]
fn time_is_lent_to_who_is_called_on_the_same_processor_and_has_none() {
    let folder = Folder::new("threads");
    let path = folder.join("system.toml");
    std::fs::write(&path, DESCRIPTION).unwrap();
    let system = system::load(&path, &assets(&folder)).unwrap_or_else(|report| panic!("{}", report.to_json()));
    let threads = system.threads();
    let names: Vec<&str> = threads.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["client", "client.second", "near", "behind", "paid", "far"]);
    let lent = |one: usize| threads[one].lends_to.iter().map(|other| names[*other]).collect::<Vec<_>>();
    assert_eq!(lent(0), ["near", "behind"]);
    assert_eq!(lent(1), ["far"]);
    assert!((2..6).all(|one| lent(one).is_empty()));
    let client = &threads[0];
    assert_eq!((client.period, client.budget, client.deadline), (Some(10_000_000), Some(2_000_000), Some(5_000_000)));
    assert_eq!((client.table.as_str(), client.priority, client.cpu), ("process.client", 150, 0));
    assert_eq!((threads[1].table.as_str(), threads[1].cpu), ("process.client.thread.second", 1));
    assert_eq!((threads[1].deadline, threads[2].budget), (None, None));
}
