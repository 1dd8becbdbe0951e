//! Generated files: the C compiles without a warning, the monitor follows the automaton on random runs, right and wrong;
//! JSON and SVG are well formed.

use crate::common;
use protocol::decompose::choose;
use protocol::generate::statechart::{statechart, Highlight};
use protocol::generate::{files, header::mailbox, File};
use protocol::model::{Cookie, Message};
use protocol::Checked;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testing::Random;

// The verdicts of `ashlar/monitor.h`.
const OK: u32 = 0;
const RULE_1: u32 = 1;
const RULE_3: u32 = 2;
const RULE_5: u32 = 3;
const UNKNOWN: u32 = 4;
const PAYLOAD: u32 = 5;
const COOKIE: u32 = 6;
const DRAINED: u32 = 7;

fn generated(checked: &Checked) -> Vec<File> {
    files(checked, &choose(&checked.flat.automaton), "protocols/some.proto")
}

fn write(checked: &Checked) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("protocol-{}-{}", checked.protocol.name, std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for file in generated(checked) {
        std::fs::write(folder.join(file.name), file.text).expect("written");
    }
    folder
}

/// Compiles a protocol's monitor with the program that follows it.
fn compile(checked: &Checked) -> PathBuf {
    let name = &checked.protocol.name;
    let folder = write(checked);
    let program = folder.join("follow");
    let status = Command::new("gcc")
        .args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"])
        .args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
        .arg(format!("-DPROTOCOL={name}_protocol"))
        .arg(format!("-DWORDS={}_MONITOR_WORDS", name.to_uppercase()))
        .arg(format!("-DPROTOCOL_HEADER=\"{name}_protocol.h\""))
        .arg("-I")
        .arg(common::root().join("user/include"))
        .arg("-I")
        .arg(&folder)
        .arg(common::root().join("user/runtime/monitor.c"))
        .arg(folder.join(format!("{name}_monitor.c")))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/monitor/follow.c"))
        .arg("-o")
        .arg(&program)
        .status()
        .expect("gcc runs");
    assert!(status.success(), "{name} does not compile");
    program
}

/// What the monitor should say, kept apart from the tables: the automaton's state and the open cookies.
struct Model<'a> {
    checked: &'a Checked,
    state: usize,
    open: Vec<BTreeSet<u64>>,
}

impl Model<'_> {
    fn step(&mut self, id: usize, incoming: bool, cookie: u64, is_payload_good: bool) -> u32 {
        let protocol = &self.checked.protocol;
        let message = &protocol.messages[id];
        if message.incoming != incoming {
            return UNKNOWN;
        }
        let Some(next) = self.checked.flat.automaton.states[self.state].next[id] else { return RULE_1 };
        if !is_payload_good {
            return PAYLOAD;
        }
        if message.drained.iter().any(|request| !self.open[*request].is_empty()) {
            return DRAINED;
        }
        if let Some((does, request)) = message.cookie {
            let is_open = self.open[request].contains(&cookie);
            if cookie >= protocol.requests[request].limit || is_open == (does == Cookie::Opens) {
                return COOKIE;
            }
            match does {
                Cookie::Opens => self.open[request].insert(cookie),
                Cookie::Closes => self.open[request].remove(&cookie),
                Cookie::Names => false,
            };
        }
        message.drops.iter().for_each(|request| self.open[*request].clear());
        self.state = next;
        OK
    }
}

/// A payload in range, or with one field out of it where that is possible.
fn payload(message: &Message, random: &mut Random, should_be_good: bool) -> (String, bool) {
    let mut bytes = [0u8; 40];
    let mut is_good = true;
    let bounded: Vec<usize> = (0..message.fields.len()).filter(|field| message.fields[*field].is_bounded()).collect();
    let wrong = (!should_be_good && !bounded.is_empty()).then(|| bounded[random.below(bounded.len())]);
    for (index, field) in message.fields.iter().enumerate() {
        let width = (field.bits / 8) as usize;
        for element in 0..field.count.unwrap_or(1) as usize {
            let mut value = if random.one_in(2) { field.least } else { field.most };
            if wrong == Some(index) && element == 0 {
                value = if field.least > 0 { field.least - 1 } else { field.most + 1 };
                is_good = false;
            }
            let at = field.offset as usize + element * width;
            bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        }
    }
    (bytes.iter().map(|byte| format!("{byte:02x}")).collect(), is_good)
}

