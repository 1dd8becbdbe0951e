//! From tables to typed data.

use super::*;
use crate::layout::{BUFFER_CAPACITY, KIB};
use crate::read::{Document, TableData};

const DEFAULT_PRIORITY: u64 = 100;
const DEFAULT_STACK: u64 = 64 * KIB;
const DEFAULT_COMMAND_LINE: &str = "console=ttyS0";
const DEFAULT_MONITOR: &str = "vmm";
const DEFAULT_RESTART_LIMIT: u64 = 5;
const DEFAULT_RESTART_WITHIN: u64 = 60_000_000_000;

/// The description in `document`, with defaults filled in. A key left out because it was faulty takes its default.
pub fn build(document: &Document, name: &str) -> Description {
    let system = document.tables_of("system").next();
    let text = |key| system.and_then(|table| table.text(key)).cloned();
    let mut description = Description {
        source: document.source.clone(),
        name: name.to_string(),
        about: text("about").map_or_else(String::new, |about| about.value),
        span: system.map_or(0..0, |table| table.name.span.clone()),
        has_lost_tables: document.has_lost_tables,
        machine: text("machine"),
        cpus: system.and_then(|table| table.number("cpus")).cloned(),
        mitigations: system.map_or_else(Vec::new, |table| table.names("mitigations").to_vec()),
        processes: document
            .tables
            .iter()
            .filter(|table| matches!(table.spec.name, "process" | "vm"))
            .map(process)
            .collect(),
        endpoints: document.tables_of("endpoint").map(endpoint).collect(),
        notifications: document.tables_of("notification").map(notification).collect(),
        buffers: document.tables_of("buffer").map(buffer).collect(),
        shares: document.tables_of("share").map(share).collect(),
        interrupts: document.tables_of("interrupt").map(interrupt).collect(),
        consoles: document.tables_of("console").map(console).collect(),
    };
    super::guest_links::link(&mut description);
    super::passed_device::link(&mut description);
    description
}

fn process(table: &TableData) -> Process {
    let is_vm = table.spec.name == "vm";
    let first = table.number("cpu").or_else(|| table.numbers("cpus").first());
    let cpu = first.cloned().unwrap_or_else(|| Spanned::new(0, table.name.span.clone()));
    let priority = table.number("priority").map_or(DEFAULT_PRIORITY, |number| number.value);
    let program = if is_vm {
        let default = || Spanned::new(DEFAULT_MONITOR.to_string(), table.name.span.clone());
        Some(table.text("monitor").cloned().unwrap_or_else(default))
    } else {
        table.text("program").cloned()
    };
    Process {
        name: table.name.clone(),
        program,
        loaded_by_parent: !is_vm && !table.has("program"),
        written: table.written().to_vec(),
        vm: is_vm.then(|| vm(table)),
        quota: table.number("quota").cloned(),
        stack: table.number("stack").map_or(DEFAULT_STACK, |number| number.value),
        time: time(table),
        parent: table.text("parent").cloned(),
        start: table.text("start").cloned(),
        on_death: table.text("on_death").cloned(),
        restart: Restart {
            policy: table.text("restart").cloned(),
            limit: table.number("restart_limit").map_or(DEFAULT_RESTART_LIMIT, |number| number.value),
            within: table.number("restart_within").map_or(DEFAULT_RESTART_WITHIN, |number| number.value),
        },
        fault_endpoint: table.text("fault_endpoint").cloned(),
        console: table.text("console").cloned(),
        devices: table.names("devices").to_vec(),
        power: table.flag("power"),
        dma: table.flag("dma"),
        trace: table.flag("trace"),
        disk: table.text("disk").cloned(),
        disk_at: table.number("disk_at").cloned(),
        disk_size: table.number("disk_size").cloned(),
        disk_share: table.number("disk_share").cloned(),
        sound: table.text("sound").cloned(),
        serves: table.text("serves").cloned(),
        uplink: table.text("uplink").cloned(),
        network: table.text("network").cloned(),
        mac: table.text("mac").cloned(),
        network_share: table.number("network_share").cloned(),
        files: table.pairs("files").to_vec(),
        args: table.pairs("args").to_vec(),
        threads: match is_vm {
            true => virtual_cpus(table, priority),
            false => table.tables("thread").iter().map(|inner| thread(inner, &cpu, priority)).collect(),
        },
        cpu,
        priority,
    }
}

