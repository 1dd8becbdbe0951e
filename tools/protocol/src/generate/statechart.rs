//! The picture of a protocol: a statechart.
//!
//! Every edge is a line of text in its state's box, so no label is ever hidden; an arrow runs from the line to the
//! target. Messages that come in are blue, those that go out are orange. A trace or the coverage of a driver can be
//! shown.

use super::chart::marks;
use super::lines::{label, letters, lines, TextLine};
use crate::model::{Protocol, StateId};
use picture::canvas::{Canvas, Picture, Rect};
use picture::graph::{Arrow, Error, Frame, Graph, Layout, Node};
use picture::{LETTER, LINE};
use std::collections::BTreeSet;

/// Between a box's border and its text.
const PADDING: f64 = 7.0;
/// Around the whole picture.
const MARGIN: f64 = 10.0;
const LEGEND: [(&str, &str); 3] = [
    ("blue", "?received by the driver"),
    ("orange", "  !sent by it"),
    ("dim", "  yellow: timed  dashed: fair  thick: final  dotted: region"),
];

/// What to show of a run or of many.
#[derive(Debug, Clone, Default)]
pub struct Highlight {
    /// Edges of a trace.
    pub trace: BTreeSet<usize>,
    /// Edges that were never taken, greyed.
    pub untouched: BTreeSet<usize>,
}

/// # Errors
/// Graphviz is not installed, or fails.
pub fn statechart(protocol: &Protocol, highlight: &Highlight) -> Result<Picture, Error> {
    let chart = Chart::new(protocol);
    let layout = chart.graph.layout()?;
    let mut canvas = Canvas::default();
    for (index, state) in chart.frames.iter().enumerate() {
        canvas.rect(&class(protocol, *state), moved(layout.frames[index]), 9.0);
    }
    for (index, state) in chart.nodes.iter().enumerate() {
        let class = if protocol.is_leaf(*state) { class(protocol, *state) } else { "grey".to_string() };
        canvas.rect(&class, moved(layout.nodes[index]), 6.0);
    }
    chart.arrows(&mut canvas, &layout, highlight);
    for (index, state) in chart.nodes.iter().enumerate() {
        words(&mut canvas, protocol, *state, moved(layout.nodes[index]), highlight);
    }
    let legend = LEGEND.iter().map(|(_, text)| picture::text_width(text)).sum::<f64>();
    let (width, height) = (layout.width.max(legend) + 2.0 * MARGIN, layout.height + 2.0 * MARGIN + LINE);
    canvas.text(MARGIN, height - MARGIN, &LEGEND);
    Ok(canvas.finish(&format!("Protocol {}", protocol.name), width, height))
}

/// The statechart as a graph. A leaf is a box; a superstate is a frame with a grey box for its name and edges.
struct Chart<'a> {
    protocol: &'a Protocol,
    graph: Graph,
    /// The state of each box and of each frame.
    nodes: Vec<StateId>,
    frames: Vec<StateId>,
    /// The row of text that each arrow starts at.
    rows: Vec<TextLine>,
}

impl<'a> Chart<'a> {
    fn new(protocol: &'a Protocol) -> Self {
        let states = 1..protocol.states.len();
        let frames: Vec<StateId> = states.clone().filter(|state| !protocol.is_leaf(*state)).collect();
        let nodes: Vec<StateId> = states.collect();
        let mut chart = Self { protocol, graph: Graph::default(), nodes, frames, rows: Vec::new() };
        for state in &chart.frames {
            chart.graph.frames.push(Frame { outer: chart.frame(protocol.states[*state].parent) });
        }
        for state in chart.nodes.clone() {
            let own = lines(protocol, state);
            let frame = if protocol.is_leaf(state) { protocol.states[state].parent } else { Some(state) };
            let mut heights = vec![PADDING + LINE];
            heights.extend(own.iter().map(|_| LINE));
            if let Some(last) = heights.last_mut() {
                *last += PADDING;
            }
            let width = letters(protocol, state) as f64 * LETTER + 2.0 * PADDING;
            chart.graph.nodes.push(Node { width, lines: heights, frame: chart.frame(frame) });
            chart.graph.above.extend(protocol.states[state].children.iter().map(|child| (state - 1, child - 1)));
            for (index, line) in own.into_iter().enumerate() {
                if let Some(target) = line.target.filter(|target| *target != state && *target != 0) {
                    chart.graph.arrows.push(Arrow { from: state - 1, line: index + 1, to: target - 1 });
                    chart.rows.push(line);
                }
            }
        }
        chart
    }

