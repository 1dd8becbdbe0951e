//! Prints the JSON schema of reports.

fn main() {
    println!("{:#}", timing_report::schema());
}
