//! Where the boxes of a statechart stand.
//!
//! A state is a box with its name and a line for each row of its edges (`chart`); a superstate has its children below
//! them. Children stand in columns by their distance from the initial one; regions stand side by side, separated.

use super::chart::{consequence, marks, rows, Row};
use crate::model::{Protocol, StateId};
use std::collections::{BTreeMap, BTreeSet};

pub const LETTER: f64 = 6.7;
pub const LINE: f64 = 16.0;
pub const PADDING: f64 = 8.0;
/// Between boxes, where arrows run.
const GAP_X: f64 = 46.0;
const GAP_Y: f64 = 22.0;
/// Columns that would reach further begin a row below.
const MAX_WIDTH: f64 = 900.0;
/// Messages of a row are broken into lines of at most so many letters.
const MAX_LETTERS: usize = 34;

/// A line of text in a box: messages of one row, and its consequence on the row's last line.
#[derive(Debug, Clone)]
pub struct TextLine {
    pub edges: Vec<usize>,
    pub consequence: Option<String>,
    pub target: Option<StateId>,
}

#[derive(Debug, Clone, Default)]
pub struct Place {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    pub lines: Vec<TextLine>,
}

impl Place {
    /// The height of the middle of a line.
    pub fn line_y(&self, line: usize) -> f64 {
        self.y + PADDING + LINE * (line as f64 + 1.5) + 2.0
    }
}

/// Places of all states; state 0's is the whole picture.
pub fn layout(protocol: &Protocol) -> Vec<Place> {
    let mut places = vec![Place::default(); protocol.states.len()];
    measure(protocol, 0, &mut places);
    shift(protocol, 0, &mut places, 0.0, 0.0);
    places
}

/// Sizes `state` and places its children relative to its corner.
fn measure(protocol: &Protocol, state: StateId, places: &mut Vec<Place>) {
    let own = &protocol.states[state];
    let lines: Vec<TextLine> = rows(protocol, state).iter().flat_map(|row| text_lines(protocol, row)).collect();
    let title = own.name.chars().count() + marks(protocol, state).iter().map(|mark| mark.len() + 2).sum::<usize>();
    let letters = lines.iter().map(|line| line_letters(protocol, line)).chain([title + 2]).max().unwrap_or(0);
    let mut width = letters as f64 * LETTER + 2.0 * PADDING;
    let head = if state == 0 { PADDING } else { PADDING + LINE * (lines.len() as f64 + 1.0) + PADDING };
    let mut height = head;
    if !own.children.is_empty() {
        let columns = if protocol.is_parallel(state) {
            own.children.iter().map(|child| vec![*child]).collect()
        } else {
            columns(protocol, state)
        };
        let gap = if protocol.is_parallel(state) { 14.0 } else { GAP_X };
        let (mut x, mut top, mut bottom, mut right) = (PADDING * 2.0, head + PADDING, head, 0.0f64);
        for column in columns {
            column.iter().for_each(|child| measure(protocol, *child, places));
            let widest = column.iter().map(|child| places[*child].width).fold(0.0, f64::max);
            if x > PADDING * 2.0 && x + widest > MAX_WIDTH {
                (x, top) = (PADDING * 2.0, bottom + GAP_Y);
            }
            let mut y = top;
            for child in column {
                (places[child].x, places[child].y) = (x, y);
                y += places[child].height + GAP_Y;
            }
            bottom = bottom.max(y - GAP_Y);
            right = right.max(x + widest);
            x += widest + gap;
        }
        width = width.max(right + PADDING * 2.0);
        height = bottom + PADDING * 2.0;
    }
    let (x, y) = (places[state].x, places[state].y);
    places[state] = Place { x, y, width, height, lines };
    if protocol.is_parallel(state) {
        align(&protocol.states[state].children, places);
    }
}

