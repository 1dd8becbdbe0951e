//! Images of a BIOS with which a guest starts.

use super::Flaw;
use crate::codes::Code;
use crate::layout::{MIB, PAGE_SIZE};

const MOST: u64 = MIB;
/// So far before its end a processor begins, with a far jump.
const ENTRY: usize = 16;
const FAR_JUMP: u8 = 0xea;

/// Whole pages, at most 1 MiB, with a far jump where a processor begins.
pub fn check(bytes: &[u8]) -> Result<(), Flaw> {
    let length = bytes.len() as u64;
    let reason = if length == 0 || length > MOST || length % PAGE_SIZE != 0 {
        format!("{length} bytes are not whole pages of {PAGE_SIZE}, at most {MOST}")
    } else if bytes[bytes.len() - ENTRY] != FAR_JUMP {
        format!("{ENTRY} bytes before its end, where a processor begins, is no far jump")
    } else {
        return Ok(());
    };
    let message = format!("not a firmware: {reason}");
    let remedy = "name an image of a BIOS for QEMU's machine microvm, such as firmware = \"seabios\"";
    Err(Flaw { code: Code::GuestFirmware, message, remedy })
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn an_image_has_whole_pages_and_a_jump_where_processors_begin() {
        let mut image = vec![0; 128 << 10];
        assert!(check(&image).is_err());
        image[(128 << 10) - 16] = 0xea;
        assert!(check(&image).is_ok());
        for length in [0, 16, 4095, (128 << 10) - 1, (1 << 20) + 4096] {
            let mut other = image.clone();
            other.resize(length, 0xea);
            assert!(check(&other).is_err(), "{length}");
        }
    }
}
