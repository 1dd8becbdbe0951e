//! The pages of a link for what is larger than a message.

use core::marker::PhantomData;
use core::sync::atomic::AtomicU64;

const WORD: usize = size_of::<u64>();

/// Memory that client and driver share. Either may change it at any moment, and so may the driver's device: what is read is a
/// copy. Protocols name buffers by their offset here.
#[derive(Debug)]
pub struct Area<'a> {
    start: *mut u8,
    bytes: usize,
    of: PhantomData<&'a [AtomicU64]>,
}

impl<'a> Area<'a> {
    /// # Safety
    /// So many bytes, whole pages, are mapped for reading and writing as long as the area lives, and no references lead there but to
    /// atomic words.
    pub(super) unsafe fn new(start: *mut u8, bytes: usize) -> Self {
        Area { start, bytes, of: PhantomData }
    }

    /// Its bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether the link was made without such pages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// As words that either side may change.
    #[must_use]
    pub fn words(&self) -> &'a [AtomicU64] {
        // SAFETY: the pages are mapped as long as the area lives; all bits are an atomic word.
        unsafe { core::slice::from_raw_parts(self.start.cast(), self.bytes / WORD) }
    }

    /// Copies what stands at an offset.
    ///
    /// # Panics
    /// If it is not all inside the area.
    pub fn read(&self, offset: usize, to: &mut [u8]) {
        self.check(offset, to.len());
        let (first, rest) = to.split_at_mut(to.len().min(until_word(offset)));
        let mut words = rest.chunks_exact_mut(WORD);
        let mut at = self.read_bytes(offset, first);
        for word in &mut words {
            // SAFETY: inside the area, as checked, and a word's place. Volatile: the word may change, and is read once.
            let value = unsafe { self.start.add(at).cast::<u64>().read_volatile() };
            word.copy_from_slice(&value.to_ne_bytes());
            at += WORD;
        }
        self.read_bytes(at, words.into_remainder());
    }

    fn read_bytes(&self, offset: usize, to: &mut [u8]) -> usize {
        for (index, byte) in to.iter_mut().enumerate() {
            // SAFETY: as in `read`.
            *byte = unsafe { self.start.add(offset + index).read_volatile() };
        }
        offset + to.len()
    }

    /// Copies bytes to an offset.
    ///
    /// # Panics
    /// If there is not enough room in the area.
    pub fn write(&self, offset: usize, from: &[u8]) {
        self.check(offset, from.len());
        let (first, rest) = from.split_at(from.len().min(until_word(offset)));
        let words = rest.chunks_exact(WORD);
        let last = words.remainder();
        let mut at = self.write_bytes(offset, first);
        for word in words {
            let value = word.try_into().map_or(0, u64::from_ne_bytes);
            // SAFETY: inside the area, as checked, and a word's place; no references lead there but to atomic words.
            unsafe { self.start.add(at).cast::<u64>().write_volatile(value) };
            at += WORD;
        }
        self.write_bytes(at, last);
    }

    fn write_bytes(&self, offset: usize, from: &[u8]) -> usize {
        for (index, byte) in from.iter().enumerate() {
            // SAFETY: as in `write`.
            unsafe { self.start.add(offset + index).write_volatile(*byte) };
        }
        offset + from.len()
    }

    fn check(&self, offset: usize, bytes: usize) {
        let is_inside = offset.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        assert!(is_inside, "{bytes} bytes at {offset} of an area of {}", self.bytes);
    }
}

/// Bytes from an offset to the next word.
fn until_word(offset: usize) -> usize {
    offset.wrapping_neg() % WORD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_copied_whatever_they_begin_at() {
        let memory: [AtomicU64; 4] = Default::default();
        // SAFETY: the words are mapped, and nothing else refers to them.
        let area = unsafe { Area::new(memory.as_ptr().cast_mut().cast(), 32) };
        for offset in 0..=32 {
            for bytes in 0..=32 - offset {
                memory.iter().for_each(|word| word.store(0, core::sync::atomic::Ordering::Relaxed));
                let text: Vec<u8> = (1..=bytes as u8).collect();
                area.write(offset, &text);
                let (mut back, mut all) = (vec![0; bytes], [0; 32]);
                area.read(offset, &mut back);
                area.read(0, &mut all);
                assert_eq!(back, text);
                assert_eq!(all.iter().filter(|byte| **byte != 0).count(), bytes);
            }
        }
    }

    #[test]
    #[should_panic(expected = "2 bytes at 31 of an area of 32")]
    fn what_is_outside_is_refused() {
        let memory: [AtomicU64; 4] = Default::default();
        // SAFETY: as above.
        unsafe { Area::new(memory.as_ptr().cast_mut().cast(), 32) }.read(31, &mut [0; 2]);
    }
}
