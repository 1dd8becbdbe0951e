//! Programs in C, compiled for each instruction set: their contexts, edges and loops.

use std::collections::{BTreeMap, BTreeSet};

use crate::compiled::{compile, flow, graph, TARGETS};
use wcet_binary::load::Program;
use wcet_flow::context::{expand, expand_inside, EdgeKind, Expanded, Options, Problem};
use wcet_flow::Graph;

fn start(program: &Program) -> u64 {
    program.symbol("start").unwrap().address
}

fn expanded<'g>(program: &Program, graph: &'g Graph) -> Expanded<'g> {
    expand(graph, start(program), &Options::default()).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// Contexts of the function.
fn copies(expanded: &Expanded<'_>, name: &str) -> usize {
    expanded.contexts.iter().filter(|context| expanded.graph.functions[&context.function].name == name).count()
}

/// What must hold of every result.
fn check(expanded: &Expanded<'_>) {
    assert_eq!(expanded.entry, 0);
    // Of a loop in the middle of which a region begins, the rest is another copy.
    let same = |from: usize, to: usize| expanded.contexts[from] == expanded.contexts[to];
    for (number, edge) in expanded.edges.iter().enumerate() {
        assert!(expanded.successors(edge.from).contains(&number) && expanded.predecessors(edge.to).contains(&number));
        let back = expanded.loops.iter().any(|one| one.back.contains(&number));
        assert_eq!(back, expanded.is_back(number));
        let (from, to) = (expanded.nodes[edge.from], expanded.nodes[edge.to]);
        match edge.kind {
            EdgeKind::Call => {
                let callee = &expanded.contexts[to.context];
                assert_eq!((callee.caller, to.block), (Some((from.context, from.block)), 0));
            }
            EdgeKind::Return => {
                // The callers of a tail call are done with.
                let mut context = &expanded.contexts[from.context];
                while context.tail {
                    context = &expanded.contexts[context.caller.unwrap().0];
                }
                let (caller, block) = context.caller.unwrap();
                let site = &expanded.function(caller).blocks[block];
                let behind =
                    site.edges.iter().any(|edge| edge.kind == wcet_flow::EdgeKind::Back && edge.to == to.block);
                assert!(behind && same(caller, to.context));
            }
            EdgeKind::Next | EdgeKind::Taken | EdgeKind::Case => assert!(same(from.context, to.context)),
        }
    }
    for (number, one) in expanded.loops.iter().enumerate() {
        assert_eq!(one.nodes[0], one.header);
        for &node in &one.nodes[1..] {
            // Only the header is entered from outside.
            assert!(expanded.predecessors(node).iter().all(|edge| expanded.inside(expanded.edges[*edge].from, number)));
        }
        if let Some(parent) = one.parent {
            assert!(parent < number && one.nodes.iter().all(|node| expanded.inside(*node, parent)));
        }
        assert!(expanded.around(one.header).any(|around| around == number));
    }
}

#[test]
fn a_function_has_a_copy_for_each_call() {
    let source =
        "volatile int sink; __attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sink = i; }
        __attribute__((noinline)) void middle(int n) { leaf(n); leaf(n + 1); sink = 0; }
        int start(int n) { middle(n); leaf(n); middle(3); return sink; }";
    for target in TARGETS {
        let (program, graph) = graph(target, source);
        let expanded = expanded(&program, &graph);
        check(&expanded);
        assert_eq!((copies(&expanded, "middle"), copies(&expanded, "leaf")), (2, 5));
        assert_eq!(expanded.loops.len(), 5);
        assert!(expanded.loops.iter().all(|one| one.parent.is_none() && one.entries.len() == 1));
        let chains: BTreeSet<_> = (0..expanded.contexts.len()).map(|context| expanded.chain(context)).collect();
        assert!(chains.contains(&vec!["start", "middle", "leaf"]) && chains.contains(&vec!["start", "leaf"]));
        assert_eq!(expanded.exits.len(), 1);
        assert_eq!(expanded.nodes[expanded.exits[0]].context, 0);
    }
}

#[test]
fn a_loop_holds_the_nodes_of_its_callees() {
    let source =
        "volatile int sink; __attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sink = i; }
        int start(int n) { for (int i = 0; i < n; i++) { leaf(i); sink = 1; } return sink; }";
    for target in TARGETS {
        let (program, graph) = graph(target, source);
        let expanded = expanded(&program, &graph);
        check(&expanded);
        assert_eq!(expanded.loops.len(), 2);
        assert_eq!(expanded.loops[1].parent, Some(0));
        assert!(expanded.loops[0].nodes.len() > expanded.loops[1].nodes.len() + 1);
        assert_ne!(expanded.loops[0].context, expanded.loops[1].context);
    }
}

#[test]
fn a_tail_call_returns_to_the_callers_caller() {
    let source = "volatile int sink; __attribute__((noinline)) void leaf(int n) { sink = n; sink++; }
        __attribute__((noinline)) void middle(int n) { if (n) leaf(n); else sink = 4; }
        int start(int n) { middle(n); sink = 5; return sink; }";
    for target in TARGETS {
        let (program, graph) = graph(target, source);
        let expanded = expanded(&program, &graph);
        check(&expanded);
        let leaf = expanded.contexts.iter().find(|context| graph.functions[&context.function].name == "leaf").unwrap();
        assert!(leaf.tail);
        assert_eq!(expanded.contexts[leaf.caller.unwrap().0].caller.unwrap().0, 0);
        let back = expanded.edges.iter().filter(|edge| edge.kind == EdgeKind::Return);
        assert!(back.clone().count() >= 2 && back.map(|edge| edge.to).collect::<BTreeSet<_>>().len() == 1);
    }
}

