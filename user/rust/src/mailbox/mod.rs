//! Mailboxes: speaking a protocol with a driver, as its client, or serving one.
//!
//! Each protocol is a module, of [`protocols`](crate::protocols) or of the project's own crate `protocols`, with a type for every
//! message. A process has one [`Domain`], which waits; its [`Client`]s and [`Server`]s are the ends of links:
//!
//! ```ignore
//! let mut domain = Domain::start()?;
//! let disk: Client<Sata> = domain.connect("ahci", 64, 16)?;
//! let answers = Set::new().with(&disk, sata::START_OK | sata::START_FAIL);
//! loop {
//!     let mail = domain.wait(&answers);
//!     match disk.take(&mail) {
//!         Some(Event::LinkUp) => disk.emit(sata::Start)?,
//!         Some(Event::LinkLost) => println!("the driver has ended; the link comes up again with its successor"),
//!         Some(Event::Message(sata::FromDriver::StartOk(ok))) => println!("{} slots", ok.slots),
//!         Some(Event::Message(other)) => println!("{other:?}"),
//!         None => {} // of another port
//!     }
//! }
//! ```
//!
//! The messages are those of C programs, put in and taken out by the same library (`user/runtime`): its rings, its making of
//! links and its run-time monitor are checked and tested there, and a second one would double what has to be trusted. What this
//! module adds are types: a message cannot be sent the wrong way, and a field out of its range, or a cookie that no request
//! has, is refused before it is sent and never received. The monitor follows what a server sends and gets: a client that
//! breaks the protocol is cut off, and a server that does ends, as in C.
//!
//! A link is described as for programs in C: a share `DRIVER-PROTOCOL` from the client to the driver, and for each of them
//! a notification of its own name that the other one may signal.

mod area;
mod message;
mod port;

pub use area::Area;
pub use message::{Mailboxes, Message, Messages, Payload, Protocol, Tables, PAYLOAD};
pub use port::{Client, Event, Port, Server};

use crate::env;
use crate::error::{Error, Result};
use crate::time::Time;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, Ordering};

/// Ports of a domain, `DOMAIN_PORTS` of `user/include/ashlar/domain.h`. Port 0 is that of events.
const PORTS: usize = 16;
/// What `domain_await` gives when the deadline has passed.
const TIMEOUT: u32 = u32::MAX;
/// Messages that a ring may have room for: up to `LINK_MAX_CAPACITY`.
const CAPACITIES: core::ops::RangeInclusive<u32> = 64..=4096;
/// `LINK_MAX_PAGES`.
const MOST_PAGES: u32 = 4096;
/// Bytes of a name with the 0 behind it, as the library has room for.
const NAME_BYTES: usize = 72;

/// A message as it lies in a ring: `struct mail` of `user/include/ashlar/ring.h`.
#[repr(C)]
struct RawMail {
    mailbox: u32,
    sequence: u32,
    cookie: u64,
    spare: u64,
    payload: Payload,
}

extern "C" {
    /// The message that was taken last.
    static domain_current: *const RawMail;
    fn domain_start();
    fn domain_end();
    fn domain_flush();
    fn domain_await(set: &Set, deadline: u64) -> u32;
    fn domain_hold(port: u32);
    fn domain_release(port: u32);
    fn domain_refuse(port: u32);
    fn domain_connect(port: u32, driver: *const u8, protocol: *const Tables, capacity: u32, data_pages: u32);
    fn domain_serve(protocol: *const Tables);
    fn domain_serve_at(port: u32, protocol: *const Tables, client: *const u8, share: *const u8);
    fn domain_send(mailbox: u32, cookie: u64, body: *const u8, size: u64);
    fn domain_data(port: u32, bytes: &mut u64) -> *mut u8;
}

/// The mailboxes that [`Domain::wait`] waits for, of any number of ports. To make one takes longer than a message: keep it.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    mask: [u64; PORTS],
}

impl Set {
    /// None.
    #[must_use]
    pub const fn new() -> Set {
        Set { mask: [0; PORTS] }
    }

    /// These of a port too; of a client's port always that its link is up, or lost.
    #[must_use]
    pub fn with<P: Port>(mut self, port: &P, mailboxes: Mailboxes<P::Received>) -> Set {
        self.mask[port.number() as usize] |= mailboxes.bits() | P::NEWS;
        self
    }

