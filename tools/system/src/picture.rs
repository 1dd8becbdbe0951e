//! A system as a picture: its processors with the processes on them, the channels between these, and its memory.

use crate::description::{Description, Process, Reservation};
use crate::layout::{MIB, PAGE_SIZE};
use crate::memory::Allotment;
use crate::System;
use diagnostics::units::show_duration;
use picture::canvas::{Canvas, Picture, Rect};
use picture::graph::{Arrow, Error, Frame, Graph, Node};
use picture::{text_width, LINE};

const PADDING: f64 = 8.0;
const MARGIN: f64 = 12.0;
/// Height of the bar that shows the memory.
const BAR: f64 = 34.0;
/// Least width of the whole, so that the bar's parts are wide enough to be told apart.
const LEAST_WIDTH: f64 = 720.0;
const COLOURS: [&str; 3] = ["green", "yellow", "grey"];

/// A line of a box: its class, its text, and the processes that an arrow leads to from it.
struct Line {
    class: &'static str,
    text: String,
    targets: Vec<usize>,
}

impl System {
    /// # Errors
    /// Graphviz is not installed, or fails.
    pub fn picture(&self) -> Result<Picture, Error> {
        let description = &self.description;
        let boxes: Vec<Vec<Line>> =
            (0..description.processes.len()).map(|process| lines(description, &self.allotments, process)).collect();
        let graph = graph(description, self.cpus, &boxes);
        let layout = graph.layout()?;

        let mut canvas = Canvas::default();
        let noun = if self.cpus == 1 { "processor" } else { "processors" };
        let head =
            format!("{} on {}: {} {noun}, {}", self.name, self.machine, self.cpus, mebibytes(self.machine_memory));
        canvas.text(MARGIN, MARGIN + LINE, &[("bold", &head)]);
        canvas.text(MARGIN, MARGIN + 2.0 * LINE, &[("dim", &self.about)]);
        let top = MARGIN + 3.0 * LINE;
        let moved = |rect: Rect| Rect { x: rect.x + MARGIN, y: rect.y + top, ..rect };
        layout.frames.iter().for_each(|frame| canvas.rect("", moved(*frame), 8.0));
        for (index, lines) in boxes.iter().enumerate() {
            let rect = moved(layout.nodes[index]);
            canvas.rect("paper", rect, 6.0);
            for (row, line) in lines.iter().enumerate() {
                let y = rect.y + PADDING + LINE * (row as f64 + 1.0) - 4.0;
                canvas.text(rect.x + PADDING, y, &[(line.class, &line.text)]);
            }
        }
        for (cpu, frame) in layout.frames.iter().enumerate() {
            let rect = moved(*frame);
            canvas.text(rect.x + PADDING, rect.y + PADDING + LINE - 4.0, &[("bold", &format!("CPU {cpu}"))]);
        }
        for points in &layout.arrows {
            let points: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x + MARGIN, y + top)).collect();
            canvas.curve("blue", &points, true);
        }
        let width = layout.width.max(LEAST_WIDTH).max(text_width(&head)).max(text_width(&self.about));
        let bottom = self.memory(&mut canvas, top + layout.height + LINE, width);
        Ok(canvas.finish(&format!("System {}", self.name), width + 2.0 * MARGIN, bottom + MARGIN))
    }

    /// The memory of the machine as a bar, a part for each process without parent; returns where it ends.
    fn memory(&self, canvas: &mut Canvas, top: f64, width: f64) -> f64 {
        canvas.text(MARGIN, top + LINE - 4.0, &[("bold", "Memory")]);
        let bar = Rect { x: MARGIN, y: top + LINE, width, height: BAR };
        canvas.rect("paper", bar, 0.0);
        let mut x = bar.x;
        let mut row = bar.y + BAR + LINE;
        let roots =
            self.description.processes.iter().zip(&self.allotments).filter(|(process, _)| process.parent.is_none());
        let mut used = 0;
        for (index, (process, allotment)) in roots.enumerate() {
            let bytes = allotment.quota * PAGE_SIZE;
            used += bytes;
            let part = (width * bytes as f64 / self.machine_memory as f64).max(1.0);
            canvas.rect(COLOURS[index % COLOURS.len()], Rect { x, width: part, ..bar }, 0.0);
            let name = &process.name.value;
            if text_width(name) + PADDING < part {
                canvas.text(x + PADDING / 2.0, bar.y + BAR / 2.0 + 4.0, &[("", name)]);
            }
            canvas.text(MARGIN, row, &[("", name), ("dim", &format!("  {}", mebibytes(bytes)))]);
            row += LINE;
            x += part;
        }
        let rest = mebibytes(self.machine_memory.saturating_sub(used));
        canvas.text(MARGIN, row, &[("dim", &format!("{rest} for the kernel and unused"))]);
        row
    }
}

