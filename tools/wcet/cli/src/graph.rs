//! Writes a control-flow graph for people.

use wcet_binary::lift::il::Kind;
use wcet_binary::lift::Lifter;
use wcet_binary::load::Lines;
use wcet_flow::{EdgeKind, Function, Graph};

pub fn print(graph: &Graph, lifter: &Lifter<'_>, lines: &Lines, with_blocks: bool) {
    let place = |address| lines.place(address).map(|place| format!("  {place}")).unwrap_or_default();
    for function in graph.functions.values() {
        let never = if function.returns { "" } else { ", never returns" };
        let count = function.blocks.len();
        println!(
            "{} at {:#x}: {count} blocks, {} loops{never}{}",
            function.name,
            function.entry,
            function.loops.len(),
            place(function.entry)
        );
        let callees: Vec<String> =
            graph.callees(function.entry).iter().map(|callee| lifter.program().describe(*callee)).collect();
        if !callees.is_empty() {
            println!("    calls {}", callees.join(", "));
        }
        for found in &function.loops {
            let header = function.blocks[found.header].start();
            let indent = "    ".repeat(found.depth);
            println!("{indent}loop at {header:#x}, {} blocks{}", found.blocks.len(), place(header));
        }
        if with_blocks {
            print_blocks(function, lifter, lines);
        }
    }
    print_sum(graph);
    graph.assumptions.iter().for_each(|assumption| println!("assumed: {assumption}"));
}

fn print_blocks(function: &Function, lifter: &Lifter<'_>, lines: &Lines) {
    for (index, block) in function.blocks.iter().enumerate() {
        println!("    block {index}");
        let mut before = None;
        for instruction in &block.instructions {
            let place = lines.place(instruction.address);
            let shown = place.as_ref().filter(|_| place != before).map(|place| format!("    ; {place}"));
            println!("        {:#x}  {}{}", instruction.address, lifter.text(instruction), shown.unwrap_or_default());
            before = place;
        }
        for edge in &block.edges {
            let how = match edge.kind {
                EdgeKind::Next => "",
                EdgeKind::Taken => ", taken",
                EdgeKind::Case => ", by the jump's table",
                EdgeKind::Back => ", after the call",
            };
            println!("        -> block {}{how}", edge.to);
        }
    }
}

fn print_sum(graph: &Graph) {
    let functions = || graph.functions.values();
    let blocks = || functions().flat_map(|function| &function.blocks);
    let instructions = || blocks().flat_map(|block| &block.instructions);
    let edges: usize = blocks().map(|block| block.edges.len()).sum();
    let waits = instructions().filter(|instruction| instruction.kind == Kind::Wait).count();
    let system = instructions().filter(|instruction| instruction.kind == Kind::System).count();
    println!(
        "{} functions, {} blocks, {edges} edges, {} loops, {} instructions ({system} of the system, {waits} that wait)",
        functions().count(),
        blocks().count(),
        functions().map(|function| function.loops.len()).sum::<usize>(),
        instructions().count(),
    );
}