    /// These bits of the process's own notification too, each an event: the end of a
    /// [child](crate::process::Child::end_bit) for instance.
    #[must_use]
    pub const fn events(mut self, bits: u64) -> Set {
        self.mask[0] |= bits;
        self
    }
}

/// A message that has come, until the next wait: [`Client::take`] and [`Server::take`] say what it is.
#[derive(Debug)]
pub struct Mail<'a> {
    /// The port's number, then that of the message.
    mailbox: u32,
    taken: PhantomData<&'a mut Domain>,
}

impl Mail<'_> {
    /// The number of the event's bit, if it is one.
    #[inline(always)]
    #[must_use]
    pub fn event(&self) -> Option<u32> {
        (self.mailbox >> 8 == 0).then_some(self.mailbox)
    }

    #[inline(always)]
    fn raw(&self) -> &RawMail {
        // SAFETY: the library keeps the message that was taken last until the next wait, which `taken` forbids while this lives.
        // No other process sees it: it was copied from its ring.
        unsafe { &*domain_current }
    }
}

/// This process's mailboxes. It and its ports stay with one thread.
#[derive(Debug)]
pub struct Domain {
    /// A bit for each number that has a port.
    ports: u32,
    /// The library knows of no other threads.
    stays: PhantomData<*mut ()>,
}

static IS_STARTED: AtomicBool = AtomicBool::new(false);

impl Domain {
    /// Once in a process.
    ///
    /// # Errors
    /// `BAD_SLOT` if the description gives this process no notification of its own name, `BAD_STATE` if there was a domain
    /// before.
    pub fn start() -> Result<Domain> {
        env::slot("notification.", env::name())?;
        if IS_STARTED.swap(true, Ordering::Relaxed) {
            return Err(Error::BAD_STATE);
        }
        // SAFETY: called once, before all other functions of the library.
        unsafe { domain_start() };
        Ok(Domain { ports: 1, stays: PhantomData })
    }

    /// Becomes a client of DRIVER, at the port with the protocol's number. The rings have room for `capacity` messages each, a
    /// power of two from 64 to 4096; the driver and this process share `data_pages` pages for what is larger than a message.
    /// The link comes up, and comes up again with each successor of the driver, while the domain waits. A quota that does not
    /// hold the pages ends the process.
    ///
    /// # Errors
    /// `BAD_SLOT` if the description gives this process no share `DRIVER-PROTOCOL` (nor `DRIVER-PROTOCOL-SELF`) or does not let
    /// it signal notification `DRIVER`; `BAD_ARGUMENT` for sizes that no link has; `BAD_STATE` if the port is taken.
    pub fn connect<P: Protocol>(&mut self, driver: &str, capacity: u32, data_pages: u32) -> Result<Client<P>> {
        self.connect_at(P::NUMBER, driver, capacity, data_pages)
    }

    /// As [`connect`](Self::connect), at port 1 to 15: for several drivers of one protocol.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect); `BAD_ARGUMENT` also for another port.
    pub fn connect_at<P: Protocol>(
        &mut self,
        port: u32,
        driver: &str,
        capacity: u32,
        data_pages: u32,
    ) -> Result<Client<P>> {
        let has_share =
            |name: &[&str]| env::slot("share.", joined(name)?.as_str()).is_ok().then_some(()).ok_or(Error::BAD_SLOT);
        has_share(&[driver, "-", P::NAME, "-", env::name()]).or_else(|_| has_share(&[driver, "-", P::NAME]))?;
        env::slot("notification.", driver)?;
        let is_size = CAPACITIES.contains(&capacity) && capacity.is_power_of_two();
        let ring_pages = 1 + 2 * (capacity / (4096 / size_of::<RawMail>() as u32));
        if !is_size || data_pages > MOST_PAGES - ring_pages {
            return Err(Error::BAD_ARGUMENT);
        }
        let driver = joined(&[driver])?;
        self.take_port(port)?;
        // SAFETY: the port is free, the name ends with a 0, the tables are the protocol's.
        unsafe {
            domain_connect(port, driver.bytes.as_ptr(), P::tables(), capacity, data_pages);
            domain_hold(port);
        }
        Ok(Client::at(port))
    }

