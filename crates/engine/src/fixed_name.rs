//! Names on disk that are made from contents: the same in every version, with every compiler, on every machine.
//!
//! The name is the 128-bit SipHash-2-4 (Aumasson and Bernstein) with a key of zeros, over all fields one after another.
//! The length of each field comes before it, as 8 bytes with the lowest first. The hash is fast and hard to collide by
//! accident. It does not stop an attacker who wants a collision, but nobody attacks their own state directory.

use std::fmt::Write;

/// A name under construction.
///
/// ```
/// use bashful_engine::FixedName;
///
/// let name = FixedName::new("example").field(b"one").field(b"two").hex();
/// assert_eq!(name, "f8b94ee7c5f96269c69f6e83676bc689");
/// assert_ne!(name, FixedName::new("example").field(b"onetwo").hex());
/// ```
#[derive(Debug, Clone)]
pub struct FixedName {
    bytes: Vec<u8>,
}

impl FixedName {
    /// Begins a name for this purpose, which is its first field.
    pub fn new(purpose: &str) -> Self {
        Self { bytes: Vec::new() }.field(purpose.as_bytes())
    }

    /// Adds a field, which cannot run together with the next.
    #[must_use]
    pub fn field(mut self, field: &[u8]) -> Self {
        self.bytes.extend((field.len() as u64).to_le_bytes());
        self.bytes.extend(field);
        self
    }

    /// Adds a field with the number of items, and then the items.
    #[must_use]
    pub fn list<'a>(self, list: impl ExactSizeIterator<Item = &'a [u8]>) -> Self {
        let counted = self.field(&(list.len() as u64).to_le_bytes());
        list.fold(counted, Self::field)
    }

    /// The name: 32 lower-case hexadecimal digits.
    pub fn hex(&self) -> String {
        let mut name = String::with_capacity(32);
        for byte in self.hash() {
            let _ = write!(name, "{byte:02x}");
        }
        name
    }

    /// The first 32 bits of the name.
    pub fn short(&self) -> u32 {
        let [first, second, third, fourth, ..] = self.hash();
        u32::from_be_bytes([first, second, third, fourth])
    }

    fn hash(&self) -> [u8; 16] {
        siphash(0, 0, &self.bytes)
    }
}

/// SipHash-2-4 with 128 bits.
fn siphash(key: u64, key_behind: u64, bytes: &[u8]) -> [u8; 16] {
    let mut state = [
        key ^ 0x736f_6d65_7073_6575,
        key_behind ^ 0x646f_7261_6e64_6f6d ^ 0xee,
        key ^ 0x6c79_6765_6e65_7261,
        key_behind ^ 0x7465_6462_7974_6573,
    ];
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    // The lowest byte of the length is the last byte of the input.
    last[7] = bytes.len().to_le_bytes()[0];
    for word in words.iter().chain([&last]) {
        let word = u64::from_le_bytes(*word);
        state[3] ^= word;
        rounds(&mut state, 2);
        state[0] ^= word;
    }
    let mut half = |mark: usize, value: u64| {
        state[mark] ^= value;
        rounds(&mut state, 4);
        state.iter().fold(0, |all, word| all ^ word)
    };
    let halves = [half(2, 0xee), half(1, 0xdd)];
    let mut hash = [0; 16];
    hash[..8].copy_from_slice(&halves[0].to_le_bytes());
    hash[8..].copy_from_slice(&halves[1].to_le_bytes());
    hash
}

fn rounds(state: &mut [u64; 4], count: usize) {
    let [mut a, mut b, mut c, mut d] = *state;
    for _ in 0..count {
        a = a.wrapping_add(b);
        b = b.rotate_left(13) ^ a;
        a = a.rotate_left(32);
        c = c.wrapping_add(d);
        d = d.rotate_left(16) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(21) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        c = c.rotate_left(32);
    }
    *state = [a, b, c, d];
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors of the reference implementation: the key is the bytes 0 to 15, the input the first bytes from 0 on.
    #[test]
    fn hashes_are_those_of_the_reference_implementation() {
        let hash = |count: u8| {
            let input: Vec<u8> = (0..count).collect();
            let hash = siphash(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908, &input);
            hash.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
        };
        assert_eq!(hash(0), "a3817f04ba25a8e66df67214c7550293");
        assert_eq!(hash(1), "da87c1d86b99af44347659119b22fc45");
    }

    #[test]
    fn a_name_is_the_same_for_ever() {
        assert_eq!(FixedName::new("session").hex(), "1c57e319dee78e1c520d270cd3780900");
        let name = FixedName::new("session").field(b"build").list([&b"A=1"[..], b"B=2"].into_iter());
        assert_eq!(name.hex(), "a0a89efdb1f309a9325fba9c4f07f1fe");
        assert_eq!(format!("{:08x}", name.short()), name.hex()[..8]);
    }

    #[test]
    fn fields_do_not_run_together() {
        let name = |fields: &[&[u8]]| FixedName::new("x").list(fields.iter().copied()).hex();
        assert_ne!(name(&[b"ab", b"c"]), name(&[b"a", b"bc"]));
        assert_ne!(name(&[b"ab"]), name(&[b"ab", b""]));
    }
}
