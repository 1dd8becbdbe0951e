//! The page as it is drawn, compared with known ones.

use live::{draw, Budget, Cpu, Page, Pane, Row, Shown, Tab};
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};
use ratatui::Terminal;
use std::io::Write;
use std::time::Duration;

/// What of a terminal is compared: its letters, and the first process that it shows.
fn drawn(
    page: &Page,
    tabs: &[Tab],
    pane: &mut Pane,
    (width, height): (u16, u16),
    turns: usize,
) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut first_row = 0;
    for turn in 0..=turns {
        let mut shown = Shown { page, tabs, pane, first_row: &mut first_row, turn: turn > 0, colour: true };
        terminal.draw(|frame| draw(frame, &mut shown)).unwrap();
    }
    terminal
}

fn text(terminal: &Terminal<TestBackend>) -> String {
    let buffer = terminal.backend().buffer();
    let cells: Vec<&str> = buffer.content().iter().map(|cell| cell.symbol()).collect();
    cells.chunks(usize::from(buffer.area.width)).map(|row| row.concat().trim_end().to_string() + "\n").collect()
}

fn row(name: &str, cpus: &str, state: &str, time: u32, pages: (u64, u64)) -> Row {
    Row { name: name.into(), cpus: cpus.into(), state: state.into(), is_bad: false, time, pages, budget: None }
}

fn page() -> Page {
    let cpu = |busy, most: Option<(&str, u32)>, interrupts, messages, calls| Cpu {
        busy,
        most: most.map(|(name, time)| (name.to_string(), time)),
        interrupts,
        messages,
        calls,
    };
    let budget = Budget { left: 1_250_000, budget: 2_000_000, period: 10_000_000 };
    Page {
        system: "mixed".into(),
        up: Duration::from_millis(62_345),
        cpus: vec![
            cpu(1000, Some(("guest0", 981)), 1204, 0, 20),
            cpu(713, Some(("ahci", 402)), 5230, 12_040, 36_120),
            cpu(31, Some(("control", 22)), 100, 200, 400),
            cpu(0, None, 0, 0, 0),
        ],
        pages: (101_234, 505_344),
        rows: vec![
            row("guest0", "0", "guest: io, 8123 exits/s", 981, (32_947, 33_280)),
            row("ahci", "1", "sata Active, pci Running+Enabled+IrqOn", 402, (614, 2048)),
            row("logger", "1-3", "waits for a message", 12, (40, 40)),
            Row { budget: Some(budget), ..row("control", "2", "sleeps", 22, (29, 128)) },
            Row { is_bad: true, ..row("viewer", "3", "ended by fault 14", 0, (0, 0)) },
        ],
        lost: 0,
        fault: None,
    }
}

fn tabs() -> Vec<Tab> {
    let tab = |name: &str, key, is_selected, is_muted| Tab { name: name.into(), key: Some(key), is_selected, is_muted };
    vec![tab("kernel", '0', false, true), tab("guest0", '1', true, false), tab("log", '2', false, false)]
}

fn pane() -> Pane {
    let mut pane = Pane::new(1, 80);
    write!(pane, "\x1b[33mguest0 |\x1b[0m Linux version 6.1.0\r\n").unwrap();
    write!(pane, "\x1b[32mlog    |\x1b[0m 17 readings, mean 45\r\n\x1b[33mguest0 |\x1b[0m ~ # ").unwrap();
    pane
}

fn is_known(terminal: &Terminal<TestBackend>, known: &str, name: &str) {
    let text = text(terminal);
    assert!(text == known, "this is not {name}:\n{text}");
}

#[test]
fn a_page_of_80_columns() {
    let terminal = drawn(&page(), &tabs(), &mut pane(), (80, 24), 0);
    is_known(&terminal, include_str!("page-80x24.txt"), "page-80x24.txt");
    let buffer = terminal.backend().buffer();
    // A processor without time left is red, an ended process is bold, a muted console is struck out.
    let of = |what: &str| {
        let at = text(&terminal).lines().enumerate().find_map(|(y, line)| {
            let byte = line.find(what)?;
            Some((line[..byte].chars().count() as u16, y as u16))
        });
        buffer[at.unwrap()].style()
    };
    assert_eq!(of("██████████").fg, Some(Color::Red));
    assert_eq!(of("ended by fault").fg, Some(Color::Red));
    assert!(of("0 kernel").add_modifier.contains(Modifier::CROSSED_OUT));
    assert_eq!(of("log    |").fg, Some(Color::Indexed(2)));
}

#[test]
fn a_page_of_120_columns() {
    is_known(&drawn(&page(), &tabs(), &mut pane(), (120, 30), 0), include_str!("page-120x30.txt"), "page-120x30.txt");
}

#[test]
fn a_page_of_64_processors_and_many_processes() {
    let mut many = page();
    many.cpus = (0..64).map(|number| Cpu { busy: number * 15, ..Cpu::default() }).collect();
    many.rows =
        (0..40).map(|number| row(&format!("worker{number}"), &number.to_string(), "runs", 15, (20, 64))).collect();
    many.lost = 17;
    let terminal = drawn(&many, &tabs(), &mut pane(), (80, 24), 1);
    is_known(&terminal, include_str!("page-many.txt"), "page-many.txt");
    assert!(
        !text(&drawn(&many, &tabs(), &mut pane(), (80, 24), 9)).contains("worker0 "),
        "nine turns are not round yet"
    );
}

#[test]
fn a_low_terminal_shows_processors_in_short_and_still_the_processes() {
    let low = text(&drawn(&page(), &tabs(), &mut pane(), (80, 11), 0));
    assert!(
        low.contains("   0 100%    1  72%    2   4%    3   0%") && low.contains(" guest0        0     guest: io"),
        "{low}"
    );
}

#[test]
fn a_terminal_that_is_too_small_is_no_fault() {
    for size in [(1, 1), (20, 3), (80, 7), (300, 2)] {
        drawn(&page(), &tabs(), &mut pane(), size, 1);
    }
}

#[test]
fn why_the_numbers_stand_still_is_said() {
    let ended = Page { fault: Some("the emulator does not answer".into()), ..page() };
    assert!(text(&drawn(&ended, &tabs(), &mut pane(), (80, 24), 0)).contains("the emulator does not answer"));
}
