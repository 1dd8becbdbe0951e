//! The page about a run.

mod common;

use common::{late, names, RECEIVE};
use trace::jobs::kept;
use trace::latency::waits;
use trace::report::{html, Recorded};
use trace::{Event, Names};

/// A client that misses one of two deadlines, as a server has the processor.
fn late_client() -> String {
    let events: Vec<Event> = late().into_iter().map(|event| Event { when: event.when * 1000, ..event }).collect();
    let deadlines = [(16, 30_000)].into();
    let kept = kept(&events, &deadlines, &[RECEIVE]);
    let waits = waits(&events);
    html(&Recorded {
        system: "a <b>",
        events: &events,
        lost: 3,
        names: &names(),
        cpus: 1,
        deadlines: &deadlines,
        kept: &kept,
        bounds: &[(16, 80_000)].into(),
        waits: &waits,
        wait_bounds: &[(16, 1)].into(),
        unit: "ns",
    })
}

/// The page looks as it did when it was looked at in a browser. If it is to look different, look at the new one, and put it in
/// the old one's place.
#[test]
fn the_page_is_the_known_one() {
    let (page, known) = (late_client(), include_str!("known/report.html"));
    let place = std::env::temp_dir().join("ashlar-report.html");
    if page != known {
        std::fs::write(&place, &page).expect("there is room for a page");
    }
    let at = page.lines().zip(known.lines()).position(|(new, old)| new != old);
    assert!(
        page == known,
        "{}: line {:?} is not that of tests/known/report.html",
        place.display(),
        at.map(|at| at + 1)
    );
}

#[test]
fn the_page_shows_each_missed_deadline() {
    let page = late_client();
    assert!(page.contains("<h1>a &lt;b&gt;: what ran when</h1>") && page.contains("14 events, 3 lost"), "{page}");
    assert_eq!(page.matches("<h3 id=\"missed-").count(), 1);
    assert!(
        page.contains(
            "<td>client</td><td>30000</td><td>2</td><td>90000</td><td class=\"bad\">1</td><td class=\"bad\">80000</td>"
        ),
        "{page}"
    );
    assert!(page.contains("<svg class=\"histogram\"") && page.contains("<title>bound 1</title>"), "{page}");
    // Of 305 us and 1000 columns, the server has those from 120 to 270.
    let server = "<rect class=\"c1\" x=\"463\" y=\"0\" width=\"492\" height=\"26\">";
    assert!(page.contains(server), "{page}");
}

#[test]
fn nothing_recorded_is_a_page_too() {
    let (deadlines, kept) = ([].into(), [].into());
    let names = Names::default();
    let page = html(&Recorded {
        system: "s",
        events: &[],
        lost: 0,
        names: &names,
        cpus: 2,
        deadlines: &deadlines,
        kept: &kept,
        bounds: &[].into(),
        waits: &[].into(),
        wait_bounds: &[].into(),
        unit: "ns",
    });
    assert!(page.contains("0 events") && page.ends_with("</html>\n"));
}