fn follow(checked: &Checked, seed: u64) {
    let mut random = Random(seed);
    let (protocol, automaton) = (&checked.protocol, &checked.flat.automaton);
    let mut model = Model { checked, state: 0, open: vec![BTreeSet::new(); protocol.requests.len()] };
    let (mut input, mut expected) = (String::new(), Vec::new());
    for _ in 0..4000 {
        let verdict = match random.below(20) {
            0 => {
                input.push_str("q\n");
                if automaton.states[model.state].is_final {
                    OK
                } else {
                    RULE_5
                }
            }
            1..=4 => {
                // Mostly a promise, sometimes with one message left out.
                let promises: Vec<&BTreeSet<usize>> = automaton.states[model.state].fair.iter().collect();
                let mut waited: BTreeSet<usize> = (0..protocol.messages.len()).filter(|_| random.one_in(4)).collect();
                if !promises.is_empty() {
                    waited.extend(promises[random.below(promises.len())]);
                }
                if random.one_in(2) {
                    let left_out = random.below(protocol.messages.len());
                    waited.remove(&left_out);
                }
                let list: Vec<String> = waited.iter().map(|id| mailbox(protocol, *id).to_string()).collect();
                input.push_str(&format!("w {}\n", list.join(" ")));
                let covered = || promises.iter().filter(|promise| promise.is_subset(&waited));
                let is_owed = |promise: &&&BTreeSet<usize>| promise.iter().any(|id| protocol.messages[*id].is_owed);
                // What need never come may be waited for alone with all that is enabled, and while nothing is timed.
                let may_wait =
                    automaton.inputs(model.state).is_subset(&waited) && automaton.states[model.state].timed.is_empty();
                if covered().any(|promise| is_owed(&promise)) || (covered().next().is_some() && may_wait) {
                    OK
                } else {
                    RULE_3
                }
            }
            _ => {
                let legal: Vec<usize> = automaton.enabled(model.state).collect();
                let id = if random.one_in(4) {
                    random.below(protocol.messages.len())
                } else {
                    legal[random.below(legal.len())]
                };
                let message = &protocol.messages[id];
                let incoming = message.incoming != random.one_in(30);
                let open = message.cookie.map(|(_, request)| model.open[request].iter().copied().collect::<Vec<u64>>());
                let known = open.filter(|open| !open.is_empty() && random.one_in(2));
                let cookie = known.map_or(random.below(40) as u64, |open| open[random.below(open.len())]);
                let should_be_good = !random.one_in(10);
                let (hex, is_good) = payload(message, &mut random, should_be_good);
                let sign = if incoming { 'r' } else { 'e' };
                input.push_str(&format!("{sign} {} {cookie} {hex}\n", mailbox(protocol, id)));
                model.step(id, incoming, cookie, is_good)
            }
        };
        expected.push(format!("{verdict} {}", automaton.states[model.state].name));
    }
    let mut child =
        Command::new(compile(checked)).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the monitor runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).map(|()| input));
    let output = child.wait_with_output().expect("it ends");
    let input = writer.join().expect("no panic").expect("all was read");
    let found = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success());
    for ((line, found), expected) in input.lines().zip(found.lines()).zip(&expected) {
        assert_eq!(found, expected, "{}: {line}", protocol.name);
    }
    assert_eq!(found.lines().count(), expected.len());
    let seen: BTreeSet<&str> = expected.iter().filter_map(|line| line.split(' ').next()).collect();
    assert!(seen.len() >= 5, "only the verdicts {seen:?} were seen");
}

#[test]
fn monitors_follow_their_automata() {
    for path in common::protocols() {
        follow(&common::load(&path), 0xfeed_face_cafe_beef);
    }
}

#[test]
fn generated_files_say_so_in_their_first_line() {
    for path in common::protocols() {
        for file in generated(&common::load(&path)) {
            let head: String = file.text.lines().take(2).collect();
            assert!(head.contains("Generated by `protocol generate"), "{}: {head}", file.name);
        }
    }
}

#[test]
fn json_tells_the_automaton() {
    for path in common::protocols() {
        let checked = common::load(&path);
        for file in generated(&checked) {
            if file.name.ends_with(".json") {
                let value: serde_json::Value = serde_json::from_str(&file.text).expect("it is JSON");
                let count = |key: &str| value[key].as_array().map(Vec::len);
                assert_eq!(count("states"), Some(checked.flat.automaton.states.len()));
                assert_eq!(count("transitions"), Some(checked.flat.automaton.transitions()));
                assert_eq!(count("messages"), Some(checked.protocol.messages.len()));
            }
        }
    }
}

#[test]
fn pictures_name_every_state_and_are_well_formed() {
    for path in common::protocols() {
        let protocol = common::load(&path).protocol;
        let picture = statechart(&protocol, &Highlight::default()).expect("Graphviz is installed");
        let text = picture.standalone("test");
        for tag in ["svg", "text", "tspan", "style", "marker", "defs"] {
            // `<text` is not to count `<textPath`, nor `<svg` the namespace.
            let count = |tag: &str| text.matches(tag).count();
            let opened = count(&format!("<{tag} ")) + count(&format!("<{tag}>"));
            assert_eq!(opened, count(&format!("</{tag}>")), "{}: {tag}", protocol.name);
        }
        for state in protocol.states.iter().skip(1) {
            assert!(text.contains(&state.name), "{}: {} is missing", protocol.name, state.name);
        }
    }
}
