//! A trace keeps to the Trace Event Format as Chrome's developers published it ("Trace Event Format", JSON object form), of which there
//! is no schema for machines: what it says of the kinds of events that are used here is looked at one by one.

mod common;

use common::{at, late, names};
use serde_json::Value;
use std::collections::BTreeMap;
use trace::jobs::Job;
use trace::{chrome, What};

/// Fields by kind of event; a field with `?` may be missing.
const FIELDS: &[(&str, &[&str])] = &[
    ("X", &["name", "ph", "pid", "tid", "ts", "dur", "args?"]),
    ("i", &["name", "ph", "pid", "tid", "ts", "s"]),
    ("M", &["name", "ph", "pid", "tid?", "args"]),
];

/// What is wrong with an event.
fn fault(event: &Value) -> Option<String> {
    let Some(object) = event.as_object() else { return Some("no object".into()) };
    let kind = event["ph"].as_str().unwrap_or_default();
    let Some((_, fields)) = FIELDS.iter().find(|(name, _)| *name == kind) else { return Some(format!("kind {kind}")) };
    if let Some(field) = fields.iter().find(|field| !field.ends_with('?') && !object.contains_key(**field)) {
        return Some(format!("no {field}"));
    }
    if let Some(field) = object.keys().find(|key| !fields.iter().any(|field| field.trim_end_matches('?') == *key)) {
        return Some(format!("{field} means nothing there"));
    }
    let is_good = |(field, value): (&String, &Value)| match field.as_str() {
        "name" => value.as_str().is_some_and(|name| !name.is_empty()),
        "pid" | "tid" => value.is_u64(),
        // Microseconds, with fractions.
        "ts" | "dur" => value.as_f64().is_some_and(|time| time >= 0.0 && time.is_finite()),
        "s" => ["g", "p", "t"].iter().any(|scope| value == scope),
        "args" => value.is_object(),
        _ => true,
    };
    if let Some((field, value)) = object.iter().find(|(field, value)| !is_good((field, value))) {
        return Some(format!("{field} is {value}"));
    }
    let is_name = ["process_name", "thread_name"].iter().any(|name| event["name"] == *name);
    let is_named = kind != "M" || (is_name && event["args"]["name"].is_string());
    (!is_named).then(|| "metadata without a name".into())
}

#[test]
fn every_event_has_what_its_kind_asks_for() {
    let mut events = late();
    events.extend([
        at(310, 0, What::GuestEntry { vm: 0 }),
        at(320, 0, What::GuestExit { reason: 1 }),
        at(330, 0, What::Call { number: 7 }),
        at(331, 0, What::Message { receiver: 17 }),
        at(332, 0, What::Spent { thread: 16 }),
        at(333, 0, What::Period { thread: 16 }),
        at(334, 0, What::Fault { vector: 14 }),
        at(400, 0, What::Switch { thread: 0 }),
    ]);
    let late = Job { thread: 16, began: 200, ended: 290 };
    let trace = chrome::trace(&events, &names(), 2, 3, &[(&late, 50)]);
    assert!(trace["displayTimeUnit"] == "ns" && trace["otherData"].is_object());
    let all = trace["traceEvents"].as_array().unwrap();
    for event in all {
        assert_eq!(fault(event), None, "{event}");
    }
    for kind in ["X", "i", "M"] {
        assert!(all.iter().any(|event| event["ph"] == kind), "there is no event of kind {kind}");
    }
    // Spans of one row do not overlap in part: a later one begins after the earlier has ended, or ends before it.
    let mut rows: BTreeMap<(u64, u64), Vec<(f64, f64)>> = BTreeMap::new();
    for event in all.iter().filter(|event| event["ph"] == "X") {
        let [begin, length] = ["ts", "dur"].map(|field| event[field].as_f64().unwrap());
        let row = ["pid", "tid"].map(|field| event[field].as_u64().unwrap());
        rows.entry((row[0], row[1])).or_default().push((begin, begin + length));
    }
    for (row, slices) in rows {
        for (a, b) in slices.iter().flat_map(|a| slices.iter().map(move |b| (a, b))).filter(|(a, b)| a.0 < b.0) {
            assert!(b.0 >= a.1 || b.1 <= a.1, "in row {row:?} {b:?} begins in {a:?} and does not end there");
        }
    }
}

#[test]
fn a_fault_is_seen() {
    let good = serde_json::json!({"name": "a", "ph": "X", "pid": 1, "tid": 2, "ts": 1.5, "dur": 0.5});
    assert_eq!(fault(&good), None);
    let faults = [
        ("ph", "Q".into()),
        ("ts", Value::Null),
        ("ts", (-1.0).into()),
        ("dur", "1".into()),
        ("pid", 1.5.into()),
        ("name", "".into()),
        ("s", "t".into()),
        ("args", 3.into()),
    ];
    for (field, value) in faults {
        let mut bad = good.clone();
        bad[field] = value;
        assert!(fault(&bad).is_some(), "{bad}");
    }
}
