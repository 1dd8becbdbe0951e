//! The page on a terminal: processors and memory at the top, processes, then the consoles.

use crate::page::{Budget, Cpu, Page, Row, Tab};
use crate::pane::Pane;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row as TableRow, Table};
use ratatui::Frame;

/// Up to so many processors have a line each, where that is at most a third of the terminal.
const LINES_OF_CPUS: usize = 8;
const CELL_OF_CPU: u16 = 10;
/// The length of a bar, and on narrow terminals.
const BAR: u32 = 24;
const SHORT_BAR: u32 = 10;
const NARROW: u16 = 100;
const MIB: f64 = 256.0;
/// The consoles keep at least so many rows of a terminal that has them.
const PANE_AT_LEAST: u16 = 6;

/// What is drawn.
pub struct Shown<'a> {
    pub page: &'a Page,
    pub tabs: &'a [Tab],
    pub pane: &'a mut Pane,
    /// The first process of the table, and whether the next ones are asked for.
    pub first_row: &'a mut usize,
    pub turn: bool,
    pub colour: bool,
}

/// Draws everything, and makes the pane as large as its place.
pub fn draw(frame: &mut Frame<'_>, shown: &mut Shown<'_>) {
    let is_list = shown.page.cpus.len() <= LINES_OF_CPUS.min(usize::from(frame.area().height / 3));
    let cpus = match shown.page.cpus.len() as u16 {
        cpus if is_list => cpus,
        cpus => cpus.div_ceil((frame.area().width / CELL_OF_CPU).max(1)),
    };
    let room = frame.area().height.saturating_sub(1 + cpus + 1 + 1 + PANE_AT_LEAST);
    let rows = (shown.page.rows.len() as u16).min(room);
    let [title, processors, head, table, tabs, pane] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(cpus),
        Constraint::Length(1),
        Constraint::Length(rows),
        Constraint::Length(1),
        Constraint::Min(1),
    ])
    .areas(frame.area());
    let look = Look { colour: shown.colour };
    frame.render_widget(Paragraph::new(headline(shown.page, title.width, look)), title);
    draw_cpus(frame, &shown.page.cpus, is_list, processors, look);
    draw_processes(frame, shown, head, table, look);
    let below = shown.pane.below();
    frame.render_widget(Paragraph::new(tab_line(shown.tabs, below, look)).style(look.bar()), tabs);
    shown.pane.resize(pane.height, pane.width);
    draw_pane(frame, shown.pane, pane, look);
}

/// Styles; without colour everything is told by words and by reversed bars.
#[derive(Clone, Copy)]
struct Look {
    colour: bool,
}

