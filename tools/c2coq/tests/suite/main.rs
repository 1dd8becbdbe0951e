//! The integration tests of this crate, in one binary to save link time.

mod book;
mod cli;
mod compiler;
mod coq;
mod corpus;
mod examples;
mod kernel;
mod layers;
mod lies;
mod mutate;
mod print;
mod printed;
mod refusals;
mod robustness;
