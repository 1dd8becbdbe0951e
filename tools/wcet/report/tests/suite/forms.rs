//! Every form of a report holds what the report holds, whatever its texts contain.

use std::path::Path;

use wcet_report::*;

#[test]
fn json_is_as_the_schema_says_and_comes_back() {
    let schema = schema::Schema::new(schema()).unwrap();
    for report in [crate::sample::bounded(), crate::sample::refused(), Report::default()] {
        let text = json(&report).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        schema.check(&value).unwrap();
        assert_eq!(from_json(&text).unwrap(), report);
    }
    let mut value = serde_json::to_value(crate::sample::bounded()).unwrap();
    value["wcet_cycles"] = "many".into();
    assert!(schema.check(&value).is_err());
    value = serde_json::to_value(crate::sample::bounded()).unwrap();
    value["something_else"] = 1.into();
    assert!(schema.check(&value).is_err());
}

#[test]
fn the_committed_schema_is_the_one_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/src/reference/schemas/timing.schema.json");
    let committed = std::fs::read_to_string(path).unwrap();
    let command = "cargo run -p wcet-report --example report_schema > ../docs/src/reference/schemas/timing.schema.json";
    assert_eq!(committed, format!("{:#}\n", schema()), "make it anew: {command}");
}

#[test]
fn what_follows_from_the_path_adds_up() {
    let report = crate::sample::bounded();
    let functions: Vec<(&str, u64, u64)> = report
        .functions
        .iter()
        .map(|function| (function.function.as_str(), function.self_cycles, function.total_cycles))
        .collect();
    assert_eq!(functions, [("copy", 750, 750), ("main", 200, 1000), ("move", 50, 500)]);
    assert_eq!(report.functions[0].entered, 30);
    let callees: Vec<(&str, u64)> =
        report.functions[1].callees.iter().map(|callee| (callee.function.as_str(), callee.cycles)).collect();
    assert_eq!(callees, [("move", 500), ("copy", 300)]);
    let bars: Vec<(&str, u64, u64)> =
        report.waterfall.iter().map(|bar| (bar.function.as_str(), bar.start, bar.cycles)).collect();
    assert_eq!(bars, [("main", 0, 100), ("copy", 100, 300), ("main", 400, 50), ("move", 450, 500), ("main", 950, 50)]);
}

/// A wrapper that does nothing by itself is cut at its own calls.
#[test]
fn the_waterfall_looks_into_wrappers() {
    let mut report = crate::sample::bounded();
    report.contexts.insert(0, Context { function: "start".into(), address: "0x10".into(), ..Context::default() });
    for context in &mut report.contexts[1..] {
        context.caller = Some(context.caller.map_or(0, |caller| caller + 1));
    }
    report.path.iter_mut().for_each(|step| step.context += 1);
    summarise(&mut report);
    assert_eq!(report.waterfall.len(), 5);
}

#[test]
fn the_page_is_well_formed_and_needs_nothing_else() {
    for report in [crate::sample::bounded(), crate::sample::refused(), Report::default()] {
        let page = html(&report);
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        let document = roxmltree::Document::parse_with_options(&page, options).unwrap();
        let mut anchors = Vec::new();
        for node in document.descendants().filter(roxmltree::Node::is_element) {
            assert!(!["script", "link", "img", "iframe", "object", "embed", "base", "form"]
                .contains(&node.tag_name().name()));
            for attribute in node.attributes() {
                assert!(!attribute.name().starts_with("on") && attribute.name() != "src", "{}", attribute.name());
                if attribute.name() == "href" {
                    assert!(attribute.value().starts_with('#'), "{}", attribute.value());
                    anchors.push(attribute.value()[1..].to_string());
                }
            }
        }
        let ids: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
        let distinct: std::collections::BTreeSet<&&str> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len(), "each id once");
        assert!(anchors.iter().all(|anchor| ids.contains(&anchor.as_str())), "{anchors:?} {ids:?}");
        let style =
            document.descendants().find(|node| node.has_tag_name("style")).and_then(|node| node.text()).unwrap();
        assert!(!style.contains("url(") && !style.contains("@import"));
        assert!(style.contains("prefers-color-scheme: dark"));
    }
}

#[test]
fn the_picture_has_a_bar_for_each_part_of_the_path() {
    for report in [crate::sample::bounded(), crate::sample::refused(), Report::default()] {
        let text = wcet_report::picture(&report);
        let document = roxmltree::Document::parse(&text).unwrap();
        let bars: Vec<f64> = document
            .descendants()
            .filter(|node| node.has_tag_name("rect") && node.attribute("class") == Some("yellow"))
            .map(|bar| bar.attribute("width").unwrap().parse().unwrap())
            .collect();
        assert_eq!(bars.len(), report.waterfall.len());
        // Of 1000 cycles: 100, 300, 50, 500 and 50.
        assert!(bars.is_empty() || bars == [48.0, 144.0, 24.0, 240.0, 24.0], "{bars:?}");
        assert!(text.contains(&format!("Worst path of {}", report.program.entry)));
    }
}