#[test]
fn recursion_is_unrolled_as_deep_as_stated() {
    let source = "volatile int sink; __attribute__((noinline)) int down(int n) { if (!n) return 1; sink = n; return n * down(n - 1) + sink; }
        int start(int n) { return down(n) + 1; }";
    for target in TARGETS {
        let program = compile(target, source);
        let down = program.symbol("down").unwrap().address;
        let recursion = BTreeMap::from([(down, 3)]);
        let stated = wcet_flow::Options { recursion: recursion.clone(), ..Default::default() };
        let graph = flow(&program, &stated).unwrap();
        let options = Options { recursion, ..Options::default() };
        let expanded = expand(&graph, start(&program), &options).unwrap();
        check(&expanded);
        // The call that is made, and three inside it; the deepest one's calls are cut, and lead nowhere.
        assert_eq!(copies(&expanded, "down"), 4, "{target:?}");
        assert_eq!(expanded.cuts.len(), 1);
        assert!(!expanded.exits.contains(&expanded.cuts[0].0));
        // By listed calls alone: the first is no call of itself.
        let mut followed = BTreeSet::new();
        for deep in [1, 2, 3] {
            let options = Options { followed: Some(followed.clone()), ..options.clone() };
            let expanded = expand(&graph, start(&program), &options).unwrap();
            check(&expanded);
            assert_eq!((copies(&expanded, "down"), expanded.cuts.len()), (deep, 1), "{target:?}");
            let (node, callee) = expanded.cuts[0];
            assert!(callee == down && followed.insert(expanded.call_chain(node, callee)));
        }
        let unstated = expand(&graph, start(&program), &Options::default()).map(|_| ()).unwrap_err();
        assert!(matches!(unstated[0].problem, Problem::Recursion { .. }));
    }
}

#[test]
fn a_region_ends_at_a_stop() {
    let source = "volatile int sink; __attribute__((noinline)) void stop(int n) { sink = n; sink++; }
        __attribute__((noinline)) void other(void) { sink = 9; sink++; }
        int start(int n) { sink = 1; stop(n); other(); return sink; }";
    for target in TARGETS {
        let (program, graph) = graph(target, source);
        let stop = program.symbol("stop").unwrap().address;
        let options = Options { stops: BTreeSet::from([stop]), ..Options::default() };
        let expanded = expand(&graph, start(&program), &options).unwrap();
        check(&expanded);
        assert_eq!(copies(&expanded, "other"), 0);
        assert_eq!(expanded.exits.len(), 1);
        assert_eq!(expanded.place(expanded.exits[0]), "stop");
        assert_eq!(expanded.instructions(expanded.exits[0]).len(), 1);
    }
}

#[test]
fn what_is_too_large_or_missing_is_told() {
    let source = "volatile int sink; __attribute__((noinline)) void leaf(int n) { sink = n; }
        __attribute__((noinline)) void two(int n) { leaf(n); leaf(n + 1); sink = 0; }
        __attribute__((noinline)) void four(int n) { two(n); two(n + 1); sink = 0; }
        int start(int n) { four(n); four(n + 1); return sink; }";
    let (program, graph) = graph(TARGETS[0], source);
    let options = Options { limit: 20, ..Options::default() };
    let error = expand(&graph, start(&program), &options).map(|_| ()).unwrap_err().remove(0);
    assert!(matches!(error.problem, Problem::TooLarge { limit: 20, .. }), "{error}");
    let error = expand(&graph, 0x1234, &Options::default()).map(|_| ()).unwrap_err().remove(0);
    assert_eq!(error.problem, Problem::NoFunction);
}

#[test]
fn a_region_inside_loops() {
    const SOURCE: &str = "
        volatile int cell;
        __attribute__((noinline)) int inner(int n) { for (int i = 0; i < n; i++) cell += i; return cell; }
        __attribute__((noinline)) int middle(int n) {
            int sum = 0;
            for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) sum += inner(j);
            return sum;
        }
        int start(int n) { int all = 0; for (int k = 0; k < n; k++) all += middle(k); return all; }";
    for target in TARGETS {
        let (program, graph) = graph(target, SOURCE);
        let whole = expanded(&program, &graph);
        let inner = program.symbol("inner").unwrap().address;
        for context in 0..whole.contexts.len() {
            let chain = |mut context: usize, mut block: usize| {
                let mut chain = vec![(whole.contexts[context].function, block)];
                while let Some(caller) = whole.contexts[context].caller {
                    (context, block) = caller;
                    chain.insert(0, (whole.contexts[context].function, block));
                }
                chain
            };
            for node in (0..whole.nodes.len()).filter(|node| whole.nodes[*node].context == context) {
                let place = whole.nodes[node];
                let part = expand_inside(&graph, &chain(context, place.block), &Options::default()).unwrap();
                check(&part);
                assert_eq!(part.place(part.entry), whole.place(node));
                // Whatever follows in the whole follows in the part: the same places, in the same order.
                let follow = |graph: &Expanded<'_>, from: usize| {
                    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
                    while let Some(node) = open.pop() {
                        for edge in graph.successors(node) {
                            let edge = graph.edges[*edge];
                            if seen.insert((graph.place(edge.from), graph.place(edge.to))) {
                                open.push(edge.to);
                            }
                        }
                    }
                    seen
                };
                assert_eq!(follow(&part, part.entry), follow(&whole, node));
                let open = whole.around(node).count();
                let again = part.loops.iter().filter(|one| part.contexts[one.context].function != inner).count();
                assert!(again >= open.min(3), "{again} of {open}");
            }
        }
    }
}
