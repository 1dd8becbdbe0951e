//! The two archive formats that guests and packages use.

pub mod cpio;
pub mod tar;
