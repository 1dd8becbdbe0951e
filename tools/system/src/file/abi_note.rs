//! The note by which a program says what version of the kernel's interface it was built for.

use super::Flaw;
use crate::codes::Code;
use crate::layout::{ABI_VERSION, PROGRAM_NOTE_ABI, PROGRAM_NOTE_OWNER};
use object::elf::{FileHeader64, NoteType, ProgramHeader64};
use object::read::elf::{Note, ProgramHeader};
use object::Endianness;

const LINK_THE_NOTE: &str =
    "link it with crt0.S.o and user/libc/link.ld, which give it the note, and leave the note in the file: \
                             strip keeps it";
const BUILD_AGAIN: &str = "build it again with the headers and the library of this Ashlar";

/// What is wrong with the version that the program says it was built for.
pub(super) fn flaw(headers: &[ProgramHeader64<Endianness>], endian: Endianness, bytes: &[u8]) -> Option<Flaw> {
    let (message, remedy) = match version(headers, endian, bytes) {
        Some(ABI_VERSION) => return None,
        Some(other) => {
            let of_this = format!("this Ashlar has version {ABI_VERSION}");
            (format!("built for version {other} of the kernel's interface, and {of_this}"), BUILD_AGAIN)
        }
        None => ("no note says that it was built for Ashlar, and for which version".into(), LINK_THE_NOTE),
    };
    Some(Flaw { code: Code::OtherAbi, message, remedy })
}

/// What the first note of the kernel's owner and type says; nothing if there is none that can be read.
fn version(headers: &[ProgramHeader64<Endianness>], endian: Endianness, bytes: &[u8]) -> Option<u32> {
    let notes = |header: &ProgramHeader64<Endianness>| header.notes(endian, bytes).ok().flatten();
    headers.iter().filter_map(notes).find_map(|mut notes| loop {
        let note: Note<'_, FileHeader64<Endianness>> = notes.next().ok()??;
        if note.name() == PROGRAM_NOTE_OWNER.as_bytes() && note.n_type(endian) == NoteType(PROGRAM_NOTE_ABI) {
            return note.desc().try_into().ok().map(u32::from_le_bytes);
        }
    })
}
