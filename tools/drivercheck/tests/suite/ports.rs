//! I/O ports: what a driver reads from them is any value, and each access is inside the ports that it says it has.

use crate::common::{check_text, driver_of, root, scratch};
use drivercheck::check::Options;
use drivercheck::own;
use std::path::{Path, PathBuf};

const HEAD: &str = "#include \"ashlar/driver.h\"\n#include \"gauge_protocol.h\"\n";
const TWO: &str = "const struct driver_ports driver_ports = {\"rtc\", 2};\n";

/// A driver that answers `set` with what `body` does; line 4 is the first line of `declarations`, of which there is one.
fn text(ports: &str, declarations: &str, body: &str) -> String {
    format!(
        "{HEAD}{ports}{declarations}\nvoid driver(void)\n{{\nfor (;;) {{\nAWAIT(GAUGE_ASK, GAUGE_SET);\n{body}\n}}\n}}\n"
    )
}

/// Name, declarations, body, whether all is proved.
const DRIVERS: &[(&str, &str, &str, bool)] = &[
    ("only written", "", "port_write8(0, 10);\nport_write16(0, 1);\nEMIT(GAUGE_PLAIN);", true),
    (
        "read and looked at",
        "",
        "uint8_t a = port_read8(1);\nif (a >= 1u && a <= 3u) {\nstruct gauge_refused body = {a};\n\
         EMIT(GAUGE_REFUSED, 0, &body);\n} else {\nEMIT(GAUGE_PLAIN);\n}",
        true,
    ),
    ("any value", "", "struct gauge_refused body = {port_read8(1)};\nEMIT(GAUGE_REFUSED, 0, &body);", false),
    (
        "another value each time",
        "",
        "if (port_read8(1) == 1u) {\nstruct gauge_refused body = {port_read8(1)};\nEMIT(GAUGE_REFUSED, 0, &body);\n} else {\n\
         EMIT(GAUGE_PLAIN);\n}",
        false,
    ),
    (
        "not what was written",
        "",
        "port_write8(1, 3);\nstruct gauge_refused body = {port_read8(1)};\nEMIT(GAUGE_REFUSED, 0, &body);",
        false,
    ),
    // The width is that of the access.
    (
        "a byte",
        "",
        "uint32_t a = port_read8(1);\nif (a > 255u) {\nEMIT(GAUGE_PLAIN);\n}\nEMIT(GAUGE_PLAIN);",
        true,
    ),
    (
        "a word is more",
        "",
        "uint32_t a = port_read16(0);\nif (a > 255u) {\nEMIT(GAUGE_PLAIN);\n}\nEMIT(GAUGE_PLAIN);",
        false,
    ),
    // A device that never says it is ready.
    ("waits without end", "", "while ((port_read8(1) & 0x80u) != 0) {\n}\nEMIT(GAUGE_PLAIN);", false),
    (
        "waits, but not for long",
        "",
        "for (uint32_t i = 0; i < 1000u && (port_read8(1) & 0x80u) != 0; i++) {\n}\nEMIT(GAUGE_PLAIN);",
        true,
    ),
    (
        "by a function for each register",
        "static uint8_t get(uint8_t index) { port_write8(0, index); return port_read8(1); }",
        "if (get(3) < get(4)) {\nEMIT(GAUGE_PLAIN);\n} else {\nEMIT(GAUGE_PLAIN);\n}",
        true,
    ),
];

#[test]
fn reads_are_any_value_and_writes_change_nothing() {
    for (name, declarations, body, is_right) in DRIVERS {
        let options = Options { threads: 1, ..Options::default() };
        let report =
            check_text("ports", &text(TWO, declarations, body), &options).unwrap_or_else(|e| panic!("{name}: {e}"));
        let bad: Vec<_> = report.rows.iter().filter(|row| row.verdict != "PROVED").collect();
        assert!(bad.iter().all(|row| row.verdict == "VIOLATED"), "{name}: {:?}", bad[0].reason);
        assert_eq!(bad.is_empty(), *is_right, "{name}: {:?}", bad.iter().map(|row| row.rule).collect::<Vec<_>>());
        let said = "the description gives the driver at least 2 ports of device rtc";
        assert!(report.assumptions.iter().any(|one| one == said), "{name}");
    }
}

