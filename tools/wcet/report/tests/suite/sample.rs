//! A report with something in every field.

use wcet_report::*;

fn context(function: &str, address: &str, caller: Option<usize>) -> Context {
    let call_site = caller.map(|_| "0x1010".to_string());
    Context { function: function.into(), address: address.into(), caller, call_site }
}

fn step(function: &str, address: &str, context: usize, count: u64, cycles: u64) -> Step {
    let source = Some("/src/main.c:12".to_string());
    Step { function: function.into(), address: address.into(), source, context, count, cycles, first_misses: 0 }
}

fn block(address: &str) -> Block {
    let instruction = |source: Option<&str>| Instruction {
        address: address.into(),
        text: "cmp r0, #1 <x>".into(),
        source: source.map(str::to_string),
        source_text: source.map(|_| "    if (a < b && c)".to_string()),
    };
    Block { address: address.into(), instructions: vec![instruction(Some("/src/main.c:12")), instruction(None)] }
}

/// A bound of 1000 cycles: `main` calls `copy` twice, the second time through `move`.
pub fn bounded() -> Report {
    let contexts = vec![
        context("main", "0x1000", None),
        context("copy", "0x2000", Some(0)),
        context("move", "0x3000", Some(0)),
        context("copy", "0x2000", Some(2)),
    ];
    let mut first = step("main", "0x1000", 0, 1, 100);
    first.first_misses = 60;
    let path = vec![
        first,
        step("copy", "0x2000", 1, 10, 300),
        step("main", "0x1020", 0, 1, 50),
        step("move", "0x3000", 2, 1, 50),
        step("copy", "0x2000", 3, 20, 450),
        step("main", "0x1040", 0, 1, 50),
    ];
    let code = ["0x1000", "0x2000", "0x1020", "0x3000", "0x1040"].map(block).to_vec();
    let found = Loop {
        function: "copy".into(),
        address: "0x2000".into(),
        source: Some("/src/main.c:12".into()),
        bound: Some(20),
        evidence: Some(Evidence::Inferred),
        detail: Some("r1 counts from 0 by 1 while less than 20".into()),
        contexts: vec![LoopContext { calls: vec!["main".into(), "copy".into()], bound: Some(10), evidence: None }],
        ..Loop::default()
    };
    let edge = Branch { function: "main".into(), from: "0x101c".into(), to: "0x1020".into(), ..Branch::default() };
    let mut report = Report {
        version: VERSION,
        verdict: Verdict::Bounded,
        wcet_cycles: Some(1000),
        seconds: Some(0.000_002),
        budget: Some(Budget { text: "50us".into(), cycles: 25_000, slack_cycles: Some(24_000), met: true }),
        loops: vec![found],
        infeasible: vec![Infeasible { edges: vec![edge], scope: "main".into(), wcet_cycles: Some(1000) }],
        constraints: vec![Constraint { text: "a conflicts b".into(), validated: true, counterexample: None }],
        path,
        program: Program {
            file: "some program.elf".into(),
            sha256: "ab".repeat(32),
            bytes: 12_345,
            architecture: "ARM".into(),
            entry: "main".into(),
            entry_address: Some("0x1000".into()),
            reached_functions: 3,
            reached_instructions: 99,
            nodes: 12,
        },
        machine: Machine {
            name: "arm1136-kzm".into(),
            about: "a board".into(),
            sha256: "cd".repeat(32),
            clock_hz: Some(500_000_000),
            numbers: vec![Number { instead_of: Some("60".into()), ..number("memory.latency", "80") }],
            sources: vec![Source { name: "thesis".into(), title: "A thesis".into() }],
        },
        assumptions: vec![Assumption { of: "machine".into(), text: "pages are locked in the TLB".into() }],
        contexts,
        code,
        observed: vec![Observed { name: "main".into(), passages: 3, cycles: 900, bound_cycles: 1000 }],
        analysis: Analysis {
            version: "0.1.0".into(),
            command: vec!["ashlar".into(), "timing".into()],
            complete: true,
            path_cycles: Some(1000),
            seconds: 1.5,
            phases: vec![Phase { name: "load".into(), seconds: 0.01, result: "2 segments".into() }],
            refinement: vec![
                Refinement { seconds: 0.5, wcet_cycles: 1200, infeasible: 0 },
                Refinement { seconds: 1.5, wcet_cycles: 1000, infeasible: 1 },
            ],
        },
        explanation: Some(Explanation {
            address: "0x2000".into(),
            symbol: "copy".into(),
            instruction: "ldr r0, [r1]".into(),
            contexts: vec![ExplainedContext {
                calls: vec!["main".into(), "copy".into()],
                reachable: true,
                count: 10,
                block_cycles: 30,
                accesses: vec![ExplainedAccess {
                    kind: "read".into(),
                    target: "0x8000..0x8fff".into(),
                    verdict: "not classified".into(),
                    cycles: 60,
                }],
                loops: vec!["0x2000".into()],
            }],
            ..Explanation::default()
        }),
        regions: Some(vec![Region {
            name: "trap".into(),
            kind: "system call".into(),
            wcet_cycles: Some(1000),
            lock_wait_cycles: Some(123_460),
            ..Region::default()
        }]),
        responses: Some(vec![response(32, "line 0"), response(33, "line 1"), response(40, "timer")]),
        response_loops: Some(vec![ResponseLoop {
            function: "copy".into(),
            address: "0x2000".into(),
            bound: Some(20),
            times: 30,
            cycles: 750,
            region: "trap".into(),
        }]),
        locks: Some(vec![Lock {
            name: "queue".into(),
            members: 3,
            section_cycles: 54_321,
            place: "copy+0x4".into(),
            held_cycles: 61_730,
            wait_cycles: 123_460,
            waits: vec!["device_await".into()],
            ..Lock::default()
        }]),
        lock_wait_cycles: Some(617_300),
        lock_processors: Some(3),
        worst_response_cycles: Some(1000),
        stack_bytes: Some(512),
        ..Report::default()
    };
    summarise(&mut report);
    report
}

