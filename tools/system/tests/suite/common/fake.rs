//! Small programs and guest files, whole and damaged, made for the tests.

use std::path::Path;

/// A loadable segment: address, flags (1 execute, 2 write, 4 read), bytes of the file, bytes in memory.
pub type Segment<'a> = (u64, u32, &'a [u8], u64);

pub const CODE: Segment = (0x40_0000, 5, b"\x0f\x0b", 2);
pub const DATA: Segment = (0x40_1000, 6, b"data", 0x3000);

/// A static ELF executable for x86-64 with these segments, built for the kernel's interface.
pub fn elf(entry: u64, segments: &[Segment]) -> Vec<u8> {
    elf_with_note(entry, segments, &note(b"Ashlar\0\0", 7, abi_version()))
}

/// The version of the kernel's interface.
fn abi_version() -> u32 {
    let header = include_str!("../../../../../kernel/abi.h");
    let version = header.lines().find_map(|line| line.strip_prefix("#define ABI_VERSION ")).expect("there is one");
    version.trim_end_matches('u').parse().expect("a number")
}

/// A note of type 1 with `version`; `owner` is padded, and has `owner_size` bytes with its final zero.
pub fn note(owner: &[u8], owner_size: u32, version: u32) -> Vec<u8> {
    let head = [owner_size, 4, 1].map(u32::to_le_bytes).concat();
    [&head, owner, &version.to_le_bytes()].concat()
}

/// As `elf`, with the bytes of a segment of notes.
pub fn elf_with_note(entry: u64, segments: &[Segment], note: &[u8]) -> Vec<u8> {
    let note_begin = 64 + 56 * (segments.len() as u64 + 1);
    let data_begin = note_begin + note.len() as u64;
    let mut out = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    out.extend([2u16, 62].iter().flat_map(|half| half.to_le_bytes()));
    out.extend(1u32.to_le_bytes());
    out.extend([entry, 64, 0].iter().flat_map(|word| word.to_le_bytes()));
    out.extend(0u32.to_le_bytes());
    out.extend([64, 56, segments.len() as u16 + 1, 64, 0, 0].iter().flat_map(|half| half.to_le_bytes()));
    let mut offset = data_begin;
    for (vaddr, flags, bytes, memory) in segments {
        out.extend([1u32, *flags].iter().flat_map(|word| word.to_le_bytes()));
        let words = [offset, *vaddr, *vaddr, bytes.len() as u64, *memory, 1];
        out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        offset += bytes.len() as u64;
    }
    out.extend([4u32, 4].iter().flat_map(|word| word.to_le_bytes()));
    let words = [note_begin, 0, 0, note.len() as u64, note.len() as u64, 4];
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    out.extend_from_slice(note);
    segments.iter().for_each(|(_, _, bytes, _)| out.extend_from_slice(bytes));
    out
}

/// The least that passes for a bzImage: it says it needs 1 MiB from 16 MiB on.
pub fn guest_kernel() -> Vec<u8> {
    let mut bytes = vec![0; 0x600];
    bytes[0x1f1] = 1;
    bytes[0x1f4] = 32;
    bytes[0x1fe..0x200].copy_from_slice(&[0x55, 0xaa]);
    bytes[0x202..0x206].copy_from_slice(b"HdrS");
    bytes[0x206..0x208].copy_from_slice(&0x020f_u16.to_le_bytes());
    bytes[0x236] = 1;
    bytes[0x258..0x260].copy_from_slice(&(16_u64 << 20).to_le_bytes());
    bytes[0x260..0x264].copy_from_slice(&(1_u32 << 20).to_le_bytes());
    let end = bytes.len() - 4;
    let checksum = crc_remainder(&bytes[..end]);
    bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// CRC-32 without the final inversion: what a bzImage ends with.
fn crc_remainder(bytes: &[u8]) -> u32 {
    let shift = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), shift))
}

/// A guest kernel of the tree's own: an ELF file with a PVH entry.
fn own_kernel() -> Vec<u8> {
    let head = [4u32, 4, 18].map(u32::to_le_bytes).concat();
    let note = [&head, b"Xen\0".as_slice(), &(CODE.0 as u32).to_le_bytes()].concat();
    elf_with_note(CODE.0, &[CODE, DATA], &note)
}

/// The least that passes for a firmware.
fn firmware() -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    bytes[4096 - 16] = 0xea;
    bytes
}

/// Writes a whole program for every name, a guest kernel, a ramdisk and a firmware.
pub fn build_all(assets: &system::Assets) {
    for path in assets.programs.values() {
        let is_kernel = path.file_stem().is_some_and(|stem| stem == "smp_guest" || stem == "flood_guest");
        write(path, &if is_kernel { own_kernel() } else { elf(CODE.0, &[CODE, DATA]) });
    }
    // Several names may stand for one file.
    for path in assets.files.values() {
        let bytes = match path.extension().and_then(|extension| extension.to_str()) {
            Some("img") => b"070701 the rest of an archive".to_vec(),
            Some("bin") => firmware(),
            _ => guest_kernel(),
        };
        write(path, &bytes);
    }
}

pub fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("the temporary folder can be written");
}
