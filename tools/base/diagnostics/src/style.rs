//! Colours and width of an output stream.

use std::io::IsTerminal;
use std::os::fd::AsFd;

/// Lines are never longer, so that they stay readable, nor shorter than `NARROWEST`.
const WIDEST: usize = 100;
const NARROWEST: usize = 40;

/// Colours and width of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    pub color: bool,
    pub width: usize,
}

impl Style {
    /// For files and pipes.
    pub const PLAIN: Style = Style { color: false, width: WIDEST };

    /// What suits a stream: colours on a terminal unless the environment forbids them, and no line wider than it.
    pub fn of(stream: impl AsFd + IsTerminal) -> Style {
        if !stream.is_terminal() {
            return Style::PLAIN;
        }
        let columns = rustix::termios::tcgetwinsize(&stream).map_or(0, |size| usize::from(size.ws_col));
        // Some terminals do not know their size and say 0.
        let width = if columns == 0 { WIDEST } else { columns.clamp(NARROWEST, WIDEST) };
        Style { color: may_color(|name| std::env::var(name).ok()), width }
    }

    pub fn stdout() -> Style {
        Style::of(std::io::stdout())
    }

    pub fn stderr() -> Style {
        Style::of(std::io::stderr())
    }
}

/// Whether the environment allows colours: https://no-color.org, and terminals that have none.
fn may_color(variable: impl Fn(&str) -> Option<String>) -> bool {
    let forbidden = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    !forbidden && variable("TERM").as_deref() != Some("dumb")
}

#[cfg(test)]
mod tests {
    use super::may_color;

    #[test]
    fn the_environment_can_forbid_colours() {
        let with =
            |name: &'static str, value: &'static str| move |asked: &str| (asked == name).then(|| value.to_string());
        assert!(may_color(|_| None));
        assert!(!may_color(with("NO_COLOR", "1")));
        assert!(may_color(with("NO_COLOR", "")));
        assert!(!may_color(with("TERM", "dumb")));
    }
}