    fn frame(&self, state: Option<StateId>) -> Option<usize> {
        self.frames.iter().position(|frame| Some(*frame) == state)
    }

    fn arrows(&self, canvas: &mut Canvas, layout: &Layout, highlight: &Highlight) {
        for (row, points) in self.rows.iter().zip(&layout.arrows) {
            let points: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x + MARGIN, y + MARGIN)).collect();
            let colour = row.edges.last().map_or("dim", |edge| colour(self.protocol, *edge));
            let taken = row.edges.iter().any(|edge| highlight.trace.contains(edge));
            let faint = row.edges.iter().all(|edge| highlight.untouched.contains(edge));
            let class = match (taken, faint) {
                (true, _) => "red".to_string(),
                (_, true) => format!("{colour} faint"),
                _ => colour.to_string(),
            };
            canvas.curve(&class, &points, true);
        }
    }
}

fn moved(rect: Rect) -> Rect {
    Rect { x: rect.x + MARGIN, y: rect.y + MARGIN, ..rect }
}

fn colour(protocol: &Protocol, edge: usize) -> &'static str {
    if protocol.messages[protocol.edges[edge].message].incoming {
        "blue"
    } else {
        "orange"
    }
}

/// How the box or frame of a state is drawn.
fn class(protocol: &Protocol, state: StateId) -> String {
    let own = &protocol.states[state];
    let kind = match (own.is_region, own.timed, protocol.is_leaf(state)) {
        (true, _, _) => "dotted",
        (_, true, _) => "yellow",
        (_, _, true) => "paper",
        _ => "",
    };
    let marks = [(own.fair, " dashed"), (own.is_final, " thick")];
    marks.iter().filter(|(is, _)| *is).fold(kind.to_string(), |class, (_, mark)| class + mark)
}

fn words(canvas: &mut Canvas, protocol: &Protocol, state: StateId, rect: Rect, highlight: &Highlight) {
    let (x, y) = (rect.x + PADDING, rect.y + PADDING + LINE - 4.0);
    let marks = marks(protocol, state).join(", ");
    canvas.text(x, y, &[("bold", &protocol.states[state].name), ("dim", &format!("  {marks}"))]);
    for (index, line) in lines(protocol, state).iter().enumerate() {
        let labels: Vec<String> = line.edges.iter().map(|edge| format!("{} ", label(protocol, *edge))).collect();
        let class = |edge: &usize| match () {
            () if highlight.trace.contains(edge) => "red".to_string(),
            () if highlight.untouched.contains(edge) => format!("{} faint", colour(protocol, *edge)),
            () => colour(protocol, *edge).to_string(),
        };
        let classes: Vec<String> = line.edges.iter().map(class).collect();
        let mut pieces: Vec<(&str, &str)> =
            classes.iter().map(String::as_str).zip(labels.iter().map(String::as_str)).collect();
        pieces.push(("dim", line.consequence.as_deref().unwrap_or_default()));
        canvas.text(x, y + LINE * (index as f64 + 1.0), &pieces);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The protocols that are shipped: no arrow runs through a box that it does not belong to.
    #[test]
    fn no_arrow_crosses_a_box() {
        for name in ["audio", "ethernet", "pci", "sata", "timer"] {
            let path = format!("{}/../../protocols/{name}.proto", env!("CARGO_MANIFEST_DIR"));
            let checked = crate::load(std::path::Path::new(&path)).unwrap();
            let chart = Chart::new(&checked.protocol);
            let layout = chart.graph.layout().unwrap();
            let named = layout.crossings(&chart.graph);
            let name_of = |node: usize| checked.protocol.states[chart.nodes[node]].name.clone();
            let named: Vec<String> = named
                .iter()
                .map(|(arrow, node)| {
                    let arrow = chart.graph.arrows[*arrow];
                    format!("{} to {} through {}", name_of(arrow.from), name_of(arrow.to), name_of(*node))
                })
                .collect();
            assert!(named.is_empty(), "{name}: {named:?}");
        }
    }
}
