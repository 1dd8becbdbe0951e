//! Boxes with lines of text, nested in frames, joined by arrows; laid out by Graphviz.
//!
//! An arrow starts at a line of its box and ends at a box. Graphviz's `dot` chooses the places and routes the arrows
//! round the boxes. It sees no text: every line is a cell of a fixed size.

use crate::canvas::Rect;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Pixels an inch, in which `dot` takes sizes.
const INCH: f64 = 72.0;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`dot` could not be run: {0}; it is in the package graphviz")]
    Missing(std::io::Error),
    #[error("`dot` refused the graph: {0}")]
    Refused(String),
    #[error("`dot` answered something else than a layout: {0}")]
    Answer(String),
}

/// A box; its lines are as high as `LINE`.
#[derive(Debug, Clone)]
pub struct Node {
    pub width: f64,
    /// Heights of its lines, from the top.
    pub lines: Vec<f64>,
    /// The frame it stands in, as an index into [`Graph::frames`].
    pub frame: Option<usize>,
}

/// A frame around boxes and further frames.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    pub outer: Option<usize>,
}

/// From a line of a box to another box.
#[derive(Debug, Clone, Copy)]
pub struct Arrow {
    pub from: usize,
    pub line: usize,
    pub to: usize,
}

#[derive(Debug, Clone, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    pub frames: Vec<Frame>,
    pub arrows: Vec<Arrow>,
    /// Pairs of boxes: the first stands above the second.
    pub above: Vec<(usize, usize)>,
}

/// Places in pixels, from the upper left corner; in the order of the graph's parts.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    pub width: f64,
    pub height: f64,
    pub nodes: Vec<Rect>,
    pub frames: Vec<Rect>,
    /// Bézier curves as [`crate::canvas::Canvas::curve`] takes them.
    pub arrows: Vec<Vec<(f64, f64)>>,
}

