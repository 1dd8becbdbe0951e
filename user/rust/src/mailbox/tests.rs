use super::*;
use crate::protocols::{ethernet, sata};

/// A message as the other side reads it.
fn sent<M: Message>(message: M) -> Option<M::Of> {
    M::Of::read(M::NUMBER, message.cookie(), &message.payload())
}

#[test]
fn what_is_sent_is_what_is_read() {
    let write = sata::Write { cookie: 31, sector: 1 << 40, count: 65536, buffer: 0xdead_beef, force: 1 };
    assert!(write.is_valid());
    assert_eq!(sent(write), Some(sata::ToDriver::Write(write)));
    assert_eq!(sent(sata::Flush), Some(sata::ToDriver::Flush));
    let open = ethernet::OpenOk { address: [1, 2, 3, 4, 5, 6], features: 7 };
    assert_eq!(sent(open), Some(ethernet::FromDriver::OpenOk(open)));
}

#[test]
fn a_payload_lies_as_in_c() {
    let write = sata::Write { cookie: 0, sector: 0x0102_0304_0506_0708, count: 0x0a0b, buffer: 0x0c0d, force: 1 };
    let payload = write.payload();
    assert_eq!(payload[..8], [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(payload[8..17], [0x0b, 0x0a, 0, 0, 0x0d, 0x0c, 0, 0, 1]);
    assert_eq!(<sata::Write as Message>::BYTES, 17);
    let ok = sata::StartOk { slots: 1, features: 2 };
    assert_eq!(ok.payload()[..8], [1, 0, 0, 0, 2, 0, 0, 0]);
}

#[test]
fn what_is_out_of_range_is_neither_sent_nor_read() {
    let good = sata::Write { cookie: 31, sector: 0, count: 1, buffer: 0, force: 0 };
    for bad in [
        sata::Write { cookie: 32, ..good },
        sata::Write { count: 0, ..good },
        sata::Write { count: 65537, ..good },
        sata::Write { force: 2, ..good },
    ] {
        assert!(!bad.is_valid());
        assert_eq!(sent(bad), None);
    }
    // A message of the other direction, and one that there is not.
    assert_eq!(sata::FromDriver::read(sata::Write::NUMBER, 0, &good.payload()), None);
    assert_eq!(sata::ToDriver::read(61, 0, &good.payload()), None);
}

#[test]
fn a_set_has_the_mailboxes_of_its_ports() {
    let (client, server): (Client<sata::Sata>, Server<ethernet::Ethernet>) = (Client::at(3), Server::at(2));
    let set = Set::new().with(&client, sata::DONE | sata::FAILED).with(&server, ethernet::OPEN).events(5);
    assert_eq!(set.mask[3], 1 << 0x13 | 1 << 0x14 | 1 << 62 | 1 << 63);
    assert_eq!((set.mask[2], set.mask[0]), (1, 5));
    assert_eq!(sata::FromDriver::ALL.bits() | sata::ToDriver::ALL.bits(), (1 << 35) - 1);
}

#[test]
fn names_end_with_a_0_and_are_not_cut() {
    let name = joined(&["ahci", "-", "sata"]).expect("short enough");
    assert_eq!((name.as_str(), name.bytes[9]), ("ahci-sata", 0));
    assert!(joined(&[&"x".repeat(71)]).is_ok_and(|name| name.bytes[71] == 0));
    assert_eq!(joined(&[&"x".repeat(70), "yz"]).err(), Some(Error::BAD_SLOT));
}
