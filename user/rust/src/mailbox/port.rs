//! The ends of links.

use super::message::{Message, Messages, Protocol, PAYLOAD};
use super::{domain_data, domain_refuse, domain_release, domain_send, Area, Domain, Mail};
use crate::error::{Error, Result};
use core::marker::PhantomData;

/// `MAIL_LINK_LOST` and `MAIL_LINK_UP` of `user/include/ashlar/domain.h`.
const LINK_LOST: u32 = 62;
const LINK_UP: u32 = 63;

/// One end of a link.
pub trait Port: private::Sealed {
    /// The messages that come here.
    type Received: Messages;
    #[doc(hidden)]
    const NEWS: u64;
    #[doc(hidden)]
    fn number(&self) -> u32;
}

mod private {
    pub trait Sealed {}
    impl<P> Sealed for super::Client<P> {}
    impl<P> Sealed for super::Server<P> {}
}

/// What comes to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<M> {
    /// The driver is there: a new one, which knows nothing of what was said to another one before.
    LinkUp,
    /// The driver has ended, or has broken its protocol. What was sent to it may be done or not, and is not answered.
    LinkLost,
    /// It says this.
    Message(M),
}

/// The client's end of a link to a driver.
#[derive(Debug)]
pub struct Client<P> {
    port: u32,
    of: PhantomData<(P, *mut ())>,
}

/// The server's end of a link to a client: the driver's.
#[derive(Debug)]
pub struct Server<P> {
    port: u32,
    of: PhantomData<(P, *mut ())>,
}

impl<P: Protocol> Port for Client<P> {
    type Received = P::FromDriver;
    const NEWS: u64 = 1 << LINK_LOST | 1 << LINK_UP;
    fn number(&self) -> u32 {
        self.port
    }
}

impl<P: Protocol> Port for Server<P> {
    type Received = P::ToDriver;
    const NEWS: u64 = 0;
    fn number(&self) -> u32 {
        self.port
    }
}

impl<P: Protocol> Client<P> {
    pub(super) fn at(port: u32) -> Self {
        Client { port, of: PhantomData }
    }

    /// Sends a message. Never blocks. Until [`Event::LinkUp`] is taken, and again once the driver is lost, the message is dropped; so is
    /// one to a driver that leaves more unread than its protocol allows, which is cut off.
    ///
    /// # Errors
    /// `BAD_ARGUMENT` if a field or the cookie is out of its range: nothing is sent.
    #[inline(always)]
    pub fn emit<M: Message<Of = P::ToDriver>>(&self, message: M) -> Result<()> {
        emit(self.port, message)
    }

    /// What the message is, if it has come to this port. A driver that sends what its protocol does not have is cut off, as if
    /// it had ended.
    #[inline(always)]
    #[must_use]
    pub fn take(&self, mail: &Mail<'_>) -> Option<Event<P::FromDriver>> {
        if mail.mailbox >> 8 != self.port {
            return None;
        }
        Some(match mail.mailbox & 0xff {
            LINK_UP => self.link_up(),
            LINK_LOST => Event::LinkLost,
            number => match P::FromDriver::read(number, mail.raw().cookie, &mail.raw().payload) {
                Some(message) => Event::Message(message),
                None => self.refuse(),
            },
        })
    }

    #[cold]
    fn link_up(&self) -> Event<P::FromDriver> {
        // SAFETY: the port is the domain's.
        unsafe { domain_release(self.port) };
        Event::LinkUp
    }

    #[cold]
    fn refuse(&self) -> Event<P::FromDriver> {
        // SAFETY: the port is the domain's.
        unsafe { domain_refuse(self.port) };
        Event::LinkLost
    }

    /// The pages that this process shares with the driver, while the link is up.
    #[must_use]
    pub fn data<'a>(&'a self, domain: &'a Domain) -> Option<Area<'a>> {
        data(self.port, domain)
    }
}

impl<P: Protocol> Server<P> {
    pub(super) fn at(port: u32) -> Self {
        Server { port, of: PhantomData }
    }

    /// Sends a message. Never blocks. While no client is linked the message is dropped. One that the protocol does not allow
    /// now ends the process: the monitor says which.
    ///
    /// # Errors
    /// `BAD_ARGUMENT` if a field or the cookie is out of its range: nothing is sent.
    #[inline(always)]
    pub fn emit<M: Message<Of = P::FromDriver>>(&self, message: M) -> Result<()> {
        emit(self.port, message)
    }

    /// What the message is, if it has come to this port. The monitor has found that the protocol allows it.
    #[inline(always)]
    #[must_use]
    pub fn take(&self, mail: &Mail<'_>) -> Option<P::ToDriver> {
        if mail.mailbox >> 8 != self.port {
            return None;
        }
        P::ToDriver::read(mail.mailbox & 0xff, mail.raw().cookie, &mail.raw().payload)
    }

    /// The client's pages that it shares with this process, while the link is up.
    #[must_use]
    pub fn data<'a>(&'a self, domain: &'a Domain) -> Option<Area<'a>> {
        data(self.port, domain)
    }
}

#[inline(always)]
fn emit<M: Message>(port: u32, message: M) -> Result<()> {
    const { assert!(M::NUMBER < LINK_LOST && M::BYTES <= PAYLOAD) };
    if !message.is_valid() {
        return Err(Error::BAD_ARGUMENT);
    }
    let (mailbox, cookie, payload) = (port << 8 | M::NUMBER, message.cookie(), message.payload());
    // SAFETY: the port is the domain's, and the payload has so many bytes, of which the library takes a copy.
    unsafe { domain_send(mailbox, cookie, payload.as_ptr(), M::BYTES as u64) };
    Ok(())
}

fn data<'a>(port: u32, _domain: &'a Domain) -> Option<Area<'a>> {
    let mut bytes = 0;
    // SAFETY: the port is the domain's.
    let start = unsafe { domain_data(port, &mut bytes) };
    if start.is_null() {
        return None;
    }
    // SAFETY: the pages are mapped, for reading and writing; a server's are taken away in a wait alone, which the area's borrow of
    // the domain forbids.
    Some(unsafe { Area::new(start, bytes as usize) })
}