fn response(vector: u64, name: &str) -> VectorResponse {
    VectorResponse {
        vector,
        name: name.into(),
        handler: Some("wait <here>".into()),
        cycles: 5_321,
        lock_wait_cycles: [("2".to_string(), 4_444), ("4".to_string(), 13_332)].into(),
        closed_cycles: 3_000,
        closed: vec!["trap".into()],
        service_cycles: 2_000,
        service: "interrupt".into(),
        decision: None,
        handler_cycles: 321,
        handler_regions: vec!["resumed thread".into()],
    }
}

fn number(place: &str, value: &str) -> Number {
    Number { place: place.into(), value: value.into(), source: "thesis 4.5.1".into(), instead_of: None }
}

/// A refusal whose texts would be markup, formulas or line ends if they were not quoted.
pub fn refused() -> Report {
    let error = Error {
        code: "ASH-T003".into(),
        address: Some("0x1000".into()),
        symbol: Some("<script>alert(1)</script>".into()),
        source: Some("/a dir/=main.c:7".into()),
        message: "=the jump, \"here\",\nmay go anywhere".into(),
        remedy: "state its targets: --targets 0x1000=SYMBOL".into(),
    };
    let unbounded = Error {
        code: "ASH-T016".into(),
        address: Some("0x1004".into()),
        symbol: Some("</table>".into()),
        message: "this loop has no bound".into(),
        ..Error::default()
    };
    let open = Loop {
        function: "</table>".into(),
        address: "0x1004".into(),
        reason: Some("a counter in memory that anyone may write".into()),
        least_fact: Some("r0 <= N at 0x1004".into()),
        ..Loop::default()
    };
    let program = Program { file: "a&b.elf".into(), entry: "main".into(), ..Program::default() };
    Report { version: VERSION, errors: vec![error, unbounded], loops: vec![open], program, ..Report::default() }
}