/// A frame for each processor with a box that carries its name, and in it the boxes of the processes that begin there.
fn graph(description: &Description, cpus: u32, boxes: &[Vec<Line>]) -> Graph {
    let mut graph = Graph { frames: vec![Frame::default(); cpus as usize], ..Graph::default() };
    for (process, lines) in description.processes.iter().zip(boxes) {
        let width = lines.iter().map(|line| text_width(&line.text)).fold(0.0, f64::max) + 2.0 * PADDING;
        let mut heights = vec![LINE; lines.len()];
        if let Some(first) = heights.first_mut() {
            *first += PADDING;
        }
        if let Some(last) = heights.last_mut() {
            *last += PADDING;
        }
        let frame = usize::try_from(process.cpu.value).ok().filter(|cpu| *cpu < graph.frames.len());
        graph.nodes.push(Node { width, lines: heights, frame });
    }
    for cpu in 0..graph.frames.len() {
        let name = graph.nodes.len();
        graph.nodes.push(Node { width: text_width("CPU 00"), lines: vec![LINE], frame: Some(cpu) });
        let on_it = (0..boxes.len()).filter(|process| graph.nodes[*process].frame == Some(cpu));
        graph.above.extend(on_it.map(|process| (name, process)));
    }
    for (from, lines) in boxes.iter().enumerate() {
        for (line, own) in lines.iter().enumerate() {
            graph.arrows.extend(own.targets.iter().map(|to| Arrow { from, line, to: *to }));
        }
    }
    graph
}

/// What the box of a process says.
fn lines(description: &Description, allotments: &[Allotment], index: usize) -> Vec<Line> {
    let process = &description.processes[index];
    let text = |class, text| Line { class, text, targets: Vec::new() };
    let mut lines = vec![text("bold", process.name.value.clone()), text("dim", runs(process)), text("", time(process))];
    let quota = allotments.get(index).map_or(0, |allotment| allotment.quota * PAGE_SIZE);
    let guest = process.vm.as_ref().and_then(|vm| vm.memory.as_ref());
    let guest = guest.map_or_else(String::new, |memory| format!(", {} of them the guest's", mebibytes(memory.value)));
    lines.push(text("", format!("{}{guest}", mebibytes(quota))));
    for thread in &process.threads {
        let (name, cpu) = (&thread.name.value, thread.cpu.value);
        lines.push(text("", format!("thread {name}: CPU {cpu}, priority {}", thread.priority)));
    }
    let devices: Vec<&str> = process.devices.iter().map(|device| device.value.as_str()).collect();
    if !devices.is_empty() {
        lines.push(text("", format!("devices {}", devices.join(", "))));
    }
    if let Some(console) = &process.console {
        lines.push(text("dim", format!("console {}", console.value)));
    }
    lines.extend(channels(description, &process.name.value));
    lines
}

fn runs(process: &Process) -> String {
    match (&process.vm, &process.program) {
        (Some(vm), _) => {
            format!("guest {}", vm.kernel.as_ref().or(vm.firmware.as_ref()).map_or("", |kernel| kernel.value.as_str()))
        }
        (None, Some(program)) => format!("program {}", program.value),
        (None, None) => "loaded by its parent".to_string(),
    }
}

fn time(process: &Process) -> String {
    match process.time.reservation() {
        Some(Reservation { period, budget }) => {
            format!("priority {}, {} of every {}", process.priority, show_duration(budget), show_duration(period))
        }
        None => format!("priority {}", process.priority),
    }
}

/// The channels on which a process sends, with their receivers.
fn channels(description: &Description, process: &str) -> Vec<Line> {
    let index = |name: &str| description.processes.iter().position(|process| process.name.value == name);
    let line = |text: String, targets: Vec<usize>| Line { class: "blue", text, targets };
    let mut lines = Vec::new();
    for endpoint in description.endpoints.iter().filter(|one| one.senders.iter().any(|name| name.value == process)) {
        let to = endpoint.receiver.as_ref().and_then(|name| index(&name.value));
        lines.push(line(format!("calls {}", endpoint.name.value), to.into_iter().collect()));
    }
    for one in description.notifications.iter().filter(|one| one.signallers.iter().any(|name| name.value == process)) {
        let to = one.waiter.as_ref().and_then(|name| index(&name.value));
        lines.push(line(format!("signals {}", one.name.value), to.into_iter().collect()));
    }
    for buffer in description.buffers.iter().filter(|one| one.producers.iter().any(|name| name.value == process)) {
        let to = buffer.consumers.iter().filter_map(|name| index(&name.value)).collect();
        lines.push(line(format!("fills buffer {}", buffer.name.value), to));
    }
    for share in description.shares.iter().filter(|one| one.from.as_ref().is_some_and(|name| name.value == process)) {
        let to = share.to.as_ref().and_then(|name| index(&name.value));
        lines.push(line(format!("offers pages by {}", share.name.value), to.into_iter().collect()));
    }
    lines
}

/// A size with one decimal, which is what a picture has room for.
fn mebibytes(bytes: u64) -> String {
    let tenths = (bytes as f64 / MIB as f64 * 10.0).round() / 10.0;
    format!("{tenths} MiB")
}
