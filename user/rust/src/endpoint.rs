//! Messages over end points. The first ten words travel in registers, the rest in the message page of the sending thread,
//! [`Page`](crate::thread::Page), where word i stands at index i.
//!
//! The functions are inlined, and all ten register words go in and come out, so that a message in a local variable stays
//! in registers from one call to the next: a message costs the instructions that it costs in C.

use crate::abi::{MESSAGE_REGISTER_WORDS, SYS_CALL, SYS_RECV, SYS_REPLY, SYS_REPLY_RECV, SYS_SEND};
use crate::env;
use crate::error::{done, Result};
use core::arch::asm;

/// Words of a message that travel in registers.
pub const REGISTER_WORDS: usize = MESSAGE_REGISTER_WORDS as usize;
/// The longest message, in words.
pub const MAX_WORDS: usize = crate::abi::MESSAGE_MAX_WORDS as usize;

/// A message, or the room for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Of a received request: the badge that the description gives the sender's grant. 0 in an answer.
    pub badge: u64,
    /// Words, 0 to [`MAX_WORDS`].
    pub count: u64,
    /// Words 0 to 9; the others are in the thread's message page.
    pub word: [u64; REGISTER_WORDS],
}

impl Message {
    /// A message of up to ten words.
    ///
    /// # Panics
    /// If there are more.
    #[inline(always)]
    pub fn new(words: &[u64]) -> Message {
        let mut message = Message { count: words.len() as u64, ..Message::default() };
        message.word[..words.len()].copy_from_slice(words);
        message
    }

    /// The words that it has in registers: at most the first ten.
    #[inline(always)]
    pub fn words(&self) -> &[u64] {
        &self.word[..self.register_count()]
    }

    /// As [`words`](Self::words), to change them.
    #[inline(always)]
    pub fn words_mut(&mut self) -> &mut [u64] {
        let count = self.register_count();
        &mut self.word[..count]
    }

    #[inline(always)]
    fn register_count(&self) -> usize {
        (self.count as usize).min(REGISTER_WORDS)
    }
}

/// The end of an end point at which requests are sent: `senders` of the description.
#[derive(Debug)]
pub struct Sender {
    slot: u32,
}

impl Sender {
    /// That of the end point NAME.
    ///
    /// # Errors
    /// `BAD_SLOT` if the description does not name this process as a sender of such an end point.
    pub fn find(name: &str) -> Result<Sender> {
        Ok(Sender { slot: env::slot("endpoint.", name)? })
    }

    /// Sends the message and waits for the answer, which then stands in its place.
    ///
    /// # Errors
    /// `BAD_SLOT` without the right to send, `BAD_ARGUMENT` if there are more than [`MAX_WORDS`] words, `PEER_DEAD` if the
    /// receiver has ended, or ends before it answers. What then stands in the message means nothing.
    #[inline(always)]
    pub fn call(&self, message: &mut Message) -> Result<()> {
        exchange(SYS_CALL, self.slot, message)
    }

    /// As [`call`](Self::call), for up to four words and with fewer registers: `words` become the first words of the
    /// answer, whose length is returned. Of an answer that is longer the other words are lost.
    ///
    /// # Errors
    /// As for [`call`](Self::call).
    #[inline(always)]
    pub fn call_short(&self, count: u64, words: &mut [u64; 4]) -> Result<u64> {
        let [mut w0, mut w1, mut w2, mut w3] = *words;
        let (status, answered): (u64, u64);
        // SAFETY: the kernel reads and writes the registers named here, those saved, and the caller's message page, of which
        // there are no references but to cells.
        unsafe {
            asm!(
                // The one register that is left for the operand is rbx or rbp; the other one is saved.
                ".ifc {other}, rbx", "push rbp", "syscall", "pop rbp",
                ".else", "push rbx", "syscall", "pop rbx", ".endif",
                other = out(reg) _,
                inlateout("rax") SYS_CALL => status, inout("rdi") u64::from(self.slot) => _,
                inout("rsi") count => answered, inout("rdx") w0, inout("r10") w1, inout("r8") w2, inout("r9") w3,
                out("rcx") _, out("r11") _, out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            );
        }
        *words = [w0, w1, w2, w3];
        done(status)?;
        Ok(answered)
    }

