//! Results of tests as JUnit XML, which continuous integration services read.

use crate::results::TestOutcome;
use std::fmt::Write;

/// One suite with a case for each test.
pub fn xml(results: &[TestOutcome], seconds: f64) -> String {
    let count = |outcome: &str| results.iter().filter(|one| one.outcome == outcome).count();
    let (failed, skipped) = (count("failed"), count("skipped"));
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<testsuites>\n<testsuite name=\"ashlar\" tests=\"{}\" failures=\"{failed}\" skipped=\"{skipped}\" errors=\"0\" \
         time=\"{seconds:.3}\">",
        results.len()
    );
    for one in results {
        let _ =
            write!(out, "<testcase name=\"{}\" classname=\"ashlar\" time=\"{:.3}\"", escaped(&one.name), one.seconds);
        let why = escaped(one.why.as_deref().unwrap_or_default());
        let first = why.lines().next().unwrap_or_default();
        let _ = match one.outcome {
            "failed" => writeln!(out, "><failure message=\"{first}\">{why}</failure></testcase>"),
            "skipped" => writeln!(out, "><skipped message=\"{first}\"/></testcase>"),
            _ => writeln!(out, "/>"),
        };
    }
    out + "</testsuite>\n</testsuites>\n"
}

/// As text or an attribute's value. XML 1.0 has no place for control characters, which consoles do print.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ if character.is_control() => out.push('\u{fffd}'),
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_consoles_print_is_escaped() {
        let one = |name: &str, outcome, why: Option<&str>| TestOutcome {
            name: name.into(),
            outcome,
            seconds: 1.5,
            why: why.map(String::from),
        };
        let results = [
            one("a", "passed", None),
            one("b", "failed", Some("said <x> & \"y\"\n\u{1b}[0m\u{0}")),
            one("c", "skipped", Some("no tool")),
        ];
        let xml = xml(&results, 3.0);
        assert!(xml.contains("tests=\"3\" failures=\"1\" skipped=\"1\" errors=\"0\" time=\"3.000\""), "{xml}");
        assert!(xml.contains("<testcase name=\"a\" classname=\"ashlar\" time=\"1.500\"/>"), "{xml}");
        let failure = "<failure message=\"said &lt;x&gt; &amp; &quot;y&quot;\">said &lt;x&gt; &amp; &quot;y&quot;\n";
        assert!(xml.contains(failure) && !xml.contains(['\u{1b}', '\u{0}']), "{xml}");
        assert!(xml.contains("<skipped message=\"no tool\"/>"), "{xml}");
    }
}
