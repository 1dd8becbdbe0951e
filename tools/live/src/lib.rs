//! The live page of a run: who has the processors and the memory, what processes do, and their consoles.

mod describe;
mod draw;
mod meter;
mod page;
mod pane;
mod screen;

pub use describe::{describe, ProcessName, Subject};
pub use draw::{draw, Shown};
pub use meter::{Meter, Usage};
pub use page::{Budget, Cpu, Page, Row, Tab};
pub use pane::Pane;
pub use screen::Screen;
