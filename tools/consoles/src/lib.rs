//! Consoles as a person sees them: lines with the console's name, a keyboard that is at one of them.

pub mod keys;
pub mod line;
pub mod terminal;
pub mod view;

pub use view::View;