#[test]
fn the_page_holds_all_parts() {
    let page = html(&crate::sample::bounded());
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(&page, options).unwrap();
    let rows = |id: &str| {
        let section = document.descendants().find(|node| node.attribute("id") == Some(id)).unwrap();
        let body = section.descendants().find(|node| node.has_tag_name("tbody")).unwrap();
        body.children().filter(|node| node.has_tag_name("tr")).count()
    };
    let report = crate::sample::bounded();
    assert_eq!(rows("waterfall"), report.waterfall.len());
    assert_eq!(rows("calls"), report.functions.len());
    assert_eq!(rows("path"), report.path.len());
    assert_eq!(rows("loops"), 1);
    assert_eq!(rows("infeasible"), 1);
    assert_eq!(rows("constraints"), 1);
    assert_eq!(rows("observed"), 1);
    assert_eq!(rows("regions"), 1);
    // Those that differ in their vector alone are one row.
    assert_eq!(rows("responses"), 2);
    assert_eq!(rows("response-loops"), 1);
    assert_eq!(rows("locks"), 1);
    assert_eq!(rows("parameters"), 1);
    let text: String = document.descendants().filter_map(|node| node.text()).collect();
    for wanted in [
        "at most 1,000 cycles (2.000 µs)",
        "24,000 cycles to spare",
        "pages are locked in the TLB",
        "if (a < b && c)",
        "cmp r0, #1 <x>",
        &"ab".repeat(32),
        "instead of 60",
        "60 for first misses",
        "queue (3)",
        "copy+0x4",
        "54,321",
        "61,730",
        "123,460",
        "device_await",
        "Waits for locks among 3 processors, to be added: 617,300 cycles",
    ] {
        assert!(text.contains(wanted), "{wanted}");
    }
}

#[test]
fn csv_has_a_row_for_each_thing() {
    let table = csv(&crate::sample::bounded());
    let lines: Vec<&str> = table.split("\r\n").collect();
    assert_eq!(lines[0], "kind,function,address,source,cycles,count,evidence,detail");
    assert_eq!(lines[1], "bound,main,0x1000,,1000,,,\"at most 1,000 cycles (2.000 µs)\"");
    assert!(lines.iter().any(|line| line.starts_with("loop,copy,0x2000,/src/main.c:12,,20,inferred,")));
    assert_eq!(lines.iter().filter(|line| line.starts_with("function,")).count(), 3);
    assert_eq!(lines.iter().filter(|line| line.starts_with("response,")).count(), 3);
    assert!(table.contains("response loop,copy,0x2000,,750,20,,trap"));
    assert!(table.contains("lock,queue,copy+0x4,,54321,3,,\"held 61730 cycles with waits for others, 123460 waited"));
    let refused = csv(&crate::sample::refused());
    assert!(
        refused.contains("\"'=the jump, \"\"here\"\",\nmay go anywhere; state its targets: --targets 0x1000=SYMBOL\"")
    );
    assert!(refused.starts_with("kind,") && refused.contains("\r\nbound,main,,,,,,no bound: 2 errors\r\n"));
}

#[test]
fn sarif_has_a_result_for_each_finding() {
    assert_eq!(sarif(&crate::sample::bounded())["runs"][0]["results"].as_array().unwrap().len(), 0);
    let refused = sarif(&crate::sample::refused());
    let results = refused["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["ruleId"], "ASH-T003");
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "file:///a%20dir/%3Dmain.c");
    assert_eq!(place["region"]["startLine"], 7);
    assert_eq!(results[1]["ruleId"], "ASH-T016");
    assert_eq!(results[1]["locations"][0]["physicalLocation"]["address"]["absoluteAddress"], 0x1004);
    let rules = refused["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 2);
    let mut late = crate::sample::bounded();
    late.verdict = Verdict::Late;
    late.budget = Some(Budget { text: "900 cycles".into(), cycles: 900, slack_cycles: Some(-100), met: false });
    let late = sarif(&late);
    let text = late["runs"][0]["results"][0]["message"]["text"].as_str().unwrap();
    assert_eq!(text, "at most 1,000 cycles (2.000 µs); budget 900 cycles (900 cycles): missed by 100 cycles");
}

#[test]
fn a_refusal_shows_no_number() {
    let text = human(&crate::sample::refused());
    assert!(text.starts_with("main on : no bound: 2 errors\n"), "{text}");
    assert!(text.contains("error[ASH-T003] 0x1000") && text.contains("help: state its targets"));
    assert!(!text.contains("at most"));
    let text = human(&crate::sample::bounded());
    assert!(text.starts_with("main on arm1136-kzm: at most 1,000 cycles (2.000 µs)\n"), "{text}");
    assert!(text.contains("0x2000 copy  ldr r0, [r1]") && text.contains("read of 0x8000..0x8fff"));
    assert!(!text.contains("1 loop"), "an explanation alone");
    let text = human(&Report { explanation: None, ..crate::sample::bounded() });
    assert!(text.contains("1 loop, 1 bounded") && text.contains("inferred"));
    assert!(text.contains("waits for locks among 3 processors, to be added: 617,300 cycles"), "{text}");
    let row = text.lines().find(|line| line.contains("queue (3)")).unwrap();
    assert!(["54,321", "61,730", "123,460", "copy+0x4"].iter().all(|part| row.contains(part)), "{row}");
    let row = text.lines().find(|line| line.contains("32 to 33 line: wait <here>")).unwrap();
    assert!(["5,321", "2,000", "321", "4,444 among 2, 13,332 among 4"].iter().all(|part| row.contains(part)), "{row}");
    let without = Report { explanation: None, locks: None, responses: None, ..crate::sample::bounded() };
    let unknown = human(&Report { lock_wait_cycles: None, ..without });
    assert!(!unknown.contains("lock kind") && !unknown.contains("waits for locks"), "{unknown}");
}
