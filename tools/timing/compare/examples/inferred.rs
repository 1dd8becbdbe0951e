//! Inference beside measurements, for compiled programs of the set.

fn main() {
    for file in std::env::args().skip(1) {
        let begin = std::time::Instant::now();
        match timing_compare::inferred(std::path::Path::new(&file)) {
            Ok(sum) => {
                println!(
                    "{file}: {} of {} exact, {} bounded, {:?}",
                    sum.exact,
                    sum.loops,
                    sum.bounded,
                    begin.elapsed()
                );
                sum.faults.iter().for_each(|fault| println!("    {fault}"));
            }
            Err(error) => println!("{file}: {error}"),
        }
    }
}
