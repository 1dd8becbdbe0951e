//! What is written from a protocol.
