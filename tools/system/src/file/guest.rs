//! Kernels for guests, by the Linux x86 boot protocol (bzImage) or the PVH protocol (ELF), and initial ramdisks.

use super::{pvh, Flaw};
use crate::codes::Code;
use crc32fast::hash as crc32;

const BOOT_FLAG: usize = 0x1fe;
const SETUP_SECTORS: usize = 0x1f1;
const SYSTEM_SIZE: usize = 0x1f4;
const MAGIC: usize = 0x202;
const VERSION: usize = 0x206;
const KERNEL_VERSION: usize = 0x20e;
const LOAD_FLAGS: usize = 0x236;
const PAYLOAD_LENGTH: usize = 0x24c;
const PREFERRED_ADDRESS: usize = 0x258;
const INIT_SIZE: usize = 0x260;
const HEADER_END: usize = 0x264;

/// Of a file that is an EFI program too: where its header begins, and in that the fields that signing changes.
const EFI_HEADER: usize = 0x3c;
const EFI_CHECKSUM: usize = 24 + 64;
const EFI_SIGNATURE: usize = 24 + 112 + 4 * 8;
/// CRC-32 of a kernel whose last four bytes are the checksum of the rest.
const WHOLE_CRC: u32 = 0xffff_ffff;

/// Linux from this version on has no checksum.
const WITHOUT_CRC: (u32, u32) = (6, 15);

const SECTOR: u64 = 512;
const LEAST_VERSION: u16 = 0x020c;
const HAS_64_BIT_ENTRY: u16 = 1;

/// First bytes of the archives and packings that Linux unpacks.
const INITRD_BEGINNINGS: &[&[u8]] = &[
    b"070701",
    b"070702",
    b"\x1f\x8b",
    b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd",
    b"\x02\x21\x4c\x18",
    b"\x89LZO",
    b"BZh",
    b"\x5d\0\0",
];

fn flaw(reason: String) -> Result<(), Flaw> {
    let message = format!("not a usable guest kernel: {reason}");
    let remedy = "fetch the kernel again, or name a Linux bzImage or an ELF file with a PVH entry";
    Err(Flaw { code: Code::DamagedKernel, message, remedy })
}

/// A bzImage for 64-bit x86, or an ELF file with a PVH entry, whole.
pub fn check_kernel(bytes: &[u8]) -> Result<(), Flaw> {
    match pvh::is_elf(bytes) {
        true => pvh::memory_end(bytes).map(|_| ()).or_else(|reason| flaw(reason.into())),
        false => check_image(bytes),
    }
}

fn check_image(bytes: &[u8]) -> Result<(), Flaw> {
    if bytes.len() < HEADER_END {
        return flaw(format!("{} bytes are less than its header", bytes.len()));
    }
    if u16_at(bytes, BOOT_FLAG) != 0xaa55 {
        return flaw("the boot flag 0xAA55 is missing".into());
    }
    if &bytes[MAGIC..MAGIC + 4] != b"HdrS" {
        return flaw("the signature HdrS is missing".into());
    }
    let version = u16_at(bytes, VERSION);
    if version < LEAST_VERSION {
        return flaw(format!("boot protocol {}.{}, but 2.12 is the least", version >> 8, version & 0xff));
    }
    if u16_at(bytes, LOAD_FLAGS) & HAS_64_BIT_ENTRY == 0 {
        return flaw("it has no 64-bit entry point".into());
    }
    let setup = match bytes[SETUP_SECTORS] {
        0 => 4,
        sectors => u64::from(sectors),
    };
    let whole = (setup + 1) * SECTOR + u64::from(u32_at(bytes, SYSTEM_SIZE)) * 16;
    // The last paragraph may be cut: the size is rounded up to 16 bytes.
    if (bytes.len() as u64) + 16 <= whole {
        return flaw(format!("it has {} bytes, but its header says {whole}", bytes.len()));
    }
    let has_checksum = is_linux(bytes) && version_of(bytes).is_none_or(|version| version < WITHOUT_CRC);
    if has_checksum && !checksum_fits(&bytes[..bytes.len().min(whole as usize)]) {
        return flaw("its checksum does not fit its contents".into());
    }
    Ok(())
}

/// Whether Linux's build made it: other programs for the same boot protocol, as memory testers, have no packed kernel inside, and no
/// version that begins with a number.
fn is_linux(kernel: &[u8]) -> bool {
    u32_at(kernel, PAYLOAD_LENGTH) != 0 || version_of(kernel).is_some()
}

