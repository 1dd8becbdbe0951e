//! ELF kernels with a PVH entry: a note names where they start, in 32-bit mode.

const HEADER: usize = 64;
const SEGMENT: usize = 56;
const LOAD: u64 = 1;
const NOTE: u64 = 4;
/// Type of the note `Xen` that holds the entry.
const ENTRY: u64 = 18;
/// Segments lie above what the monitor puts into the first megabyte.
const LEAST_ADDRESS: u64 = 1 << 20;

pub fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

/// End of the memory that the kernel's segments take, or what is wrong with it.
pub fn memory_end(bytes: &[u8]) -> Result<u64, &'static str> {
    let number = |at: usize, size: usize| number(bytes, at, size);
    if number(4, 1) != Some(2) || number(18, 2) != Some(62) {
        return Err("it is an ELF file, but not one for 64-bit x86");
    }
    let cut = "its program headers are cut short";
    let (table, count) = (number(32, 8).ok_or(cut)?, number(56, 2).ok_or(cut)?);
    if number(54, 2) != Some(SEGMENT as u64) || table < HEADER as u64 {
        return Err(cut);
    }
    let (mut end, mut has_entry) = (0, false);
    for index in 0..count {
        let at =
            usize::try_from(table).ok().and_then(|table| table.checked_add(index as usize * SEGMENT)).ok_or(cut)?;
        let field = |offset: usize, size: usize| number(at.saturating_add(offset), size).ok_or(cut);
        let (kind, offset, address) = (field(0, 4)?, field(8, 8)?, field(24, 8)?);
        let (in_file, in_memory) = (field(32, 8)?, field(40, 8)?);
        let contents = usize::try_from(offset).ok().zip(usize::try_from(in_file).ok());
        let contents = contents.and_then(|(from, length)| bytes.get(from..from.checked_add(length)?));
        match kind {
            LOAD if in_memory == 0 => {}
            LOAD => {
                let last = address.checked_add(in_memory).filter(|last| *last <= 1 << 32);
                if contents.is_none() || in_file > in_memory || address < LEAST_ADDRESS || last.is_none() {
                    return Err("a segment does not lie in the file, or not between 1 MiB and 4 GiB of memory");
                }
                end = end.max(last.unwrap_or(0));
            }
            NOTE => has_entry |= contents.is_some_and(entry_in),
            _ => {}
        }
    }
    match (has_entry, end) {
        (false, _) => Err("it is an ELF file without a PVH entry (a note `Xen` of type 18)"),
        (true, 0) => Err("it has no segment to load"),
        (true, end) => Ok(end),
    }
}

/// Whether the notes name an entry.
fn entry_in(notes: &[u8]) -> bool {
    let mut at = 0;
    while let (Some(name), Some(content), Some(kind)) =
        (number(notes, at, 4), number(notes, at + 4, 4), number(notes, at + 8, 4))
    {
        let begin = at + 12;
        let padded = |size: u64| (size as usize).next_multiple_of(4);
        if kind == ENTRY && notes.get(begin..begin + 4) == Some(b"Xen\0") && matches!(content, 4 | 8) {
            return true;
        }
        at = begin + padded(name) + padded(content);
    }
    false
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(bytes: &mut [u8], at: usize, size: usize, value: u64) {
        bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }

    fn kernel() -> Vec<u8> {
        let mut bytes = vec![0; 0x200];
        bytes[..4].copy_from_slice(b"\x7fELF");
        for (at, size, value) in [(4, 1, 2), (18, 2, 62), (32, 8, 64), (54, 2, 56), (56, 2, 2)] {
            put(&mut bytes, at, size, value);
        }
        for (at, value) in [(0, 1), (8, 0x100), (24, 1 << 20), (32, 0x80), (40, 0x3000)] {
            put(&mut bytes, 64 + at, if at == 0 { 4 } else { 8 }, value);
        }
        for (at, value) in [(0, 4), (8, 0x180), (24, 0), (32, 20), (40, 20)] {
            put(&mut bytes, 120 + at, if at == 0 { 4 } else { 8 }, value);
        }
        for (at, value) in [(0, 4), (4, 4), (8, 18), (16, 1 << 20)] {
            put(&mut bytes, 0x180 + at, 4, value);
        }
        bytes[0x18c..0x190].copy_from_slice(b"Xen\0");
        bytes
    }

    #[test]
    fn a_whole_kernel_is_taken_and_each_damage_is_not() {
        assert_eq!(memory_end(&kernel()), Ok((1 << 20) + 0x3000));
        let damages: [(usize, usize, u64); 9] = [
            (4, 1, 1),
            (18, 2, 3),
            (32, 8, u64::MAX),
            (54, 2, 32),
            (56, 2, 0xffff),
            (64 + 8, 8, 0x1ff),
            (64 + 24, 8, 0x1000),
            (64 + 40, 8, 1 << 40),
            (0x188, 4, 17),
        ];
        for (at, size, value) in damages {
            let mut bytes = kernel();
            put(&mut bytes, at, size, value);
            assert!(memory_end(&bytes).is_err(), "{at:#x}");
        }
        for length in 0..0x194 {
            assert!(memory_end(&kernel()[..length]).is_err(), "{length}");
        }
    }
}
