//! The number of a PCI function, as people write it.

/// Number of a PCI function such as `00:1f.2`: bus in bits 8 to 15, device in 3 to 7, function in 0 to 2.
pub fn pci_function(text: &str) -> Option<u64> {
    let (bus, rest) = text.trim().split_once(':')?;
    let (device, function) = rest.split_once('.')?;
    let part = |digits: &str, width: usize, limit: u64| {
        let number = u64::from_str_radix(digits, 16).ok()?;
        (digits.len() == width && !digits.starts_with('+') && number < limit).then_some(number)
    };
    Some(part(bus, 2, 256)? << 8 | part(device, 2, 32)? << 3 | part(function, 1, 8)?)
}

#[cfg(test)]
mod tests {
    use super::pci_function;

    #[test]
    fn functions_have_a_bus_a_device_and_a_function() {
        assert_eq!(pci_function("00:04.0"), Some(0x20));
        assert_eq!(pci_function("ff:1f.7"), Some(0xffff));
        for wrong in ["00:20.0", "00:04.8", "0:4.0", "00:04", "000:04.0", "00:+4.0", "0000:00:04.0", ""] {
            assert_eq!(pci_function(wrong), None, "{wrong}");
        }
    }
}
