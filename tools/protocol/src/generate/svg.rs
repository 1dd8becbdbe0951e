//! The picture of a protocol: a statechart as one self-contained SVG.
//!
//! Every edge is a line of text in its state's box, so no label is ever hidden; arrows run from the line to the target.
//! Messages that come in are blue, those that go out are orange. A trace or the coverage of a driver can be shown.

use super::chart::marks;
use super::layout::{layout, Place, LETTER, LINE, PADDING};
use crate::model::{Protocol, StateId};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What to show of a run or of many.
#[derive(Debug, Clone, Default)]
pub struct Highlight {
    /// Edges of a trace.
    pub trace: BTreeSet<usize>,
    /// Edges that were never taken, greyed.
    pub untouched: BTreeSet<usize>,
}

const STYLE: &str = "\
text { font: 11px ui-monospace, 'DejaVu Sans Mono', monospace; fill: #222; paint-order: stroke; stroke: #fff; \
stroke-width: 3px; stroke-opacity: .7 } .name { font-weight: bold } \
.mark { fill: #666 } .in { fill: #1a5fb4 } .out { fill: #b5530a } .to { fill: #555 } \
.state { fill: #fff; stroke: #444; rx: 7px } .outer { fill: #f6f5f2; stroke: #444; rx: 9px } \
.region { fill: none; stroke: #999; stroke-dasharray: 2 4; rx: 4px } .fair { stroke-dasharray: 7 4 } \
.final { stroke-width: 3px } .timed { fill: #fff6dd } \
path { fill: none; stroke-width: 1.2px; opacity: .5 } path.in { stroke: #1a5fb4; fill: none } \
path.out { stroke: #b5530a; fill: none } .trace { font-weight: bold; fill: #c01c28 } \
path.trace { stroke: #c01c28; fill: none; stroke-width: 2.5px; opacity: 1 } .untouched { opacity: .3 }";

pub fn svg(protocol: &Protocol, highlight: &Highlight, banner: &str) -> String {
    let places = layout(protocol);
    let (width, height) = (places[0].width.ceil() + 24.0, places[0].height.ceil() + 22.0);
    let mut out = format!("<!-- {} -->\n", banner.replace("--", "- -"));
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <title>Protocol {}</title>\n<style>{STYLE}</style>\n\
         <defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" \
         orient=\"auto\"><path d=\"M0,0 L8,4 L0,8\" style=\"fill:none;stroke:#555;opacity:1\"/></marker></defs>\n\
         <rect width=\"{width}\" height=\"{height}\" style=\"fill:#fff\"/>",
        protocol.name,
    );
    for (state, place) in places.iter().enumerate().skip(1) {
        shape(&mut out, protocol, state, place);
    }
    for state in 1..protocol.states.len() {
        arrows(&mut out, protocol, state, &places, highlight);
    }
    for (state, place) in places.iter().enumerate().skip(1) {
        words(&mut out, protocol, state, place, highlight);
    }
    let legend = "<tspan class=\"in\">?received by the driver</tspan>  <tspan class=\"out\">!sent by it</tspan>  \
                  yellow: timed  dashed: fair  thick: final  dotted: region";
    let y = height - 8.0;
    let _ = writeln!(out, "<text x=\"16\" y=\"{y}\" xml:space=\"preserve\" class=\"mark\">{legend}</text>\n</svg>");
    out
}

fn shape(out: &mut String, protocol: &Protocol, state: StateId, place: &Place) {
    let own = &protocol.states[state];
    let mut class = match (own.is_region, protocol.is_leaf(state)) {
        (true, _) => "region".to_string(),
        (_, true) => "state".to_string(),
        _ => "outer".to_string(),
    };
    for (is, name) in [(own.timed, " timed"), (own.fair, " fair"), (own.is_final, " final")] {
        if is {
            class.push_str(name);
        }
    }
    let Place { x, y, width, height, .. } = place;
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{height:.0}\"/>"
    );
}

