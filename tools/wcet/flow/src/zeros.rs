//! Stores of vector registers that hold 0 on every path to them: their instructions say so.

use std::rc::Rc;

use wcet_binary::lift::Lifter;

use crate::graph::Block;

/// Replaces such stores in the blocks of a function. What a callee leaves in a vector register is not known.
pub(crate) fn fold(lifter: &Lifter<'_>, blocks: &mut [Block]) {
    let effects: Vec<Vec<_>> = blocks
        .iter()
        .map(|block| block.instructions.iter().map(|instruction| lifter.vectors(instruction)).collect())
        .collect();
    if !effects.iter().flatten().any(|effect| effect.zeroed != 0) {
        return;
    }
    let behind = |block: &Block, at: usize, before: u32| {
        let after = effects[at].iter().fold(before, |zero, effect| (zero & !effect.written) | effect.zeroed);
        if block.calls.is_empty() && block.tail_calls.is_empty() {
            after
        } else {
            0
        }
    };
    // Registers that hold 0 before each block: all, as long as no path says otherwise; none at the entry.
    let mut zero = vec![u32::MAX; blocks.len()];
    zero[0] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for (at, block) in blocks.iter().enumerate() {
            let after = behind(block, at, zero[at]);
            for edge in &block.edges {
                let met = zero[edge.to] & after;
                changed |= met != zero[edge.to];
                zero[edge.to] = met;
            }
        }
    }
    for (at, block) in blocks.iter_mut().enumerate() {
        let mut now = zero[at];
        for (instruction, effect) in block.instructions.iter_mut().zip(&effects[at]) {
            if effect.stored & now != 0 {
                *instruction = Rc::new(lifter.storing_zero(instruction));
            }
            now = (now & !effect.written) | effect.zeroed;
        }
    }
}
