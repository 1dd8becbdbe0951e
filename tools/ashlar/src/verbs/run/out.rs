//! Where the consoles' lines go.

use live::Pane;
use std::io::{Result, Write};

pub enum Out {
    Stream(Box<dyn Write>),
    /// A part of the live page.
    Pane(Box<Pane>),
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Out::Stream(stream) => stream.write(bytes),
            Out::Pane(pane) => pane.write(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Out::Stream(stream) => stream.flush(),
            Out::Pane(pane) => pane.flush(),
        }
    }
}