fn words(out: &mut String, protocol: &Protocol, state: StateId, place: &Place, highlight: &Highlight) {
    let (x, y) = (place.x + PADDING, place.y + PADDING + LINE - 4.0);
    let name = &protocol.states[state].name;
    let marks = marks(protocol, state).join(", ");
    let _ = writeln!(
        out,
        "<text x=\"{x:.0}\" y=\"{y:.0}\" xml:space=\"preserve\"><tspan class=\"name\">{name}</tspan>  \
         <tspan class=\"mark\">{marks}</tspan></text>",
    );
    for (index, line) in place.lines.iter().enumerate() {
        let y = place.line_y(index) + 3.5;
        let _ = write!(out, "<text x=\"{x:.0}\" y=\"{y:.0}\" xml:space=\"preserve\">");
        for edge in &line.edges {
            let message = &protocol.messages[protocol.edges[*edge].message];
            let class = class(message.incoming, *edge, highlight);
            let _ = write!(out, "<tspan class=\"{class}\">{}</tspan> ", message.label());
        }
        let _ = writeln!(out, "<tspan class=\"to\">{}</tspan></text>", line.consequence.as_deref().unwrap_or_default());
    }
}

fn class(incoming: bool, edge: usize, highlight: &Highlight) -> String {
    let mut class = if incoming { "in" } else { "out" }.to_string();
    if highlight.trace.contains(&edge) {
        class.push_str(" trace");
    } else if highlight.untouched.contains(&edge) {
        class.push_str(" untouched");
    }
    class
}

/// An arrow for each line with a target, from the side of the box that faces it.
fn arrows(out: &mut String, protocol: &Protocol, state: StateId, places: &[Place], highlight: &Highlight) {
    let from = &places[state];
    for (index, line) in from.lines.iter().enumerate() {
        let (Some(target), Some(edge)) = (line.target, line.edges.last()) else { continue };
        if target == state {
            continue;
        }
        let to = &places[target];
        let y = from.line_y(index);
        let end = to.y + PADDING + LINE / 2.0;
        let text = line.edges.iter().map(|edge| protocol.messages[protocol.edges[*edge].message].name.len() + 2);
        let letters = text.sum::<usize>() + line.consequence.as_ref().map_or(0, |text| text.chars().count());
        let after_text = from.x + PADDING + letters as f64 * LETTER + 3.0;
        // To the right: into the target's left side. To the left or above: out of the left side, into the right one.
        let (x, turn, x_end) = if to.x >= from.x + from.width {
            (from.x + from.width, 1.0, to.x)
        } else if to.x + to.width <= from.x {
            (from.x, -1.0, to.x + to.width)
        } else if protocol.is_within(target, state) {
            (after_text, 1.0, to.x)
        } else {
            (from.x + from.width, 1.0, to.x + to.width)
        };
        let reach = ((x_end - x).abs() / 2.0).clamp(24.0, 90.0);
        // Into a box that is beside: from the facing side; above or below: round the right side.
        let end_turn = if x_end == to.x { -1.0 } else { 1.0 };
        let (bend, bend_end) = (x + turn * reach, x_end + end_turn * reach);
        let class = class(protocol.messages[protocol.edges[*edge].message].incoming, *edge, highlight);
        let mut curve = format!("M{x:.0},{y:.0} C{bend:.0},{y:.0} {bend_end:.0},{end:.0} {x_end:.0},{end:.0}");
        if !protocol.is_leaf(target) && to.y > from.y + from.height && to.x < from.x + from.width {
            // A superstate below is entered from above, near its name.
            let (top, middle) = (to.y, (to.x + 120.0).min(to.x + to.width / 2.0));
            let (bend, above) = (x + 30.0, top - 26.0);
            curve = format!("M{x:.0},{y:.0} C{bend:.0},{y:.0} {middle:.0},{above:.0} {middle:.0},{top:.0}");
        }
        let _ = writeln!(out, "<path class=\"{class}\" marker-end=\"url(#end)\" d=\"{curve}\"/>");
    }
}