impl Look {
    fn bar(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn bad(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    fn quiet(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    fn coloured(self, colour: Color) -> Style {
        if self.colour {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    }
}

fn headline(page: &Page, width: u16, look: Look) -> Line<'static> {
    let (used, all) = page.pages;
    let left = format!(" {}  up {:.1} s", page.system, page.up.as_secs_f64());
    let lost = if page.lost > 0 { format!("{} events lost  ", page.lost) } else { String::new() };
    let right = match &page.fault {
        Some(fault) => format!("{fault} "),
        None if all == 0 => "starts ".to_string(),
        None => format!("{lost}memory {} of {} MiB ", mebibytes(used), mebibytes(all)),
    };
    let gap = usize::from(width).saturating_sub(left.chars().count() + right.chars().count());
    Line::from(format!("{left}{}{right}", " ".repeat(gap))).style(look.bar())
}

fn draw_cpus(frame: &mut Frame<'_>, cpus: &[Cpu], is_list: bool, area: Rect, look: Look) {
    let lines: Vec<Line<'_>> = if is_list {
        let bar = if area.width < NARROW { SHORT_BAR } else { BAR };
        cpus.iter().enumerate().map(|(number, cpu)| cpu_line(number, cpu, bar, look)).collect()
    } else {
        let cells: Vec<Span<'_>> = cpus
            .iter()
            .enumerate()
            .map(|(number, cpu)| {
                Span::styled(format!("{number:>4} {:>3}% ", cpu.busy.div_ceil(10)), look.coloured(load(cpu.busy)))
            })
            .collect();
        cells.chunks(usize::from((area.width / CELL_OF_CPU).max(1))).map(|line| Line::from(line.to_vec())).collect()
    };
    frame.render_widget(Paragraph::new(lines), area);
}

fn cpu_line(number: usize, cpu: &Cpu, bar: u32, look: Look) -> Line<'static> {
    let full = (cpu.busy * bar).div_ceil(1000);
    let most = cpu.most.as_ref().map_or(String::new(), |(name, time)| format!("{name} {}", percent(*time)));
    Line::from(vec![
        Span::raw(format!(" CPU {number:<2}")),
        Span::styled("█".repeat(full as usize), look.coloured(load(cpu.busy))),
        Span::styled("░".repeat((bar - full) as usize), look.quiet()),
        Span::raw(format!(" {:>7}  {most:20}", percent(cpu.busy))),
        Span::styled(format!("irq {:<5} msg {:<6} call {}", cpu.interrupts, cpu.messages, cpu.calls), look.quiet()),
    ])
}

fn load(permille: u32) -> Color {
    match permille {
        0..=699 => Color::Green,
        700..=949 => Color::Yellow,
        _ => Color::Red,
    }
}

fn draw_processes(frame: &mut Frame<'_>, shown: &mut Shown<'_>, head: Rect, area: Rect, look: Look) {
    let rows = usize::from(area.height);
    let all = &shown.page.rows;
    if shown.turn {
        *shown.first_row += rows.max(1);
    }
    if *shown.first_row >= all.len() {
        *shown.first_row = 0;
    }
    let first = *shown.first_row;
    let name = if all.len() > rows {
        format!(" process {}-{}/{}", first + 1, (first + rows).min(all.len()), all.len())
    } else {
        " process".to_string()
    };
    let widest = all.iter().map(|row| 1 + row.name.chars().count()).max().unwrap_or(0).max(name.chars().count());
    let widths = [
        Constraint::Length(widest.min(25) as u16),
        Constraint::Length(5),
        Constraint::Min(16),
        Constraint::Length(8),
        Constraint::Length(12),
        Constraint::Length(15),
    ];
    let titles = [name.as_str(), "CPU", "state", "    time", "     MiB of", "budget left"];
    let head_row = TableRow::new(titles.map(|title| Cell::from(title.to_string())));
    frame.render_widget(Table::new([head_row], widths).column_spacing(1).style(look.bar()), head);
    let body = all.iter().skip(first).take(rows).map(|row| process(row, look));
    frame.render_widget(Table::new(body, widths).column_spacing(1), area);
}

fn process(row: &Row, look: Look) -> TableRow<'static> {
    let (used, quota) = row.pages;
    let state = if row.is_bad { look.bad() } else { Style::new() };
    let full = quota > 0 && used >= quota;
    let memory = format!("{:>5}/{:<5}", mebibytes(used), mebibytes(quota));
    TableRow::new([
        Cell::from(format!(" {}", row.name)),
        Cell::from(row.cpus.clone()),
        Cell::from(row.state.clone()).style(state),
        Cell::from(format!("{:>8}", percent(row.time))),
        Cell::from(memory).style(if full { look.coloured(Color::Yellow) } else { Style::new() }),
        Cell::from(row.budget.map_or(String::new(), |budget| left(&budget))),
    ])
}

fn left(budget: &Budget) -> String {
    let ms = |ns: u64| {
        let text = format!("{:.1}", ns as f64 / 1e6);
        text.strip_suffix(".0").map_or(text.clone(), str::to_string)
    };
    format!("{}/{} of {} ms", ms(budget.left), ms(budget.budget), ms(budget.period))
}

fn tab_line(tabs: &[Tab], below: Option<u16>, look: Look) -> Line<'static> {
    let mut spans = vec![Span::raw(" ")];
    for tab in tabs {
        let key = tab.key.map_or(String::new(), |key| format!("{key} "));
        let text = if tab.is_selected { format!("[{key}{}] ", tab.name) } else { format!("{key}{}  ", tab.name) };
        let style = if tab.is_muted { look.quiet().add_modifier(Modifier::CROSSED_OUT) } else { Style::new() };
        spans.push(Span::styled(text, style));
    }
    let end = below.map_or("Ctrl-] ?: keys".to_string(), |lines| format!("{lines} lines below, Ctrl-] n"));
    spans.push(Span::raw(format!(" {end}")));
    Line::from(spans)
}

fn draw_pane(frame: &mut Frame<'_>, pane: &Pane, area: Rect, look: Look) {
    let buffer = frame.buffer_mut();
    for row in 0..area.height {
        for column in 0..area.width {
            let (Some(from), Some(to)) = (pane.cell(row, column), buffer.cell_mut((area.x + column, area.y + row)))
            else {
                continue;
            };
            let text = from.contents();
            to.set_symbol(if text.is_empty() { " " } else { &text });
            if let (vt100::Color::Idx(index), true) = (from.fgcolor(), look.colour) {
                to.set_fg(Color::Indexed(index));
            }
        }
    }
    if let Some((row, column)) = pane.cursor() {
        frame.set_cursor_position((area.x + column.min(area.width.saturating_sub(1)), area.y + row));
    }
}

fn percent(permille: u32) -> String {
    format!("{}.{} %", permille / 10, permille % 10)
}

/// With one digit behind the point where there is room for it.
fn mebibytes(pages: u64) -> String {
    let value = pages as f64 / MIB;
    if value >= 999.95 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}
