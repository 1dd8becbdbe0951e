//! Pictures as self-contained SVG: a canvas with one style, and graphs laid out by Graphviz.
//!
//! Only the layout is Graphviz's. Sizes are fixed before it runs, and the drawing is ours, so a picture does not depend
//! on the fonts of the machine that makes it.

pub mod canvas;
pub mod graph;

/// Width of a letter of the pictures' monospace font, in pixels.
pub const LETTER: f64 = 6.7;
/// Height of a line of text, in pixels.
pub const LINE: f64 = 16.0;

/// Width of `text`, in pixels.
pub fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}