/// Major and minor version of the kernel, by the text in its header.
fn version_of(kernel: &[u8]) -> Option<(u32, u32)> {
    let at = match u16_at(kernel, KERNEL_VERSION) {
        0 => return None,
        offset => 0x200 + usize::from(offset),
    };
    let text = kernel.get(at..)?.split(|byte| *byte == 0).next()?;
    let text = std::str::from_utf8(text.get(..text.len().min(64))?).ok()?;
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Whether the checksum at the end fits. It was made before the kernel was signed, so what signing wrote is taken as zero.
fn checksum_fits(kernel: &[u8]) -> bool {
    let mut unsigned = kernel.to_vec();
    if kernel.starts_with(b"MZ") {
        let header = u32_at(kernel, EFI_HEADER) as usize;
        for (at, length) in [(EFI_CHECKSUM, 4), (EFI_SIGNATURE, 8)] {
            let field = header.saturating_add(at);
            if let Some(field) = unsigned.get_mut(field..field.saturating_add(length)) {
                field.fill(0);
            }
        }
    }
    crc32(&unsigned) == WHOLE_CRC
}

/// End of the memory that the unpacked kernel uses, if the header gives it.
pub fn memory_end(kernel: &[u8]) -> Option<u64> {
    if pvh::is_elf(kernel) {
        return pvh::memory_end(kernel).ok();
    }
    check_kernel(kernel).ok()?;
    let address = u64::from_le_bytes(kernel.get(PREFERRED_ADDRESS..PREFERRED_ADDRESS + 8)?.try_into().ok()?);
    address.checked_add(u64::from(u32_at(kernel, INIT_SIZE)))
}

/// A cpio archive, plain or packed.
pub fn check_initrd(bytes: &[u8]) -> Result<(), Flaw> {
    if INITRD_BEGINNINGS.iter().any(|beginning| bytes.starts_with(beginning)) {
        return Ok(());
    }
    let message = "not an initial ramdisk: it begins like no archive that Linux unpacks".into();
    Err(Flaw { code: Code::DamagedInitrd, message, remedy: "build or fetch it again" })
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel() -> Vec<u8> {
        let mut bytes = vec![0; 0x400 + 512];
        bytes[SETUP_SECTORS] = 1;
        bytes[SYSTEM_SIZE] = 32;
        bytes[BOOT_FLAG] = 0x55;
        bytes[BOOT_FLAG + 1] = 0xaa;
        bytes[MAGIC..MAGIC + 4].copy_from_slice(b"HdrS");
        bytes[VERSION] = 0x0f;
        bytes[VERSION + 1] = 2;
        bytes[LOAD_FLAGS] = 1;
        bytes[PREFERRED_ADDRESS + 3] = 1;
        bytes[INIT_SIZE + 2] = 0x10;
        bytes[PAYLOAD_LENGTH] = 128;
        let end = bytes.len() - 4;
        let checksum = !crc32(&bytes[..end]);
        bytes[end..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    #[test]
    fn a_whole_kernel_is_taken_and_each_damage_is_not() {
        assert!(check_kernel(&kernel()).is_ok());
        assert_eq!(memory_end(&kernel()), Some((16 << 20) + (1 << 20)));
        for at in [BOOT_FLAG, MAGIC, VERSION + 1, LOAD_FLAGS] {
            let mut bytes = kernel();
            bytes[at] = 0;
            assert!(check_kernel(&bytes).is_err(), "{at:#x}");
        }
        for at in [0, 0x300, 0x500, 0x5ff] {
            let mut bytes = kernel();
            bytes[at] ^= 4;
            assert!(check_kernel(&bytes).unwrap_err().message.contains("checksum"), "{at:#x}");
        }
        let whole = kernel();
        for length in [0, 100, HEADER_END, whole.len() - 16] {
            assert!(check_kernel(&whole[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn a_kernel_of_a_version_without_checksum_needs_none() {
        for (version, needs) in [("6.14.9 (a@b)", true), ("6.15.0-rc1", false), ("7.0", false), ("?", true)] {
            let mut bytes = kernel();
            bytes[KERNEL_VERSION + 1] = 2; // at 0x400
            bytes[0x400..0x400 + version.len()].copy_from_slice(version.as_bytes());
            assert_eq!(check_kernel(&bytes).is_err(), needs, "{version}");
        }
    }

    #[test]
    fn a_program_that_is_not_linux_needs_no_checksum() {
        for (version, payload, needs) in
            [("Memtest86+ v6.10", 0, false), ("Memtest86+ v6.10", 1, true), ("6.1.0", 0, true)]
        {
            let mut bytes = kernel();
            bytes[PAYLOAD_LENGTH] = payload;
            bytes[KERNEL_VERSION + 1] = 2; // at 0x400
            bytes[0x400..0x400 + version.len()].copy_from_slice(version.as_bytes());
            assert_eq!(check_kernel(&bytes).is_err(), needs, "{version}, {payload}");
        }
    }

    #[test]
    fn initial_ramdisks_are_told_by_their_beginning() {
        assert!(check_initrd(b"070701xxxx").is_ok());
        assert!(check_initrd(b"\x1f\x8bxx").is_ok());
        assert!(check_initrd(b"<html>").is_err());
        assert!(check_initrd(b"").is_err());
    }
}
