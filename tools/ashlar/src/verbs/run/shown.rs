//! Which consoles a run shows, and which of them the keyboard is at first.

use crate::cli::RunOptions;
use output::Failure;
use system::{ConsoleInfo, System};

#[derive(Debug, PartialEq, Eq)]
pub struct Shown {
    /// By the console's number.
    shown: Vec<bool>,
    first_typed: usize,
}

impl Shown {
    /// What `--console` and `--mute` ask for; a name that no console has is refused.
    pub fn new(options: &RunOptions, system: &System) -> Result<Shown, Failure> {
        let named = options.console.iter().chain(&options.mute);
        let unknown: Vec<&str> =
            named.filter(|name| !system.consoles.iter().any(|own| own.name == **name)).map(String::as_str).collect();
        if unknown.is_empty() {
            return Ok(choose(&system.consoles, &options.console, &options.mute));
        }
        let names: Vec<&str> = system.consoles.iter().map(|console| console.name.as_str()).collect();
        let message = format!("{} has no console {}", system.name, unknown.join(", "));
        Err(Failure::unable(message, format!("its consoles are {}", names.join(", "))))
    }

    /// Numbers of the consoles that are not shown.
    pub fn hidden(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.shown.len()).filter(|&console| !self.shown[console])
    }

    /// Where the keyboard is at first.
    pub fn first_typed(&self) -> usize {
        self.first_typed
    }
}

/// The keyboard is first at a shown console that has a reader, else at any but the kernel's.
fn choose(consoles: &[ConsoleInfo], only: &[String], muted: &[String]) -> Shown {
    let is_shown =
        |console: &ConsoleInfo| (only.is_empty() || only.contains(&console.name)) && !muted.contains(&console.name);
    let shown: Vec<bool> = consoles.iter().map(is_shown).collect();
    let reader = (0..shown.len()).find(|&console| shown[console] && consoles[console].has_reader);
    let any = || (1..shown.len()).find(|&console| shown[console]);
    let first_typed = reader.or_else(any).unwrap_or(0);
    Shown { shown, first_typed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(only: &[&str], muted: &[&str]) -> (Vec<usize>, usize) {
        let consoles = [("kernel", false), ("beat", false), ("guest", true)].map(|(name, has_reader)| ConsoleInfo {
            name: name.into(),
            up: None,
            has_reader,
        });
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let shown = choose(&consoles, &names(only), &names(muted));
        (shown.hidden().collect(), shown.first_typed())
    }

    #[test]
    fn the_keyboard_is_where_it_is_read_and_seen() {
        assert_eq!(chosen(&[], &[]), (vec![], 2));
        assert_eq!(chosen(&[], &["guest"]), (vec![2], 1));
        assert_eq!(chosen(&["beat"], &[]), (vec![0, 2], 1));
        assert_eq!(chosen(&["kernel"], &[]), (vec![1, 2], 0));
        assert_eq!(chosen(&["guest", "beat"], &["beat"]), (vec![0, 1], 2));
    }
}
