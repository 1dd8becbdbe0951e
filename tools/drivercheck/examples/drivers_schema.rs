//! Prints the JSON schema of what the checker prints.

fn main() {
    println!("{:#}", drivercheck::result::schema());
}
