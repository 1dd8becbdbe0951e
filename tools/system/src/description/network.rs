//! The clients of a switch, with the hardware addresses that they have there.

use super::guest_links::Device;
use super::{Description, Process};
use std::fmt;

/// Clients that a switch serves at most: `NET_PORTS` of `ashlar/net_port.h`.
pub const MOST_CLIENTS: usize = 8;

/// A hardware address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// That of client number `index` of its switch, from 0, if the description gives none. Locally administered: no card that was
    /// made has it.
    fn of_client(index: usize) -> Mac {
        Mac([0x02, b'A', b'S', b'H', 0, index as u8 + 1])
    }

    /// Reads six bytes of two hexadecimal digits each, with colons between.
    pub fn read(text: &str) -> Option<Mac> {
        let mut bytes = [0; 6];
        let parts: Vec<&str> = text.split(':').collect();
        if parts.len() != bytes.len() {
            return None;
        }
        for (byte, part) in bytes.iter_mut().zip(parts) {
            let is_digits = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
            *byte = is_digits.then(|| u8::from_str_radix(part, 16).ok()).flatten()?;
        }
        Some(Mac(bytes))
    }

    /// All stations of a network, or some of them.
    pub fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

/// A client of a switch.
#[derive(Debug, Clone, Copy)]
pub struct Client<'a> {
    pub process: &'a Process,
    pub mac: Mac,
    pub share: u64,
}

/// The clients of `switch` in the order of the text, guests and processes alike; none if it is no switch.
pub fn clients<'a>(description: &'a Description, switch: &'a Process) -> impl Iterator<Item = Client<'a>> {
    let is_client = move |process: &&Process| {
        let named = process.network.as_ref().is_some_and(|network| network.value == switch.name.value);
        named && Device::Network.is_shared_by(switch) && process.name.value != switch.name.value
    };
    let mut all: Vec<&Process> = description.processes.iter().filter(is_client).collect();
    all.sort_by_key(|client| client.name.span.start);
    all.into_iter().enumerate().map(|(index, process)| Client {
        process,
        mac: process.mac.as_ref().and_then(|text| Mac::read(&text.value)).unwrap_or_else(|| Mac::of_client(index)),
        share: process.network_share.as_ref().map_or(1, |share| share.value),
    })
}

#[cfg(test)]
mod tests {
    use super::Mac;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for text in ["02:41:53:48:00:01", "fe:dc:ba:98:76:54"] {
            assert_eq!(Mac::read(text).map(|mac| mac.to_string()), Some(text.to_string()));
        }
        assert_eq!(Mac::read("02:00:00:00:00:AB"), Some(Mac([2, 0, 0, 0, 0, 0xab])));
        for text in
            ["", "02:00:00:00:00", "02:00:00:00:00:01:02", "2:0:0:0:0:1", "02-00-00-00-00-01", "02:00:00:00:00:+1"]
        {
            assert_eq!(Mac::read(text), None, "{text}");
        }
    }

    #[test]
    fn the_first_byte_says_what_is_a_group() {
        let is_group = |text| Mac::read(text).is_some_and(Mac::is_group);
        assert!(is_group("01:80:c2:00:00:00") && is_group("ff:ff:ff:ff:ff:ff") && !is_group("02:00:00:00:00:01"));
    }
}
