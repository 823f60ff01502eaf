//! Encodes and decodes numbers, texts and lists, and cuts a stream of bytes into messages.

use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::Exit;

/// Longest message, in bytes. An environment and an argument together cannot exceed some 2 MiB on Linux.
const LONGEST: usize = 8 * 1024 * 1024;

/// Error: a message that cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Garbled;

/// Bytes that have arrived, until they are whole messages.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
}

impl Inbox {
    /// Adds bytes that have arrived.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// True if every byte that arrived has been decoded.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Decodes and removes the next whole message; none if it has not fully arrived.
    pub fn next<T>(&mut self, decode: impl FnOnce(&[u8]) -> Result<T, Garbled>) -> Result<Option<T>, Garbled> {
        let Some((length, _)) = self.bytes.split_first_chunk() else { return Ok(None) };
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| Garbled)?;
        if length > LONGEST {
            return Err(Garbled);
        }
        let Some(body) = self.bytes.get(4..4 + length) else { return Ok(None) };
        let message = decode(body)?;
        self.bytes.drain(..4 + length);
        if self.bytes.is_empty() {
            // A large first message would otherwise hold its memory for the life of the keeper.
            self.bytes = Vec::new();
        }
        Ok(Some(message))
    }
}

pub(super) fn frame(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend([0; 4]);
    body(out);
    let length = u32::try_from(out.len() - begin - 4).expect("what makes up a message was bounded before");
    out[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
}

pub(super) fn put_number(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

pub(super) fn put_i32(out: &mut Vec<u8>, number: i32) {
    out.extend(number.to_le_bytes());
}

pub(super) fn put_optional(out: &mut Vec<u8>, number: Option<u64>) {
    out.push(u8::from(number.is_some()));
    put_number(out, number.unwrap_or_default());
}

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend(bytes);
}

pub(super) fn put_list<T>(out: &mut Vec<u8>, list: &[T], mut put: impl FnMut(&mut Vec<u8>, &T)) {
    put_number(out, list.len() as u64);
    for item in list {
        put(out, item);
    }
}

pub(super) fn put_exit(out: &mut Vec<u8>, exit: Exit) {
    out.extend(match exit {
        Exit::Code(code) => [0, code],
        Exit::Signal(number) => [1, number],
    });
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

pub(super) fn take_one(descriptors: &mut Vec<OwnedFd>) -> Result<OwnedFd, Garbled> {
    if descriptors.is_empty() { Err(Garbled) } else { Ok(descriptors.remove(0)) }
}

pub(super) fn take_two(descriptors: &mut Vec<OwnedFd>) -> Result<[OwnedFd; 2], Garbled> {
    Ok([take_one(descriptors)?, take_one(descriptors)?])
}

/// The fields of a message that are still to be decoded.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Garbled> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Garbled)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Garbled> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn number(&mut self) -> Result<u64, Garbled> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().map_err(|_| Garbled)?))
    }

    /// A number of 8 bytes that has to fit into 16 bits.
    pub(super) fn u16(&mut self) -> Result<u16, Garbled> {
        u16::try_from(self.number()?).map_err(|_| Garbled)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Garbled> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().map_err(|_| Garbled)?))
    }

    pub(super) fn i32(&mut self) -> Result<i32, Garbled> {
        Ok(i32::from_le_bytes(self.take(4)?.try_into().map_err(|_| Garbled)?))
    }

    pub(super) fn optional(&mut self) -> Result<Option<u64>, Garbled> {
        let is_there = self.byte()? == 1;
        let number = self.number()?;
        Ok(is_there.then_some(number))
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Garbled> {
        let count = usize::try_from(self.number()?).map_err(|_| Garbled)?;
        self.take(count)
    }

    pub(super) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T, Garbled>) -> Result<Vec<T>, Garbled> {
        let count = self.number()?;
        // Every item takes at least a byte, so a false count cannot make this process reserve memory for it.
        if count > self.0.len() as u64 {
            return Err(Garbled);
        }
        (0..count).map(|_| item(self)).collect()
    }

    pub(super) fn exit(&mut self) -> Result<Exit, Garbled> {
        match self.byte()? {
            0 => Ok(Exit::Code(self.byte()?)),
            1 => Ok(Exit::Signal(self.byte()?)),
            _ => Err(Garbled),
        }
    }

    pub(super) fn end(&self) -> Result<(), Garbled> {
        if self.0.is_empty() { Ok(()) } else { Err(Garbled) }
    }
}
