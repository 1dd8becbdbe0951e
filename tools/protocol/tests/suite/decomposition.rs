//! Subprotocols together accept exactly what their protocol accepts. The comparison here is by brute force over all
//! short runs; it shares nothing with the products of `decompose::verify`.

use crate::common;
use protocol::automaton::{Automaton, Letter, State};
use protocol::decompose::{choose, given, verify, Decomposition, Purpose};
use std::collections::{BTreeMap, BTreeSet};
use testing::Random;

/// A random automaton all of whose states can be reached.
fn random_automaton(random: &mut Random, states: usize, letters: usize) -> Automaton {
    let letter = |index: usize| Letter { name: format!("m{index}"), incoming: index % 2 == 0 };
    let mut automaton = Automaton {
        letters: (0..letters).map(letter).collect(),
        states: Vec::new(),
        timed: vec!["T".into(), "U".into()],
    };
    for index in 0..states {
        let next: Vec<Option<usize>> = (0..letters).map(|_| random.one_in(2).then(|| random.below(states))).collect();
        let inputs: BTreeSet<usize> = (0..letters).filter(|one| one % 2 == 0 && next[*one].is_some()).collect();
        let fair = if random.one_in(3) && !inputs.is_empty() { BTreeSet::from([inputs]) } else { BTreeSet::new() };
        let timed = (0..2).filter(|_| random.one_in(4)).collect();
        automaton.states.push(State { name: format!("s{index}"), next, timed, fair, is_final: random.one_in(2) });
    }
    reachable(&automaton)
}

fn reachable(automaton: &Automaton) -> Automaton {
    let mut numbers = BTreeMap::from([(0, 0)]);
    let mut order = vec![0];
    let mut at = 0;
    while at < order.len() {
        for next in automaton.states[order[at]].next.iter().flatten() {
            if !numbers.contains_key(next) {
                numbers.insert(*next, order.len());
                order.push(*next);
            }
        }
        at += 1;
    }
    let states = order
        .iter()
        .map(|old| {
            let state = automaton.states[*old].clone();
            State { next: state.next.iter().map(|next| next.map(|next| numbers[&next])).collect(), ..state }
        })
        .collect();
    Automaton { states, ..automaton.clone() }
}

/// What the subprotocols say after a run: the messages legal now, timed marks, promises, whether the driver may return.
type Answer = (BTreeSet<usize>, BTreeSet<usize>, BTreeSet<BTreeSet<usize>>, bool);

fn together(automaton: &Automaton, decomposition: &Decomposition, run: &[usize]) -> Option<Answer> {
    let mut legal: BTreeSet<usize> = (0..automaton.letters.len()).collect();
    let (mut timed, mut fair, mut is_final) = (BTreeSet::new(), BTreeSet::new(), true);
    for part in &decomposition.subprotocols {
        let mut state = 0;
        for message in run {
            if let Some(letter) = part.alphabet.iter().position(|own| own == message) {
                state = part.automaton.states[state].next[letter]?;
            }
        }
        let state = &part.automaton.states[state];
        for (letter, message) in part.alphabet.iter().enumerate().filter(|(letter, _)| state.next[*letter].is_none()) {
            assert!(letter < part.alphabet.len());
            legal.remove(message);
        }
        timed.extend(&state.timed);
        fair.extend(
            state.fair.iter().map(|set| set.iter().map(|letter| part.alphabet[*letter]).collect::<BTreeSet<_>>()),
        );
        is_final &= state.is_final;
    }
    Some((legal, timed, fair, is_final))
}

/// Compares on every run of the protocol up to `length`, and on all illegal ones that are one longer.
fn compare(automaton: &Automaton, decomposition: &Decomposition, length: usize) -> Result<usize, Vec<usize>> {
    let mut runs: Vec<(Vec<usize>, usize)> = vec![(Vec::new(), 0)];
    let mut at = 0;
    while at < runs.len() {
        let (run, here) = runs[at].clone();
        at += 1;
        let state = &automaton.states[here];
        let legal = (0..automaton.letters.len()).filter(|letter| state.next[*letter].is_some()).collect();
        let own: Answer = (legal, state.timed.clone(), state.fair.clone(), state.is_final);
        if together(automaton, decomposition, &run) != Some(own) {
            return Err(run);
        }
        if run.len() < length {
            for (letter, next) in state.next.iter().enumerate() {
                runs.extend(next.map(|next| ([&run[..], &[letter]].concat(), next)));
            }
        }
    }
    Ok(runs.len())
}

