//! Shares: a process offers pages of its memory to another, one at a time.

use crate::abi::{PROT_READ, PROT_WRITE};
use crate::calls;
use crate::env;
use crate::error::Result;
use crate::memory::{fresh_address, Page, ReadPage};

/// The end of a share that offers: `from` of the description.
#[derive(Debug)]
pub struct Offerer {
    slot: u32,
}

impl Offerer {
    /// That of the share NAME.
    ///
    /// # Errors
    /// `BAD_SLOT` if the description gives this process no share of this name.
    pub fn find(name: &str) -> Result<Offerer> {
        Ok(Offerer { slot: env::slot("share.", name)? })
    }

    /// Offers a page. Once it is accepted the other process keeps it, even if this one drops it or ends.
    ///
    /// # Errors
    /// `BAD_STATE` if an offer is open already, `BAD_SLOT` without the right to offer, `BAD_ADDRESS` if the page belongs to
    /// another process.
    pub fn offer(&self, page: &Page) -> Result<()> {
        // SAFETY: the page is shown as atomic words alone, which another process may change.
        unsafe { calls::sys_share_offer(self.slot, page.address()) }
    }

    /// Takes back an offer that was not accepted yet.
    ///
    /// # Errors
    /// `BAD_STATE` if nothing is offered, `BAD_SLOT` without the right to offer.
    pub fn withdraw(&self) -> Result<()> {
        // SAFETY: the call changes no mapping.
        unsafe { calls::sys_share_withdraw(self.slot) }
    }
}

/// The end of a share that accepts: `to` of the description.
#[derive(Debug)]
pub struct Accepter {
    slot: u32,
}

impl Accepter {
    /// That of the share NAME.
    ///
    /// # Errors
    /// `BAD_SLOT` if the description gives this process no share of this name.
    pub fn find(name: &str) -> Result<Accepter> {
        Ok(Accepter { slot: env::slot("share.", name)? })
    }

    /// Maps the page that is offered, for reading and writing; this process pays for it too.
    ///
    /// # Errors
    /// `WOULD_BLOCK` if nothing is offered, `BAD_STATE` if this process has the page already, `QUOTA` or `NO_MEMORY` if there
    /// is no frame left, `BAD_SLOT` without the right to accept.
    pub fn accept(&self) -> Result<Page> {
        let address = fresh_address();
        // SAFETY: nothing else is mapped at a fresh address.
        unsafe { calls::sys_share_accept(self.slot, address, PROT_READ | PROT_WRITE) }?;
        Ok(Page::mapped(address))
    }

    /// As [`accept`](Self::accept), for reading alone.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept).
    pub fn accept_for_reading(&self) -> Result<ReadPage> {
        let address = fresh_address();
        // SAFETY: nothing else is mapped at a fresh address.
        unsafe { calls::sys_share_accept(self.slot, address, PROT_READ) }?;
        Ok(ReadPage::mapped(address))
    }
}
