//! Prints the JSON schema of reports.

fn main() {
    println!("{:#}", wcet_report::schema());
}