#[test]
fn random_protocols_are_the_composition_of_their_subprotocols() {
    let mut random = Random(0x5eed_5eed_5eed_5eed);
    let (mut split, mut compared) = (0, 0);
    for round in 0..400 {
        let (states, letters) = (2 + random.below(5), 2 + random.below(4));
        let automaton = random_automaton(&mut random, states, letters);
        let decomposition = choose(&automaton);
        assert_eq!(verify::verify(&automaton, &decomposition), [], "round {round}: {automaton:?}\n{decomposition:?}");
        match compare(&automaton, &decomposition, 6) {
            Ok(runs) => compared += runs,
            Err(run) => panic!("round {round}: differs after {run:?}\n{automaton:?}\n{decomposition:?}"),
        }
        split += usize::from(decomposition.subprotocols.iter().any(|part| part.alphabet.len() < letters));
    }
    assert!(split > 100 && compared > 20_000, "only {split} were split, {compared} runs were compared");
}

/// Drops letters at random: `verify` and brute force must agree on whether the rest is enough.
#[test]
fn wrong_decompositions_are_found_out() {
    let mut random = Random(0xabcd_ef01_2345_6789);
    let (mut right, mut wrong) = (0, 0);
    for round in 0..600 {
        let (states, letters) = (2 + random.below(3), 2 + random.below(3));
        let automaton = random_automaton(&mut random, states, letters);
        let alphabets: Vec<BTreeSet<usize>> = (0..1 + random.below(3))
            .map(|_| (0..letters).filter(|_| !random.one_in(4)).collect::<BTreeSet<usize>>())
            .collect();
        let decomposition = given::given(&automaton, &alphabets);
        let failures = verify::verify(&automaton, &decomposition);
        let brute = compare(&automaton, &decomposition, 7);
        // Brute force asks for the whole only; `verify` also that one part alone shows each input, mark and promise.
        if failures.is_empty() {
            assert!(
                brute.is_ok(),
                "round {round}: accepted, but differs after {brute:?}\n{automaton:?}\n{decomposition:?}"
            );
            right += 1;
        } else {
            wrong += 1;
            let outputs_only =
                failures.iter().all(|one| one.message.starts_with('!') && one.message.contains("illegal"));
            if outputs_only {
                assert!(brute.is_err(), "round {round}: refused without reason: {failures:?}\n{automaton:?}");
            }
        }
        for failure in &failures {
            let run: Option<Vec<usize>> = failure
                .witness
                .iter()
                .map(|label| automaton.letters.iter().position(|letter| letter.label() == *label))
                .collect();
            assert!(run.is_some_and(|run| automaton.after(&run).is_some()), "the witness is no run: {failure:?}");
        }
    }
    assert!(right > 20 && wrong > 20, "{right} right, {wrong} wrong");
}

#[test]
fn a_damaged_subprotocol_is_found_out() {
    for path in common::protocols() {
        let checked = common::load(&path);
        let automaton = &checked.flat.automaton;
        let good = choose(automaton);
        for index in 0..good.subprotocols.len() {
            let mut damaged = good.clone();
            damaged.subprotocols.remove(index);
            assert!(!verify::verify(automaton, &damaged).is_empty(), "{}: part {index} is not needed", path.display());
            let mut damaged = good.clone();
            let state = &mut damaged.subprotocols[index].automaton.states[0];
            let Some(next) = state.next.iter().position(Option::is_some) else { continue };
            state.next[next] = None;
            assert!(!verify::verify(automaton, &damaged).is_empty(), "{}: part {index} may refuse", path.display());
        }
    }
}

#[test]
fn every_purpose_is_served_once_or_shared() {
    for path in common::protocols() {
        let checked = common::load(&path);
        let automaton = &checked.flat.automaton;
        let decomposition = choose(automaton);
        for purpose in Purpose::all(automaton) {
            let serving = decomposition.subprotocols.iter().filter(|part| part.purposes.contains(&purpose)).count();
            assert!(serving <= 1 || purpose.is_shared(automaton), "{}", purpose.title(automaton));
        }
    }
}
