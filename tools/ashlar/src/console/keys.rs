//! What typed bytes mean: most go to the selected console, Ctrl-] makes the next one a command.

const ESCAPE: u8 = 0x1d;

/// What to do with typed bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    Send(Vec<u8>),
    Select(usize),
    List,
    Quit,
    /// A key that means nothing after Ctrl-].
    Help,
}

#[derive(Debug, Default)]
pub struct Keys {
    escaped: bool,
}

impl Keys {
    /// The actions that typed bytes ask for, in order.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Action> {
        let mut actions = Vec::new();
        for &byte in bytes {
            if self.escaped {
                self.escaped = false;
                actions.push(command(byte));
            } else if byte == ESCAPE {
                self.escaped = true;
            } else if let Some(Action::Send(sent)) = actions.last_mut() {
                sent.push(byte);
            } else {
                actions.push(Action::Send(vec![byte]));
            }
        }
        actions
    }
}

/// Letters `l` and `q` are commands, so consoles beyond 20 have no key.
fn command(byte: u8) -> Action {
    match byte {
        ESCAPE => Action::Send(vec![ESCAPE]),
        b'l' => Action::List,
        b'q' => Action::Quit,
        b'0'..=b'9' => Action::Select(usize::from(byte - b'0')),
        b'a'..=b'k' => Action::Select(usize::from(byte - b'a') + 10),
        _ => Action::Help,
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