    /// Sends the message without an answer; waits until a receiver has taken it.
    ///
    /// # Errors
    /// As for [`call`](Self::call).
    #[inline(always)]
    pub fn send(&self, message: &Message) -> Result<()> {
        exchange(SYS_SEND, self.slot, &mut message.clone())
    }
}

/// The end of an end point at which requests arrive: `receiver` of the description.
#[derive(Debug)]
pub struct Receiver {
    slot: u32,
}

impl Receiver {
    /// That of the end point NAME.
    ///
    /// # Errors
    /// `BAD_SLOT` if the description does not name this process as the receiver of such an end point.
    pub fn find(name: &str) -> Result<Receiver> {
        Ok(Receiver { slot: env::slot("endpoint.", name)? })
    }

    /// Waits for a request, which then stands in `message`.
    ///
    /// # Errors
    /// `BAD_SLOT` without the right to receive, `PEER_DEAD` if the process is being ended.
    #[inline(always)]
    pub fn recv(&self, message: &mut Message) -> Result<()> {
        exchange(SYS_RECV, self.slot, message)
    }

    /// Answers the caller that this thread has received from last with `message`, then waits for the next request, which
    /// stands in its place. A caller that has ended gets no answer, which is no error.
    ///
    /// # Errors
    /// `BAD_SLOT`, `BAD_ARGUMENT` if there are more than [`MAX_WORDS`] words: the caller stays unanswered. `PEER_DEAD` if
    /// the process is being ended.
    #[inline(always)]
    pub fn reply_recv(&self, message: &mut Message) -> Result<()> {
        exchange(SYS_REPLY_RECV, self.slot, message)
    }
}

/// Answers the caller that this thread has received from last, and does not wait.
///
/// # Errors
/// `NO_REPLY_PENDING` if there is no such caller, or it has ended; `BAD_ARGUMENT` if there are more than [`MAX_WORDS`] words.
#[inline(always)]
pub fn reply(message: &Message) -> Result<()> {
    exchange(SYS_REPLY, 0, &mut message.clone())
}

/// The message's registers go into the kernel and come back: `message_inline` of `user/include/ashlar/message.h`.
#[inline(always)]
fn exchange(number: u64, slot: u32, message: &mut Message) -> Result<()> {
    let [mut w0, mut w1, mut w2, mut w3, mut w4, mut w5, mut w6, mut w7, mut w8, mut w9] = message.word;
    let (status, badge, count): (u64, u64, u64);
    // SAFETY: the kernel reads and writes the registers named here, rbx and rbp, which are saved where they are not the
    // operand's, and the caller's message page, of which there are no references but to cells.
    unsafe {
        asm!(
            // Words 8 and 9 travel in rbx and rbp, which cannot be named. All other registers are taken, so word 9 is in one of
            // the two already: in rbp where rbx holds something of the caller's, as the slot in a loop. rcx carries word 8.
            ".ifc {w9}, rbp",
            "push rbx",
            "mov rbx, rcx",
            "syscall",
            "mov rcx, rbx",
            "pop rbx",
            ".else",
            "push rbp",
            "mov rbp, {w9}",
            "mov rbx, rcx",
            "syscall",
            "mov rcx, rbx",
            "mov {w9}, rbp",
            "pop rbp",
            ".endif",
            w9 = inout(reg) w9,
            inout("rax") number => status, inout("rdi") u64::from(slot) => badge, inout("rsi") message.count => count,
            inout("rdx") w0, inout("r10") w1, inout("r8") w2, inout("r9") w3, inout("r12") w4, inout("r13") w5,
            inout("r14") w6, inout("r15") w7, inout("rcx") w8, out("r11") _,
        );
    }
    *message = Message { badge, count, word: [w0, w1, w2, w3, w4, w5, w6, w7, w8, w9] };
    done(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_shows_the_words_that_it_has() {
        let mut message = Message::new(&[1, 2, 3]);
        assert_eq!(message.words(), [1, 2, 3]);
        message.words_mut()[2] = 9;
        assert_eq!(message.word[2], 9);
        message.count = MAX_WORDS as u64;
        assert_eq!(message.words().len(), REGISTER_WORDS);
    }

    #[test]
    #[should_panic]
    fn a_message_of_eleven_words_needs_the_page() {
        Message::new(&[0; 11]);
    }
}
