//! What the system description says about this process: its grants, its arguments, its files.
//!
//! The kernel maps it as a page of text, one `key=value` a line: `name=PROCESS`, `thread.NAME=INDEX`, `arg.KEY=VALUE`,
//! `slot.KIND.NAME=SLOT`, `file.NAME=0xADDRESS SIZE`. Look-ups read the text each time; keep what they give.

use crate::abi::ENV_VADDR;
use crate::error::{Error, Result};
use crate::memory::PAGE_SIZE;

/// The page's text.
fn page() -> &'static str {
    // SAFETY: the kernel maps the page, read-only and for good, before the process starts.
    let bytes = unsafe { core::slice::from_raw_parts(ENV_VADDR as *const u8, PAGE_SIZE) };
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    core::str::from_utf8(text).unwrap_or_default()
}

/// The value of the line whose key is the parts, one behind the other.
fn find<'a>(text: &'a str, parts: [&str; 3]) -> Option<&'a str> {
    text.lines().find_map(|line| parts.iter().try_fold(line, |rest, part| rest.strip_prefix(part))?.strip_prefix('='))
}

/// The rest of the key, and the value, of each line whose key begins so.
fn all<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    text.lines().filter_map(move |line| line.strip_prefix(prefix)?.split_once('='))
}

/// A number, decimal or `0x` hexadecimal.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The same with a suffix `K`, `M` or `G`.
fn sized(text: &str) -> Option<u64> {
    let suffix =
        [("K", 10), ("M", 20), ("G", 30)].iter().find_map(|(one, shift)| Some((text.strip_suffix(one)?, shift)));
    match suffix {
        Some((text, shift)) => number(text)?.checked_mul(1 << shift),
        None => number(text),
    }
}

/// This process's name.
pub fn name() -> &'static str {
    find(page(), ["name", "", ""]).unwrap_or_default()
}

/// The argument `args.KEY` of the description, if it is given.
pub fn arg(key: &str) -> Option<&'static str> {
    find(page(), ["arg.", key, ""])
}

/// The argument as a number (decimal, `0x` hexadecimal, suffix K, M or G); `fallback` if it is not given or no number.
pub fn arg_u64(key: &str, fallback: u64) -> u64 {
    arg(key).and_then(sized).unwrap_or(fallback)
}

/// A file that the description has mapped into this process.
pub fn file(name: &str) -> Option<&'static [u8]> {
    let (address, bytes) = find(page(), ["file.", name, ""])?.split_once(' ')?;
    let (address, bytes) = (number(address)?, number(bytes)?);
    // SAFETY: the kernel maps the file, read-only and for good, where the page says that it is.
    Some(unsafe { core::slice::from_raw_parts(address as *const u8, usize::try_from(bytes).ok()?) })
}

/// The slot of the grant NAME of a kind; `BAD_SLOT` if the description gives none.
pub(crate) fn slot(kind: &str, name: &str) -> Result<u32> {
    find(page(), ["slot.", kind, name]).and_then(|value| value.parse().ok()).ok_or(Error::BAD_SLOT)
}

/// The slots of a kind, `slot.KIND.`, with the names of their grants.
pub(crate) fn slots(prefix: &'static str) -> impl Iterator<Item = (&'static str, u32)> {
    all(page(), prefix).filter_map(|(name, slot)| Some((name, slot.parse().ok()?)))
}

/// The index of the thread NAME of this process.
pub(crate) fn thread(name: &str) -> Result<u32> {
    find(page(), ["thread.", name, ""]).and_then(|value| value.parse().ok()).ok_or(Error::BAD_ARGUMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name=hub\nslot.endpoint.echo=3\nslot.endpoint.echo2=4\narg.period=5K\nfile.x=0x1000 12\n";

    #[test]
    fn a_key_is_found_whole() {
        assert_eq!(find(TEXT, ["name", "", ""]), Some("hub"));
        assert_eq!(find(TEXT, ["slot.", "endpoint.", "echo"]), Some("3"));
        assert_eq!(find(TEXT, ["slot.", "endpoint.", "ech"]), None);
        assert_eq!(find(TEXT, ["arg.", "perio", ""]), None);
        assert!(all(TEXT, "slot.endpoint.").eq([("echo", "3"), ("echo2", "4")]));
    }

    #[test]
    fn numbers_may_have_a_size() {
        assert_eq!([sized("5K"), sized("0x10M"), sized("7")], [Some(5120), Some(16 << 20), Some(7)]);
        assert_eq!([sized(""), sized("K"), sized("1T"), sized("-1"), sized("0xffffffffffffffffK")], [None; 5]);
    }
}
