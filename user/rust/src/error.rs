//! Why a call was refused.

use crate::abi::{ERRORS, STATUS_OK};
use core::fmt;
use core::num::NonZeroU32;

/// What calls give: a value, or why the kernel has refused. As small as the kernel's status, so that it costs nothing.
pub type Result<T> = core::result::Result<T, Error>;

/// Why the kernel has refused a call. A refused call has changed nothing, but where the book's page of system calls says
/// more.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Error(NonZeroU32);

/// The errors by name: a constant for each `ERR_*` of `kernel/abi.h`.
macro_rules! errors {
    ($($(#[$about:meta])* $name:ident = $number:ident;)*) => {
        impl Error {
            $($(#[$about])* pub const $name: Error = Error::numbered(crate::abi::$number);)*
        }
        #[cfg(test)]
        const NAMED: &[(&str, u32)] = &[$((stringify!($number), crate::abi::$number)),*];
    };
}

errors! {
    /// There is no such system call.
    UNKNOWN_CALL = ERR_UNKNOWN_CALL;
    /// The description gives this process no such grant, or not the right to do this with it.
    BAD_SLOT = ERR_BAD_SLOT;
    /// A value is out of its documented range.
    BAD_ARGUMENT = ERR_BAD_ARGUMENT;
    /// An address is not that of a page, not in user space, or not mapped as needed.
    BAD_ADDRESS = ERR_BAD_ADDRESS;
    /// Something is mapped at this address.
    ALREADY_MAPPED = ERR_ALREADY_MAPPED;
    /// The process has no frame left in its quota.
    QUOTA = ERR_QUOTA;
    /// The machine has no frame left.
    NO_MEMORY = ERR_NO_MEMORY;
    /// The process at the other end has ended.
    PEER_DEAD = ERR_PEER_DEAD;
    /// There is no caller to reply to.
    NO_REPLY_PENDING = ERR_NO_REPLY_PENDING;
    /// The deadline has passed.
    TIMEOUT = ERR_TIMEOUT;
    /// The wait was cancelled because the process is being ended.
    CANCELLED = ERR_CANCELLED;
    /// The object is not in a state that allows this.
    BAD_STATE = ERR_BAD_STATE;
    /// The call would have had to wait.
    WOULD_BLOCK = ERR_WOULD_BLOCK;
    /// This machine lacks the feature.
    NOT_SUPPORTED = ERR_NOT_SUPPORTED;
}

impl Error {
    const fn numbered(number: u32) -> Error {
        match NonZeroU32::new(number) {
            Some(number) => Error(number),
            None => panic!("0 is no error"),
        }
    }

    /// The number in `kernel/abi.h`.
    pub fn number(self) -> u32 {
        self.0.get()
    }

    /// The name in `kernel/abi.h`, or a question mark for a number that it does not have.
    pub fn name(self) -> &'static str {
        ERRORS.iter().find(|(_, number)| *number == self.number()).map_or("?", |(name, _)| name)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.name(), self.number())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, out)
    }
}

impl core::error::Error for Error {}

/// The outcome that a status means.
#[inline(always)]
pub(crate) fn done(status: u64) -> Result<()> {
    const { assert!(STATUS_OK == 0) };
    match NonZeroU32::new(status as u32) {
        None => Ok(()),
        Some(number) => Err(Error(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_of_the_kernel_has_a_constant() {
        assert_eq!(NAMED, ERRORS);
    }

    #[test]
    fn an_error_says_its_name_and_a_result_is_as_small_as_a_status() {
        assert_eq!(format!("{}", Error::PEER_DEAD), "ERR_PEER_DEAD (8)");
        assert_eq!(format!("{:?}", done(77)), "Err(? (77))");
        assert_eq!(done(u64::from(STATUS_OK)), Ok(()));
        assert_eq!(size_of::<Result<()>>(), size_of::<u32>());
    }
}
