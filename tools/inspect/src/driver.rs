//! In which states a driver's protocols are: its run-time monitor follows them in the driver's own memory.

use crate::layout::{structures, Structure};
use crate::memory::Memory;
use crate::table::TableError;
use object::{Object, ObjectSegment, ObjectSymbol};
use std::collections::BTreeMap;

/// Ports that a domain has; see `user/include/ashlar/domain.h`.
const PORTS: u64 = 16;

/// A program that is an active driver, or a client of one.
#[derive(Debug)]
pub struct Program {
    /// Of the variable `domain_ports`.
    ports: u64,
    structures: BTreeMap<String, Structure>,
    /// The bytes of constant data, by address.
    constants: Vec<(u64, Vec<u8>)>,
}

/// A protocol that the program drives, and the state it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    pub protocol: String,
    pub state: String,
}

impl Program {
    /// From the program's file with its debugging information; none if it has no domain.
    pub fn of(elf: &[u8]) -> Result<Option<Program>, TableError> {
        let elf = object::File::parse(elf)?;
        let Some(ports) = elf.symbols().find(|symbol| symbol.name() == Ok("domain_ports")) else { return Ok(None) };
        let structures = structures(&elf, &["mail_port", "monitor", "protocol", "protocol_state"])?;
        let constants = elf.segments().filter_map(|one| Some((one.address(), one.data().ok()?.to_vec()))).collect();
        Ok(Some(Program { ports: ports.address(), structures, constants }))
    }

    /// The protocols that it drives, in the order of its ports. `root` is that of its page map. What is not there yet is left out.
    pub fn read(&self, memory: &Memory, root: u64) -> Result<Vec<Followed>, String> {
        let mut all = Vec::new();
        for port in 0..PORTS {
            all.extend(self.port(memory, root, port)?);
        }
        Ok(all)
    }

    fn port(&self, memory: &Memory, root: u64, port: u64) -> Result<Option<Followed>, String> {
        let Some((at, offsets)) = self.places(port) else { return Ok(None) };
        let word = |offset: u64| -> Result<Option<u64>, String> {
            memory.translate(root, at + offset)?.map(|place| memory.word(place)).transpose()
        };
        let Some(protocol) = word(offsets.protocol)?.filter(|protocol| *protocol != 0) else { return Ok(None) };
        if word(offsets.is_driver)?.unwrap_or(0) as u32 == 0 {
            return Ok(None);
        }
        let Some(state) = word(offsets.state)? else { return Ok(None) };
        Ok(self.followed(protocol, u64::from(state as u32)))
    }

    fn places(&self, port: u64) -> Option<(u64, Offsets)> {
        let one = self.structures.get("mail_port")?;
        let at = self.ports + port * one.bytes;
        let state = one.offset("monitor")? + self.structures.get("monitor")?.offset("state")?;
        Some((at, Offsets { protocol: one.offset("protocol")?, is_driver: one.offset("is_driver")?, state }))
    }

    fn followed(&self, protocol: u64, state: u64) -> Option<Followed> {
        let (layout, states) = (self.structures.get("protocol")?, self.structures.get("protocol_state")?);
        let name = self.text(self.constant(protocol + layout.offset("name")?)?)?;
        let one = self.constant(protocol + layout.offset("states")?)? + state * states.bytes;
        Some(Followed { protocol: name, state: self.text(self.constant(one + states.offset("name")?)?)? })
    }

    fn bytes(&self, address: u64) -> Option<&[u8]> {
        self.constants
            .iter()
            .find_map(|(start, bytes)| bytes.get(usize::try_from(address.checked_sub(*start)?).ok()?..))
    }

    fn constant(&self, address: u64) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(address)?.get(..8)?.try_into().ok()?))
    }

    fn text(&self, address: u64) -> Option<String> {
        let bytes = self.bytes(address)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

/// Of a port, from its beginning.
struct Offsets {
    protocol: u64,
    is_driver: u64,
    state: u64,
}
