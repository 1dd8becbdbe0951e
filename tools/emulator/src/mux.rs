//! The console stream: all consoles on one serial line.
//!
//! The byte 0x0E followed by 0x40 + N switches to console N, each direction by itself; a literal 0x0E is sent twice.
//! Before the first switch the stream is at console 0, so firmware that prints before the kernel appears there.

const SWITCH: u8 = 0x0e;
const FIRST: u8 = 0x40;
const LAST: u8 = 0x7f;

/// Takes the stream apart. Pieces may be cut anywhere.
#[derive(Debug, Default)]
pub struct Decoder {
    console: usize,
    after_switch: bool,
}

impl Decoder {
    /// Hands each run of bytes to `sink` with the number of its console, in order.
    pub fn feed(&mut self, bytes: &[u8], mut sink: impl FnMut(usize, &[u8])) {
        let mut start = 0;
        for (index, &byte) in bytes.iter().enumerate() {
            if self.after_switch {
                self.after_switch = false;
                // What follows a switch is consumed with it, except a literal 0x0E or a byte that names no console:
                // that stays, so that a damaged stream loses nothing readable.
                start = if (FIRST..=LAST).contains(&byte) { index + 1 } else { index };
                if (FIRST..=LAST).contains(&byte) {
                    self.console = usize::from(byte - FIRST);
                }
            } else if byte == SWITCH {
                if start < index {
                    sink(self.console, &bytes[start..index]);
                }
                self.after_switch = true;
                start = index + 1;
            }
        }
        if start < bytes.len() {
            sink(self.console, &bytes[start..]);
        }
    }
}

/// Puts typed bytes into the stream.
#[derive(Debug, Default)]
pub struct Encoder {
    console: usize,
}

impl Encoder {
    /// The bytes that bring `bytes` to `console`.
    pub fn encode(&mut self, console: usize, bytes: &[u8]) -> Vec<u8> {
        let mut stream = Vec::with_capacity(bytes.len() + 2);
        if console != self.console {
            self.console = console;
            stream.extend([SWITCH, FIRST + console as u8]);
        }
        for &byte in bytes {
            if byte == SWITCH {
                stream.push(SWITCH);
            }
            stream.push(byte);
        }
        stream
    }
}

#[cfg(test)]
mod tests {
    use super::{Decoder, Encoder};

    fn decode(pieces: &[&[u8]]) -> Vec<(usize, Vec<u8>)> {
        let mut decoder = Decoder::default();
        let mut out: Vec<(usize, Vec<u8>)> = Vec::new();
        for piece in pieces {
            decoder.feed(piece, |console, bytes| match out.last_mut() {
                Some((last, text)) if *last == console => text.extend(bytes),
                _ => out.push((console, bytes.to_vec())),
            });
        }
        out
    }

    #[test]
    fn output_before_the_first_switch_is_the_kernels() {
        assert_eq!(decode(&[b"SeaBIOS\r\n"]), [(0, b"SeaBIOS\r\n".to_vec())]);
    }

    #[test]
    fn the_stream_can_be_cut_anywhere() {
        let stream = b"a\x0e\x41bb\x0e\x0ec\x0e\x5fd\x0e\x40e";
        let whole = decode(&[stream]);
        assert_eq!(whole, [(0, b"a".to_vec()), (1, b"bb\x0ec".to_vec()), (31, b"d".to_vec()), (0, b"e".to_vec())]);
        for cut in 0..=stream.len() {
            assert_eq!(decode(&[&stream[..cut], &stream[cut..]]), whole, "cut at {cut}");
        }
    }

    #[test]
    fn a_switch_to_nothing_loses_no_text() {
        assert_eq!(decode(&[b"a\x0e\x20b"]), [(0, b"a\x20b".to_vec())]);
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let mut encoder = Encoder::default();
        let mut stream = encoder.encode(2, b"ls\n");
        stream.extend(encoder.encode(2, b"\x0e"));
        stream.extend(encoder.encode(0, b"x"));
        assert_eq!(decode(&[&stream]), [(2, b"ls\n\x0e".to_vec()), (0, b"x".to_vec())]);
    }
}
