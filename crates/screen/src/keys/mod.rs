//! Keys: names that models know, bytes that programs expect, and the way back.

mod decode;
mod encode;
mod key;
mod names;

pub use decode::{Decoded, KeyDecoder};
pub use encode::paste;
pub use key::{Code, Key, Keys, Modifiers};
pub use names::UnknownKey;
