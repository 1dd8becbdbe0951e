//! The integration tests of this crate, in one binary to save link time.

mod clients;
mod common;
mod differential;
mod expressions;
mod payloads;
mod ports;
mod requests;
mod rules;
mod several;
mod snippets;
mod sound;