    /// Becomes the server of a protocol, at the port with its number. The client is the process that argument PROTOCOL of the
    /// description names. A client that is started anew is served anew.
    ///
    /// # Errors
    /// `BAD_ARGUMENT` without that argument, `BAD_SLOT` if the description gives this process no share `SELF-PROTOCOL` or does
    /// not let it signal the client's notification, `BAD_STATE` if the port is taken.
    pub fn serve<P: Protocol>(&mut self) -> Result<Server<P>> {
        if P::IS_LINKED {
            let client = env::arg(P::NAME).ok_or(Error::BAD_ARGUMENT)?;
            env::slot("share.", joined(&[env::name(), "-", P::NAME])?.as_str())?;
            env::slot("notification.", joined(&[client])?.as_str())?;
        }
        self.take_port(P::NUMBER)?;
        // SAFETY: the port is free, the tables are the protocol's.
        unsafe { domain_serve(P::tables()) };
        Ok(Server::at(P::NUMBER))
    }

    /// ... of one of several clients, each at a port of its own, with the share that is called so.
    ///
    /// # Errors
    /// `BAD_SLOT` if the description gives this process no such share, or does not let it signal the client's notification;
    /// `BAD_ARGUMENT` for a port that is none of 1 to 15, `BAD_STATE` if it is taken.
    pub fn serve_at<P: Protocol>(&mut self, port: u32, client: &str, share: &str) -> Result<Server<P>> {
        env::slot("share.", share)?;
        env::slot("notification.", client)?;
        let (client, share) = (joined(&[client])?, joined(&[share])?);
        self.take_port(port)?;
        // SAFETY: the port is free, the names end with a 0, the tables are the protocol's.
        unsafe { domain_serve_at(port, P::tables(), client.bytes.as_ptr(), share.bytes.as_ptr()) };
        Ok(Server::at(port))
    }

    fn take_port(&mut self, port: u32) -> Result<()> {
        if port == 0 || port as usize >= PORTS {
            return Err(Error::BAD_ARGUMENT);
        }
        if self.ports >> port & 1 != 0 {
            return Err(Error::BAD_STATE);
        }
        self.ports |= 1 << port;
        Ok(())
    }

    /// Waits for a message of the set, and takes it. Peers that were sent something are signalled before.
    #[inline(always)]
    pub fn wait(&mut self, set: &Set) -> Mail<'_> {
        // SAFETY: the domain is started. The library changes what no reference is left to: areas and messages borrow `self`.
        Mail { mailbox: unsafe { domain_await(set, Time::NEVER.0) }, taken: PhantomData }
    }

    /// ... or until a deadline: then there is none.
    #[inline(always)]
    pub fn wait_until(&mut self, set: &Set, deadline: Time) -> Option<Mail<'_>> {
        // SAFETY: as in `wait`.
        let mailbox = unsafe { domain_await(set, deadline.0) };
        (mailbox != TIMEOUT).then_some(Mail { mailbox, taken: PhantomData })
    }

    /// Signals the peers that were sent something, as a wait does: for a program that goes on without one.
    pub fn flush(&mut self) {
        // SAFETY: the domain is started.
        unsafe { domain_flush() };
    }
}

/// What was sent last is signalled. In a debug image a server whose protocol is not at its end says so.
impl Drop for Domain {
    fn drop(&mut self) {
        // SAFETY: the domain is started.
        unsafe { domain_end() };
    }
}

/// A name with a 0 behind it.
struct Name {
    bytes: [u8; NAME_BYTES],
    length: usize,
}

impl Name {
    fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

/// The parts, one behind the other; `BAD_SLOT` for what is longer than any name of a description.
fn joined(parts: &[&str]) -> Result<Name> {
    let mut name = Name { bytes: [0; NAME_BYTES], length: 0 };
    for part in parts {
        let end = name.length + part.len();
        // The last byte stays 0.
        let place = name.bytes[..NAME_BYTES - 1].get_mut(name.length..end).ok_or(Error::BAD_SLOT)?;
        place.copy_from_slice(part.as_bytes());
        name.length = end;
    }
    Ok(name)
}

#[cfg(test)]
mod tests;