fn vm(table: &TableData) -> Vm {
    Vm {
        memory: table.number("memory").cloned(),
        kernel: table.text("kernel").cloned(),
        initrd: table.text("initrd").cloned(),
        firmware: table.text("firmware").cloned(),
        disk_image: table.text("disk_image").cloned(),
        pci: table.text("pci").cloned(),
        more_cpus: table.numbers("cpus").iter().skip(1).cloned().collect(),
        paravirtual: table.has("paravirtual").then(|| table.names("paravirtual").to_vec()),
        cmdline: table.text("cmdline").map_or_else(|| DEFAULT_COMMAND_LINE.to_string(), |text| text.value.clone()),
    }
}

/// A thread of the monitor for each virtual CPU but the first.
fn virtual_cpus(table: &TableData, priority: u64) -> Vec<Thread> {
    let make = |(number, cpu): (usize, &Spanned<u64>)| Thread {
        name: Spanned::new(virtual_cpu(number), cpu.span.clone()),
        cpu: cpu.clone(),
        priority,
        time: Time::default(),
    };
    table.numbers("cpus").iter().enumerate().skip(1).map(make).collect()
}

fn thread(table: &TableData, cpu: &Spanned<u64>, priority: u64) -> Thread {
    Thread {
        name: table.name.clone(),
        cpu: table.number("cpu").cloned().unwrap_or_else(|| cpu.clone()),
        priority: table.number("priority").map_or(priority, |number| number.value),
        time: time(table),
    }
}

fn time(table: &TableData) -> Time {
    Time {
        period: table.number("period").cloned(),
        budget: table.number("budget").cloned(),
        deadline: table.number("deadline").cloned(),
        has_period: table.has("period"),
        has_budget: table.has("budget"),
    }
}

fn seen_as(table: &TableData) -> String {
    table.text("as").map_or_else(|| table.name.value.clone(), |text| text.value.clone())
}

fn endpoint(table: &TableData) -> Endpoint {
    Endpoint {
        name: table.name.clone(),
        seen_as: seen_as(table),
        receiver: table.text("receiver").cloned(),
        senders: table.names("senders").to_vec(),
        fifo: table.text("order").is_some_and(|order| order.value == "fifo"),
    }
}

fn notification(table: &TableData) -> Notification {
    Notification {
        name: table.name.clone(),
        seen_as: seen_as(table),
        waiter: table.text("waiter").cloned(),
        signallers: table.names("signallers").to_vec(),
    }
}

fn buffer(table: &TableData) -> Buffer {
    Buffer {
        name: table.name.clone(),
        seen_as: seen_as(table),
        capacity: table.number("capacity").map_or(u64::from(BUFFER_CAPACITY), |number| number.value),
        producers: table.names("producers").to_vec(),
        consumers: table.names("consumers").to_vec(),
    }
}

fn share(table: &TableData) -> Share {
    Share {
        name: table.name.clone(),
        seen_as: seen_as(table),
        from: table.text("from").cloned(),
        to: table.text("to").cloned(),
        read_only: table.flag("read_only"),
    }
}

fn interrupt(table: &TableData) -> Interrupt {
    Interrupt { name: table.name.clone(), notification: table.text("notification").cloned() }
}

fn console(table: &TableData) -> Console {
    Console { name: table.name.clone(), up: table.text("up").cloned(), input: table.text("input").cloned() }
}