/// Makes regions in one row equally high, regions below each other equally wide.
fn align(regions: &[StateId], places: &mut [Place]) {
    let is_row = regions.iter().all(|region| places[*region].y == places[regions[0]].y);
    let is_column = regions.iter().all(|region| places[*region].x == places[regions[0]].x);
    let greatest =
        |size: &dyn Fn(&Place) -> f64| regions.iter().map(|region| size(&places[*region])).fold(0.0, f64::max);
    let (width, height) = (greatest(&|place| place.width), greatest(&|place| place.height));
    for &region in regions {
        if is_row {
            places[region].height = height;
        }
        if is_column {
            places[region].width = width;
        }
    }
}

fn line_letters(protocol: &Protocol, line: &TextLine) -> usize {
    let messages: usize =
        line.edges.iter().map(|edge| protocol.messages[protocol.edges[*edge].message].name.len() + 2).sum();
    messages + line.consequence.as_ref().map_or(0, |text| text.chars().count())
}

fn text_lines(protocol: &Protocol, row: &Row) -> Vec<TextLine> {
    let mut lines: Vec<TextLine> = Vec::new();
    let mut length = MAX_LETTERS;
    for edge in &row.edges {
        let letters = protocol.messages[protocol.edges[*edge].message].name.len() + 2;
        match lines.last_mut().filter(|_| length + letters <= MAX_LETTERS) {
            Some(line) => line.edges.push(*edge),
            None => {
                lines.push(TextLine { edges: vec![*edge], consequence: None, target: None });
                length = 0;
            }
        }
        length += letters;
    }
    if let Some(last) = lines.last_mut() {
        last.consequence = Some(consequence(protocol, row));
        last.target = row.target;
    }
    lines
}

/// The children of a superstate in columns: each as far right as it is many edges from the initial child; tall columns
/// are split.
fn columns(protocol: &Protocol, state: StateId) -> Vec<Vec<StateId>> {
    let children = &protocol.states[state].children;
    let child_of = |inner: StateId| protocol.outwards(inner).find(|outer| children.contains(outer));
    let mut next: BTreeMap<StateId, BTreeSet<StateId>> = BTreeMap::new();
    for edge in &protocol.edges {
        if let (Some(from), Some(to)) = (child_of(edge.source), edge.target.and_then(child_of)) {
            next.entry(from).or_default().insert(to);
        }
    }
    let mut distance: BTreeMap<StateId, usize> =
        protocol.states[state].initial.map(|one| (one, 0)).into_iter().collect();
    let mut work: Vec<StateId> = distance.keys().copied().collect();
    let mut at = 0;
    while let Some(&here) = work.get(at) {
        at += 1;
        for &to in next.get(&here).into_iter().flatten() {
            if !distance.contains_key(&to) {
                distance.insert(to, distance[&here] + 1);
                work.push(to);
            }
        }
    }
    let last = distance.values().max().copied().unwrap_or(0);
    let mut columns: Vec<Vec<StateId>> = vec![Vec::new(); last + 2];
    for &child in children {
        columns[distance.get(&child).copied().unwrap_or(last + 1)].push(child);
    }
    columns.retain(|column| !column.is_empty());
    // Few wide columns of one state each make a long picture: two short neighbours share a column.
    let mut packed: Vec<Vec<StateId>> = Vec::new();
    for column in columns {
        let simple = |column: &Vec<StateId>| column.iter().all(|child| protocol.is_leaf(*child));
        match packed.last_mut() {
            Some(before) if before.len() + column.len() <= 2 && simple(before) && simple(&column) => {
                before.extend(column)
            }
            _ => packed.push(column),
        }
    }
    packed
}

/// From places relative to what is around to places in the picture.
fn shift(protocol: &Protocol, state: StateId, places: &mut [Place], x: f64, y: f64) {
    places[state].x += x;
    places[state].y += y;
    let (x, y) = (places[state].x, places[state].y);
    for &child in &protocol.states[state].children {
        shift(protocol, child, places, x, y);
    }
}
