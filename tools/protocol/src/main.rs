fn main() {
    for file in std::env::args().skip(1) {
        match protocol::load(std::path::Path::new(&file)) {
            Err(report) => eprint!("{report}"),
            Ok(checked) => {
                let start = std::time::Instant::now();
                let decomposition = protocol::decompose::choose(&checked.flat.automaton);
                let time = start.elapsed();
                let failures = protocol::decompose::verify::verify(&checked.flat.automaton, &decomposition);
                println!("{:?} {time:?} {:?}", protocol::sizes::sizes(&checked, &decomposition), failures);
                for part in &decomposition.subprotocols {
                    let names: Vec<String> = part.automaton.letters.iter().map(|l| l.label()).collect();
                    println!("  {} states {} : {} [{}]", part.automaton.states.len(), part.automaton.transitions(), part.title(&checked.flat.automaton), names.join(" "));
                }
            }
        }
    }
}
