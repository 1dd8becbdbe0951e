//! What typed bytes mean: most go to the selected console, Ctrl-] makes the next one a command.

const ESCAPE: u8 = 0x1d;

/// What to do with typed bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    Send(Vec<u8>),
    Select(usize),
    List,
    /// Hides this console, or shows it again.
    Mute(usize),
    /// Shows only the console that the keyboard is at, or all again.
    Only,
    Quit,
    /// Scrolls the consoles' lines back or forward; on the live page only.
    Back,
    Forward,
    /// Shows the next processes; on the live page only.
    Next,
    /// A key that means nothing after Ctrl-].
    Help,
}

/// What the next byte is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Next {
    #[default]
    Text,
    Command,
    /// The key of the console to mute.
    Muted,
}

#[derive(Debug, Default)]
pub struct Keys {
    next: Next,
}

impl Keys {
    /// The actions that typed bytes ask for, in order.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Action> {
        let mut actions = Vec::new();
        for &byte in bytes {
            match (std::mem::take(&mut self.next), byte) {
                (Next::Text, ESCAPE) => self.next = Next::Command,
                (Next::Text, byte) => match actions.last_mut() {
                    Some(Action::Send(sent)) => sent.push(byte),
                    _ => actions.push(Action::Send(vec![byte])),
                },
                (Next::Command, b'm') => self.next = Next::Muted,
                (Next::Command, byte) => actions.push(command(byte)),
                (Next::Muted, byte) => actions.push(console_of(byte).map_or(Action::Help, Action::Mute)),
            }
        }
        actions
    }
}

fn command(byte: u8) -> Action {
    match byte {
        ESCAPE => Action::Send(vec![ESCAPE]),
        b'l' => Action::List,
        b'o' => Action::Only,
        b'q' => Action::Quit,
        b'p' => Action::Back,
        b'n' => Action::Forward,
        b't' => Action::Next,
        _ => console_of(byte).map_or(Action::Help, Action::Select),
    }
}

/// The console that this key stands for. Letters from `l` on are commands, so consoles beyond 20 have no key.
fn console_of(key: u8) -> Option<usize> {
    match key {
        b'0'..=b'9' => Some(usize::from(key - b'0')),
        b'a'..=b'k' => Some(usize::from(key - b'a') + 10),
        _ => None,
    }
}

/// The key that selects console `number`.
pub fn key_of(number: usize) -> Option<char> {
    let number = u8::try_from(number).ok()?;
    match number {
        0..=9 => Some(char::from(b'0' + number)),
        10..=20 => Some(char::from(b'a' + number - 10)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{key_of, Action, Keys};

    #[test]
    fn escapes_work_across_reads() {
        let mut keys = Keys::default();
        assert_eq!(keys.feed(b"ls\r\x1d"), [Action::Send(b"ls\r".to_vec())]);
        assert_eq!(keys.feed(b"2x"), [Action::Select(2), Action::Send(b"x".to_vec())]);
        assert_eq!(keys.feed(b"\x1d\x1d\x1dq"), [Action::Send(vec![0x1d]), Action::Quit]);
        assert_eq!(keys.feed(b"\x1dm"), []);
        assert_eq!(keys.feed(b"3x\x1do"), [Action::Mute(3), Action::Send(b"x".to_vec()), Action::Only]);
        assert_eq!(keys.feed(b"\x1dmq"), [Action::Help], "no console, and not the end of the run either");
    }

    #[test]
    fn every_key_selects_its_console() {
        for number in 0..=20 {
            let key = key_of(number).unwrap();
            assert_eq!(Keys::default().feed(&[0x1d, key as u8]), [Action::Select(number)]);
        }
        assert_eq!(key_of(21), None);
    }
}
