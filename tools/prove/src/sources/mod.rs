//! Checks of the sources, before anything is compiled.

pub mod certified;
pub mod closure;
pub mod forbidden;
pub mod generated;
pub mod theorems;
pub mod tree;
pub mod words;
