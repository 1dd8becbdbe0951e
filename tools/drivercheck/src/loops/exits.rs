//! A path of the summarised program in terms of the program itself, and the exits by which a run may leave a loop on it.

use crate::loops::summary::Summarised;
use crate::program::{Op, Program};
use std::ops::Range;

/// Bounds on the edges of an exit path and on the number of exits.
const MOST_EXIT: usize = 12;
const MOST_EXITS: usize = 16;
/// A path: edges of a program that was made from another; of the last edge, the first `last` steps.
#[derive(Clone, Copy)]
pub struct Path<'a> {
    pub program: &'a Program,
    pub edges: &'a [usize],
    pub last: usize,
}

/// Edges that lead out of a loop, with their steps. They replace the path's edges before `end`.
pub struct Exit {
    pub pieces: Vec<(usize, Range<usize>)>,
    pub end: usize,
}

impl Path<'_> {
    /// The steps of an edge of the path, in the program itself.
    pub fn piece(&self, at: usize) -> (usize, Range<usize>) {
        let edge = &self.program.edges[self.edges[at]];
        let count = if at + 1 == self.edges.len() { self.last.min(edge.steps.len()) } else { edge.steps.len() };
        (edge.origin.0, edge.origin.1..edge.origin.1 + count)
    }

    pub fn target(&self, at: usize) -> usize {
        self.program.edges[self.edges[at]].to
    }

    /// The exits of a loop, or the entries of a loop inside it: the path's own, then others to the same place with the same
    /// messages. Inside the loop there is no message that matters.
    pub fn exits(&self, summarised: &Summarised, base: &Program, at: usize, head: usize) -> Vec<Exit> {
        let heads = &summarised.heads;
        let nodes = &heads[&head];
        let mut end = at + 1;
        while end < self.edges.len() {
            let to = self.target(end);
            end += 1;
            if !nodes.contains(&to) || heads.contains_key(&to) {
                break;
            }
        }
        let own: Vec<(usize, Range<usize>)> = (at + 1..end).map(|next| self.piece(next)).collect();
        let last = own.last().cloned();
        let mut all = vec![Exit { pieces: own, end }];
        let Some((last, steps)) = last else { return all };
        let to = base.edges[last].to;
        if steps.end != base.edges[last].steps.len() || to != self.target(end - 1) {
            return all;
        }
        let messages = |edge: usize| {
            let all = base.edges[edge].steps.iter().map(|step| &step.op);
            all.filter(|op| !matches!(op, Op::Assign(..) | Op::Havoc(_) | Op::Assume(_))).collect::<Vec<_>>()
        };
        let leaving = |node: usize| (0..base.edges.len()).filter(move |edge| base.edges[*edge].from == node);
        let wanted = messages(last);
        let mut work = vec![(head, Vec::new())];
        while let Some((node, path)) = work.pop() {
            for edge in leaving(node) {
                let next = base.edges[edge].to;
                let mut path: Vec<usize> = path.clone();
                path.push(edge);
                if next == to && messages(edge) == wanted {
                    let pieces: Vec<_> = path.into_iter().map(|edge| (edge, 0..base.edges[edge].steps.len())).collect();
                    if pieces != all[0].pieces {
                        all.push(Exit { pieces, end });
                    }
                } else if nodes.contains(&next) && !heads.contains_key(&next) && path.len() < MOST_EXIT {
                    work.push((next, path));
                }
            }
            if all.len() > MOST_EXITS {
                break;
            }
        }
        all
    }
}
