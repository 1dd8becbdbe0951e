//! What the plugin writes: a record of 8 bytes for each instruction, access, and number of a system call.

use std::io::{BufReader, Read};

use crate::observe::error::Error;

const ADDRESS_BITS: u32 = 48;
const KIND_CALL: u64 = 256;
const KIND_VALUE: u64 = 257;
const KIND_PAGE: u64 = 258;

/// An instruction that was executed, and what it did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Executed {
    pub address: u64,
    pub accesses: Vec<Access>,
    /// It stored this number of a system call.
    pub call: Option<u64>,
}

/// A data access by virtual address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Access {
    pub address: u64,
    pub size: u64,
    pub write: bool,
    /// What stands there behind it, of what belongs to processors: the lower bits, with their sign.
    pub value: Option<u64>,
    /// The physical address of its page, where that has not been said before.
    pub page: Option<u64>,
}

/// Reads the records of one processor.
pub struct Records<R> {
    from: BufReader<R>,
    /// Of the next instruction, if its record has been read.
    next: Option<u64>,
}

impl<R: Read> Records<R> {
    pub fn new(from: R) -> Records<R> {
        Records { from: BufReader::with_capacity(1 << 20, from), next: None }
    }

    fn word(&mut self) -> Result<Option<u64>, Error> {
        let mut bytes = [0; 8];
        match self.from.read_exact(&mut bytes) {
            Ok(()) => Ok(Some(u64::from_le_bytes(bytes))),
            Err(cause) if cause.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
            Err(cause) => Err(Error::Trace(cause.to_string())),
        }
    }

    /// The next instruction with its accesses.
    pub fn instruction(&mut self) -> Result<Option<Executed>, Error> {
        let first = match self.next.take() {
            Some(first) => first,
            None => loop {
                // Accesses before the first instruction belong to one that was not recorded.
                match self.word()? {
                    None => return Ok(None),
                    Some(word) if word >> ADDRESS_BITS == 0 => break word,
                    Some(_) => {}
                }
            },
        };
        let mut executed = Executed { address: extend(first), ..Executed::default() };
        while let Some(word) = self.word()? {
            let (kind, value) = (word >> ADDRESS_BITS, word & ((1 << ADDRESS_BITS) - 1));
            match kind {
                0 => {
                    self.next = Some(word);
                    break;
                }
                KIND_CALL => executed.call = Some(value),
                KIND_VALUE | KIND_PAGE => {
                    if let Some(last) = executed.accesses.last_mut() {
                        *(if kind == KIND_VALUE { &mut last.value } else { &mut last.page }) = Some(extend(value));
                    }
                }
                _ => {
                    let (size, write) = (1 << ((kind - 1) / 2), (kind - 1) % 2 == 1);
                    executed.accesses.push(Access { address: extend(value), size, write, ..Access::default() });
                }
            }
        }
        Ok(Some(executed))
    }
}

/// Addresses are sign-extended from 48 bits.
fn extend(value: u64) -> u64 {
    let shift = 64 - ADDRESS_BITS;
    ((value << shift) as i64 >> shift) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_become_instructions() {
        let word = |kind: u64, value: u64| (kind << 48 | value & 0xffff_ffff_ffff).to_le_bytes();
        let bytes = [
            word(7, 1),
            word(0, 0xffff_ffff_8020_0000),
            word(7, 0xffff_8000_fee0_0000),
            word(KIND_PAGE, 0xfee0_0000),
            word(8, 16),
            word(KIND_VALUE, 0xffff_ffff_8030_0000),
            word(KIND_CALL, 12),
            word(0, 0xffff_ffff_8020_0004),
        ]
        .concat();
        let mut records = Records::new(bytes.as_slice());
        let first = records.instruction().unwrap().unwrap();
        assert_eq!(first.address, 0xffff_ffff_8020_0000);
        let read = Access { address: 0xffff_8000_fee0_0000, size: 8, page: Some(0xfee0_0000), ..Access::default() };
        let value = Some(0xffff_ffff_8030_0000);
        assert_eq!(first.accesses, [read, Access { address: 16, size: 8, write: true, value, page: None }]);
        assert_eq!(first.call, Some(12));
        let second = Executed { address: 0xffff_ffff_8020_0004, ..Executed::default() };
        assert_eq!(records.instruction().unwrap(), Some(second));
        assert_eq!(records.instruction().unwrap(), None);
    }
}
