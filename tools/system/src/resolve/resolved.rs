//! The resolved system: every id, slot and address, as data that prints as JSON. Addresses print in hexadecimal; ids stand
//! beside the names they came from.

use crate::layout::{PROT_EXEC, PROT_READ, PROT_WRITE};
use serde::{Serialize, Serializer};

/// Version of this JSON's shape.
pub const FORMAT: u32 = 2;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resolved {
    pub format: u32,
    pub system: String,
    pub about: String,
    pub machine: String,
    pub cpus: u32,
    /// Flags of the boot table's CPUs.
    pub mitigations: u32,
    /// Frames that must be free at boot: the quotas of all processes without parent.
    pub memory_frames: u64,
    pub processes: Vec<Process>,
    pub endpoints: Vec<Endpoint>,
    pub notifications: Vec<Notification>,
    pub buffers: Vec<Buffer>,
    pub shares: Vec<Share>,
    pub interrupts: Vec<Interrupt>,
    pub devices: Vec<Device>,
    pub vms: Vec<Vm>,
    pub consoles: Vec<Console>,
    pub image: Image,
}

/// An object by id and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ref {
    pub id: u32,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Process {
    pub id: u32,
    pub name: String,
    pub program: Option<String>,
    pub parent: Option<Ref>,
    pub starts_at_boot: bool,
    pub quota_frames: u32,
    /// The least quota with which it can start, without children.
    pub need_frames: u64,
    #[serde(serialize_with = "hex")]
    pub entry: u64,
    #[serde(serialize_with = "hex")]
    pub stack_top: u64,
    #[serde(serialize_with = "hex")]
    pub argument: u64,
    pub fault_endpoint: Option<Ref>,
    pub threads: Vec<Thread>,
    pub segments: Vec<Segment>,
    pub grants: Vec<Grant>,
    pub environment: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Thread {
    pub id: u32,
    pub name: String,
    pub cpu: u32,
    pub priority: u32,
    /// 0: no reservation.
    pub period_ns: u64,
    pub budget_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Segment {
    pub what: String,
    #[serde(serialize_with = "hex")]
    pub vaddr: u64,
    #[serde(serialize_with = "hex")]
    pub memory_size: u64,
    #[serde(serialize_with = "hex")]
    pub image_offset: u64,
    #[serde(serialize_with = "hex")]
    pub image_size: u64,
    /// PROT_* bits; prints as `r-x`.
    #[serde(serialize_with = "protection")]
    pub prot: u32,
    /// Copied into frames of the process; else the image's own frames are mapped.
    pub copied: bool,
    /// The kernel's trace; nothing of it is in the image.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub trace: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Grant {
    pub slot: u32,
    /// KIND.NAME as the process sees it.
    pub name: String,
    /// GRANT_* number.
    pub kind: u32,
    pub object: u32,
    pub rights: u32,
    #[serde(serialize_with = "hex")]
    pub badge: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Endpoint {
    pub id: u32,
    pub name: String,
    pub receiver: Ref,
    pub fifo: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notification {
    pub id: u32,
    pub name: String,
    pub waiter: Ref,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Buffer {
    pub id: u32,
    pub name: String,
    pub capacity: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Share {
    pub id: u32,
    pub name: String,
    pub from: Ref,
    pub to: Ref,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Interrupt {
    pub name: String,
    pub line: u32,
    pub level: bool,
    pub active_low: bool,
    pub notification: Ref,
    pub cpu: u32,
    /// The PCI function that may raise it by a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Device {
    pub id: u32,
    pub name: String,
    pub ports: bool,
    #[serde(serialize_with = "hex")]
    pub base: u64,
    #[serde(serialize_with = "hex")]
    pub size: u64,
    /// Bus in bits 8 to 15, device in 3 to 7, function in 0 to 2.
    pub function: Option<u32>,
    pub owner: Ref,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Vm {
    pub id: u32,
    pub monitor: Ref,
    pub memory: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Console {
    pub id: u32,
    pub name: String,
    pub up: Option<String>,
}

/// The system image: the boot table, then the payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Image {
    #[serde(serialize_with = "hex")]
    pub payload_offset: u64,
    #[serde(serialize_with = "hex")]
    pub size: u64,
    pub payload: Vec<Chunk>,
}

/// One page-aligned part of the payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Chunk {
    pub what: String,
    #[serde(serialize_with = "hex")]
    pub offset: u64,
    #[serde(serialize_with = "hex")]
    pub size: u64,
}

impl Resolved {
    /// Indented JSON, the same for the same input: made to be compared.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}

fn hex<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{number:#x}"))
}

fn protection<S: Serializer>(prot: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    let letters = [(PROT_READ, 'r'), (PROT_WRITE, 'w'), (PROT_EXEC, 'x')];
    let text: String = letters.iter().map(|(bit, letter)| if prot & bit != 0 { *letter } else { '-' }).collect();
    serializer.serialize_str(&text)
}