impl Graph {
    /// # Errors
    /// `dot` is not installed, or fails.
    pub fn layout(&self) -> Result<Layout, Error> {
        let mut child = Command::new("dot")
            .args(["-Tjson"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(Error::Missing)?;
        let text = self.dot();
        let stdin = child.stdin.take();
        // `dot` reads all of its input before it writes, so this cannot wait for itself.
        if let Some(mut stdin) = stdin {
            stdin.write_all(text.as_bytes()).map_err(|error| Error::Refused(error.to_string()))?;
        }
        let output = child.wait_with_output().map_err(Error::Missing)?;
        if !output.status.success() {
            return Err(Error::Refused(String::from_utf8_lossy(&output.stderr).trim().to_string()));
        }
        let answer: Answer =
            serde_json::from_slice(&output.stdout).map_err(|error| Error::Answer(error.to_string()))?;
        self.places(&answer)
    }

    fn dot(&self) -> String {
        let mut out = "digraph { splines=true; nodesep=0.35; ranksep=0.4; node [shape=plain]; edge [arrowhead=none];\n"
            .to_string();
        for frame in self.frames.iter().enumerate().filter(|(_, frame)| frame.outer.is_none()).map(|(index, _)| index) {
            self.frame(&mut out, frame);
        }
        self.boxes(&mut out, None);
        for (index, arrow) in self.arrows.iter().enumerate() {
            let Arrow { from, line, to } = arrow;
            let _ = writeln!(out, "n{from}:l{line}:_ -> n{to} [id=a{index}];");
        }
        for (upper, lower) in &self.above {
            let _ = writeln!(out, "n{upper} -> n{lower} [style=invis];");
        }
        out.push_str("}\n");
        out
    }

    fn frame(&self, out: &mut String, frame: usize) {
        let _ = writeln!(out, "subgraph cluster{frame} {{ margin=10;");
        self.boxes(out, Some(frame));
        for inner in (0..self.frames.len()).filter(|inner| self.frames[*inner].outer == Some(frame)) {
            self.frame(out, inner);
        }
        out.push_str("}\n");
    }

    fn boxes(&self, out: &mut String, frame: Option<usize>) {
        for (index, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.frame == frame) {
            let mut rows = String::new();
            for (line, height) in node.lines.iter().enumerate() {
                let _ = write!(
                    rows,
                    "<TR><TD PORT=\"l{line}\" FIXEDSIZE=\"TRUE\" WIDTH=\"{:.0}\" HEIGHT=\"{height:.0}\"></TD></TR>",
                    node.width
                );
            }
            let _ = writeln!(
                out,
                "n{index} [label=<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"0\">{rows}</TABLE>>];"
            );
        }
    }

    fn places(&self, answer: &Answer) -> Result<Layout, Error> {
        let missing = |what: &str| Error::Answer(format!("{what} has no place"));
        let [_, _, width, height] = numbers::<4>(&answer.bb).ok_or_else(|| missing("the graph"))?;
        let objects: BTreeMap<&str, &Object> =
            answer.objects.iter().map(|object| (object.name.as_str(), object)).collect();
        let mut layout = Layout { width, height, ..Layout::default() };
        for index in 0..self.nodes.len() {
            let name = format!("n{index}");
            let place = objects.get(name.as_str()).and_then(|object| {
                let [x, y] = numbers::<2>(object.pos.as_deref()?)?;
                let wide: f64 = object.width.as_deref()?.parse().ok()?;
                let high: f64 = object.height.as_deref()?.parse().ok()?;
                let (wide, high) = (wide * INCH, high * INCH);
                Some(Rect { x: x - wide / 2.0, y: height - y - high / 2.0, width: wide, height: high })
            });
            layout.nodes.push(place.ok_or_else(|| missing(&name))?);
        }
        for index in 0..self.frames.len() {
            let name = format!("cluster{index}");
            let place = objects.get(name.as_str()).and_then(|object| {
                let [left, low, right, high] = numbers::<4>(object.bb.as_deref()?)?;
                Some(Rect { x: left, y: height - high, width: right - left, height: high - low })
            });
            layout.frames.push(place.ok_or_else(|| missing(&name))?);
        }
        let edges: BTreeMap<&str, &str> =
            answer.edges.iter().filter_map(|edge| Some((edge.id.as_deref()?, edge.pos.as_str()))).collect();
        for index in 0..self.arrows.len() {
            let name = format!("a{index}");
            let points = edges.get(name.as_str()).and_then(|pos| {
                pos.split_whitespace()
                    .map(|point| numbers::<2>(point).map(|[x, y]| (x, height - y)))
                    .collect::<Option<Vec<_>>>()
            });
            layout.arrows.push(points.ok_or_else(|| missing(&name))?);
        }
        Ok(layout)
    }
}

impl Layout {
    /// Arrows that run through a box which is not one of their ends, as (arrow, box). A good layout has none.
    pub fn crossings(&self, graph: &Graph) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for (index, (arrow, points)) in graph.arrows.iter().zip(&self.arrows).enumerate() {
            for (node, rect) in self.nodes.iter().enumerate() {
                let is_end = node == arrow.from || node == arrow.to;
                if !is_end && samples(points).any(|point| rect.contains(point, 1.0)) {
                    found.push((index, node));
                }
            }
        }
        found
    }
}

/// Points of a Bézier curve, close to each other.
fn samples(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> + '_ {
    const STEPS: usize = 32;
    (0..points.len().saturating_sub(1) / 3).flat_map(move |piece| {
        (0..=STEPS).map(move |step| {
            let t = step as f64 / STEPS as f64;
            let weights = [(1.0 - t).powi(3), 3.0 * t * (1.0 - t).powi(2), 3.0 * t * t * (1.0 - t), t.powi(3)];
            let at = |pick: fn(&(f64, f64)) -> f64| {
                weights.iter().zip(&points[piece * 3..]).map(|(weight, point)| weight * pick(point)).sum()
            };
            (at(|point| point.0), at(|point| point.1))
        })
    })
}

fn numbers<const COUNT: usize>(text: &str) -> Option<[f64; COUNT]> {
    let all: Vec<f64> = text.split(',').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    all.try_into().ok()
}

/// What of `dot`'s JSON is used.
#[derive(Debug, Deserialize)]
struct Answer {
    bb: String,
    #[serde(default)]
    objects: Vec<Object>,
    #[serde(default)]
    edges: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Object {
    name: String,
    pos: Option<String>,
    bb: Option<String>,
    width: Option<String>,
    height: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Edge {
    /// Absent where an edge only orders two boxes.
    id: Option<String>,
    pos: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(count: usize) -> Vec<Node> {
        vec![Node { width: 80.0, lines: vec![16.0, 16.0], frame: None }; count]
    }

    #[test]
    fn boxes_have_their_sizes_and_frames_surround_them() {
        let mut graph = Graph { nodes: boxes(2), frames: vec![Frame::default()], ..Graph::default() };
        graph.nodes[1].frame = Some(0);
        graph.arrows = vec![Arrow { from: 0, line: 1, to: 1 }];
        let layout = graph.layout().unwrap();
        for rect in &layout.nodes {
            assert!((rect.width - 80.0).abs() < 2.0 && (rect.height - 32.0).abs() < 2.0, "{rect:?}");
        }
        let inner = layout.nodes[1];
        assert!(layout.frames[0].contains((inner.x, inner.y), 1.0));
        assert!(layout.arrows[0][0].1 < layout.arrows[0].last().unwrap().1);
    }

    #[test]
    fn an_arrow_through_a_box_is_seen() {
        let graph = Graph { nodes: boxes(3), arrows: vec![Arrow { from: 0, line: 0, to: 2 }], ..Graph::default() };
        let rect = |x| Rect { x, y: 0.0, width: 10.0, height: 10.0 };
        let straight = vec![(10.0, 5.0), (17.0, 5.0), (33.0, 5.0), (40.0, 5.0)];
        let mut layout =
            Layout { nodes: vec![rect(0.0), rect(20.0), rect(40.0)], arrows: vec![straight], ..Layout::default() };
        assert_eq!(layout.crossings(&graph), [(0, 1)]);
        layout.nodes[1].y = 30.0;
        assert_eq!(layout.crossings(&graph), []);
    }
}