/// Name, what says which ports there are, declarations, body, and the line and the text of the fault.
const REFUSED: &[(&str, &str, &str, &str, usize, &str)] = &[
    (
        "no ports",
        "\n",
        "",
        "port_write8(0, 1);",
        9,
        "write8`, but no ports are the driver's: say which, by `const struct",
    ),
    ("beyond the last", TWO, "", "port_write8(2, 1);", 9, "of port 2 touches 1 from there, but `driver_ports` has 2"),
    ("half beyond", TWO, "", "(void)port_read16(1);", 9, "`port_read16` of port 1 touches 2 from there"),
    ("too wide", TWO, "", "port_write32(0, 1);", 9, "`port_write32` of port 0 touches 4 from there"),
    ("below the first", TWO, "", "(void)port_read8(-1);", 9, "from there, but `driver_ports` has 2"),
    ("a number that is cut", TWO, "", "(void)port_read8(0x100000000ul);", 9, "of port 4294967296"),
    ("computed", TWO, "", "(void)port_read8(COOKIE() & 1u);", 9, "the port of `port_read8` is no constant"),
    (
        "a parameter",
        TWO,
        "static uint8_t get(uint32_t port) { return port_read8(port); }",
        "(void)get(1);",
        4,
        "is no constant: write a call for each port",
    ),
    ("where it never comes", TWO, "", "if (0) {\n(void)port_read8(9);\n}", 10, "of port 9"),
    ("a system call", TWO, "", "(void)sys_port_out(0, 0, 1, 1);", 9, "is a system call: use `port_read8` and its like"),
    ("another system call", TWO, "", "sys_yield();", 9, "is a system call: a driver speaks by EMIT"),
    ("no count", "const struct driver_ports driver_ports = {\"rtc\"};\n", "", "", 3, "must be {\"DEVICE\", COUNT}"),
    ("no list", "const struct driver_ports driver_ports = {.count = 2};\n", "", "", 3, "must be {\"DEVICE\", COUNT}"),
    (
        "an own function",
        TWO,
        "uint8_t port_read8(uint32_t offset) { return (uint8_t)offset; }",
        "(void)port_read8(7);",
        4,
        "`port_read8` is the framework's",
    ),
];

#[test]
fn refuses_accesses_outside_and_in_another_form() {
    for (name, ports, declarations, body, line, part) in REFUSED {
        let body = format!("{body}\nEMIT(GAUGE_PLAIN);");
        let text = text(ports, declarations, &body).replacen(
            "#include \"ashlar/driver.h\"",
            "#include \"ashlar/driver.h\"\n#include \"ashlar/syscall.h\"",
            1,
        );
        let Err(error) = check_text("ports", &text, &Options::default()) else { panic!("{name}: accepted") };
        let error = error.to_string();
        // One line more than `text` has.
        assert!(
            error.contains(part) && error.contains(&format!("ports.c:{}:", line + 1)),
            "{name}: `{part}` is not in\n{error}"
        );
    }
}

/// Touching a port of a device on the PCI bus is touching the device.
#[test]
fn a_port_of_a_device_that_is_off_is_not_touched() {
    let text = |on: &str, leaving: &str| {
        format!(
            "#include \"ashlar/driver.h\"\n#include \"pci_protocol.h\"\n{TWO}void driver(void)\n{{\nfor (;;) {{\n\
             AWAIT(PCI_ON);\n{on}AWAIT(PCI_OFF);\n{leaving}EMIT(PCI_DONE);\n}}\n}}\n"
        )
    };
    let options = Options { rules: vec![1], threads: 1, ..Options::default() };
    let is_right = |on: &str, leaving: &str| {
        let report = check_text("ports", &text(on, leaving), &options).unwrap();
        report.rows.iter().all(|row| row.verdict == "PROVED")
    };
    assert!(is_right("port_write8(0, 1);\n", ""));
    assert!(!is_right("", "port_write8(0, 1);\n"));
    assert!(!is_right("", "(void)port_read8(0);\n"));
}

/// What the driver says it has, and what the description gives it.
#[test]
fn descriptions_give_the_ports_that_the_driver_says_it_has() {
    let given = |ports: &str, devices: &str| -> Result<(), String> {
        let folder = scratch("given");
        let write = |name: &str, text: &str| -> PathBuf {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        write(
            "systems/two.toml",
            &format!(
                "[system]\nmachine = \"q35\"\n[process.other]\nprogram = \"hello\"\n[process.chip]\nprogram = \"ports\"\n{devices}\n"
            ),
        );
        let file = write("ports.c", &text(ports, "", "EMIT(GAUGE_PLAIN);"));
        let driver = driver_of("given", vec![file]).unwrap();
        own::check_ports(Path::new(&folder), &root(), &driver).map_err(|error| error.to_string())
    };
    assert_eq!(given(TWO, "devices = [\"rtc\"]"), Ok(()));
    assert_eq!(given("", ""), Ok(()));
    let more = given(&TWO.replace('2', "3"), "devices = [\"rtc\"]").unwrap_err();
    assert!(
        more.contains("ports.c:3: ") && more.contains("process chip of systems/two.toml is given 2: use no more"),
        "{more}"
    );
    for devices in ["", "devices = [\"pm_timer\"]", "devices = [\"hpet\"]"] {
        let none = given(TWO, devices).unwrap_err();
        assert!(none.contains("process chip of systems/two.toml is given none: add the device"), "{none}");
    }
    let unread = given(TWO, "devices = [\"rtc\"").unwrap_err();
    assert!(unread.starts_with("whether driver ports is given the ports") && unread.contains("two.toml:7"), "{unread}");
    // Of a driver without ports nothing is asked.
    assert_eq!(given("", "devices = [\"rtc\""), Ok(()));
}
