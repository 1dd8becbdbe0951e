//! A trace keeps to the Trace Event Format as Chrome's developers published it ("Trace Event Format", JSON object form), of which they
//! have no schema for machines: the book's says what it says of the kinds of events that are used here.

mod common;

use common::{at, late, names};
use schema::Schema;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::path::Path;
use trace::jobs::Job;
use trace::{chrome, What};

/// The published schema of the file.
fn schema() -> Schema {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/reference/schemas/trace-file.schema.json");
    Schema::read(&path).unwrap()
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
    assert_eq!(schema().check(&trace), Ok(()));
    let all = trace["traceEvents"].as_array().unwrap();
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
    let schema = schema();
    let trace = |event: &Value| json!({"traceEvents": [event], "displayTimeUnit": "ns", "otherData": {"lost": 0}});
    let span = json!({"name": "a", "ph": "X", "pid": 1, "tid": 2, "ts": 1.5, "dur": 0.5});
    let row = json!({"name": "thread_name", "ph": "M", "pid": 1, "tid": 2, "args": {"name": "CPU 2"}});
    let moment = json!({"name": "fault 14", "ph": "i", "s": "t", "pid": 1, "tid": 2, "ts": 7});
    let faults: [(&Value, &[(&str, Value)]); 3] = [
        (
            &span,
            &[
                ("ph", "Q".into()),
                ("ts", Value::Null),
                ("ts", (-1.0).into()),
                ("dur", "1".into()),
                ("pid", 1.5.into()),
                ("pid", 3.into()),
                ("name", "".into()),
                ("s", "t".into()),
                ("args", 3.into()),
            ],
        ),
        (&row, &[("name", "row".into()), ("args", json!({})), ("ts", 1.into()), ("tid", Value::Null)]),
        (&moment, &[("s", "q".into()), ("dur", 1.into()), ("tid", (-1).into())]),
    ];
    for (good, changes) in faults {
        assert_eq!(schema.check(&trace(good)), Ok(()));
        for (field, value) in changes {
            let mut bad = good.clone();
            bad[*field] = value.clone();
            assert!(schema.check(&trace(&bad)).is_err(), "{bad}");
        }
        for field in good.as_object().unwrap().keys() {
            let mut bad = good.clone();
            bad.as_object_mut().unwrap().remove(field);
            assert!(schema.check(&trace(&bad)).is_err(), "{bad}");
        }
    }
    let mut silent = trace(&span);
    silent["otherData"] = json!({});
    assert!(schema.check(&silent).is_err(), "how many events were lost is always said");
}
