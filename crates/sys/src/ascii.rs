//! Scans that touch every byte of output, with the widest registers of the processor.

#![expect(
    unsafe_code,
    reason = "that the processor has them is found out at run time, where the compiler cannot see it"
)]

/// True if all bytes are printable ASCII, newlines or tabs.
pub fn is_plain_ascii(bytes: &[u8]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, for which the function was compiled.
        return unsafe { with_avx2(bytes) };
    }
    check_all(bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(bytes: &[u8]) -> bool {
    check_all(bytes)
}

/// Checks all bytes without an early exit, and with numbers for truth values, so that the compiler checks many bytes at
/// a time. A byte plus one, as a signed number, is also small for DEL and for bytes beyond ASCII.
#[expect(clippy::inline_always, reason = "as part of its callers it is compiled for their registers")]
#[inline(always)]
fn check_all(bytes: &[u8]) -> bool {
    let odd = |byte: u8| {
        let unprintable = u8::from(byte.wrapping_add(1).cast_signed() < 0x21);
        unprintable & (1 ^ (u8::from(byte == b'\n') | u8::from(byte == b'\t')))
    };
    bytes.iter().fold(0, |found, byte| found | odd(*byte)) == 0
}

/// Index of the first byte that is a control character other than a tab, DEL, or the first byte of U+0080 to U+00BF;
/// the length if there is none.
pub fn find_special(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(chunk) = bytes[at..].first_chunk::<CHUNK>() {
        let found = specials(chunk);
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += CHUNK;
    }
    at + bytes[at..].iter().position(|byte| is_special(*byte)).unwrap_or(bytes.len() - at)
}

/// Finds special bytes one after another, as [`find_special`] does. Scans every byte once, however many are special.
#[derive(Debug)]
pub struct Specials<'a> {
    bytes: &'a [u8],
    /// Index at which the block of `bits` begins.
    block: usize,
    bits: u64,
}

impl<'a> Specials<'a> {
    /// Begins a scan of these bytes.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, block: 0, bits: block_of_specials(bytes) }
    }

    /// Index of the first special byte at or after `from`; the length if there is none. `from` must not decrease
    /// between calls.
    pub fn next(&mut self, from: usize) -> usize {
        let block = from / BLOCK * BLOCK;
        if block != self.block {
            self.scan_block(block);
        }
        let mut bits = self.bits & (u64::MAX << (from % BLOCK));
        while bits == 0 {
            if self.block + BLOCK >= self.bytes.len() {
                return self.bytes.len();
            }
            self.scan_block(self.block + BLOCK);
            bits = self.bits;
        }
        self.block + bits.trailing_zeros() as usize
    }

    fn scan_block(&mut self, block: usize) {
        self.block = block;
        self.bits = block_of_specials(self.bytes.get(block..).unwrap_or_default());
    }
}

/// Bytes in a block: one for each bit of a `u64`.
const BLOCK: usize = 64;

/// A mask of the special bytes in the first block; the lowest bit is the first byte.
#[inline]
fn block_of_specials(bytes: &[u8]) -> u64 {
    let Some((chunks, [])) = bytes.first_chunk::<BLOCK>().map(|block| block.as_chunks::<CHUNK>()) else {
        let rest = bytes.iter().take(BLOCK).enumerate();
        return rest.fold(0, |bits, (at, byte)| bits | u64::from(is_special(*byte)) << at);
    };
    let shifted = (0..).step_by(CHUNK).zip(chunks);
    shifted.fold(0, |bits, (by, chunk): (u32, _)| bits | u64::from(specials(chunk)) << by)
}

/// Number of NUL bytes at the beginning.
pub fn leading_nuls(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(chunk) = bytes[at..].first_chunk::<256>()
        && chunk.iter().fold(0, |found, byte| found | byte) == 0
    {
        at += chunk.len();
    }
    at + bytes[at..].iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - at)
}

/// Bytes that [`specials`] scans at once.
const CHUNK: usize = 16;

fn is_special(byte: u8) -> bool {
    (byte < b' ' && byte != b'\t') || byte == 0x7F || byte == 0xC2
}

/// A mask of the special bytes; the lowest bit is the first byte.
#[cfg(target_arch = "x86_64")]
fn specials(chunk: &[u8; CHUNK]) -> u32 {
    // SAFETY: every x86-64 processor has SSE2.
    unsafe { with_sse2(chunk) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
fn with_sse2(chunk: &[u8; CHUNK]) -> u32 {
    use std::arch::x86_64::{
        _mm_andnot_si128, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    // SAFETY: the chunk is as long as the register, and need not be aligned.
    let bytes = unsafe { _mm_loadu_si128(chunk.as_ptr().cast()) };
    let all = |byte: u8| _mm_set1_epi8(byte.cast_signed());
    let low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, all(b' ' - 1)), bytes);
    let low = _mm_andnot_si128(_mm_cmpeq_epi8(bytes, all(b'\t')), low);
    let others = _mm_or_si128(_mm_cmpeq_epi8(bytes, all(0x7F)), _mm_cmpeq_epi8(bytes, all(0xC2)));
    _mm_movemask_epi8(_mm_or_si128(low, others)).cast_unsigned()
}

/// A mask of the special bytes; the lowest bit is the first byte.
#[cfg(not(target_arch = "x86_64"))]
fn specials(chunk: &[u8; CHUNK]) -> u32 {
    chunk.iter().enumerate().fold(0, |found, (at, byte)| found | (u32::from(is_special(*byte)) << at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_told_apart_wherever_it_stands() {
        for byte in 0..=u8::MAX {
            let plain = matches!(byte, b'\n' | b'\t' | b' '..=b'~');
            for at in 0..100 {
                let mut bytes = [b'x'; 100];
                bytes[at] = byte;
                assert_eq!((is_plain_ascii(&bytes), check_all(&bytes)), (plain, plain), "{byte:#x} at {at}");
            }
        }
    }

    #[test]
    fn the_first_special_byte_is_found_wherever_it_stands() {
        for byte in 0..=u8::MAX {
            let special = byte == b'\n' || byte == 0xC2 || byte.is_ascii_control() && byte != b'\t';
            for at in 0..40 {
                let mut bytes = [b'x'; 40];
                bytes[at] = byte;
                bytes[39] = b'\r';
                let expected = if special { at } else { 39 };
                assert_eq!(find_special(&bytes), expected.min(39), "{byte:#x} at {at}");
            }
        }
        assert_eq!((find_special(b""), find_special(&[b'x'; 33])), (0, 33));
    }

    #[test]
    fn special_bytes_are_found_one_after_the_other_as_alone() {
        for length in [0, 1, 63, 64, 65, 128, 200] {
            let bytes: Vec<u8> = (0..length).map(|at: usize| if at * at % 7 < 2 { b'\n' } else { b'x' }).collect();
            for step in [1, 2, 70] {
                let (mut specials, mut from) = (Specials::of(&bytes), 0);
                while from < length {
                    let found = from + find_special(&bytes[from..]);
                    assert_eq!(specials.next(from), found, "from {from} of {length}");
                    from = found + step;
                }
            }
        }
        assert_eq!(Specials::of(&[b'x'; 100]).next(99), 100);
    }

    #[test]
    fn nuls_are_counted_up_to_the_first_other_byte() {
        for length in [0, 1, 255, 256, 257, 1000] {
            let nuls = vec![0; length];
            assert_eq!(leading_nuls(&nuls), length);
            assert_eq!(leading_nuls(&[&nuls[..], b"x\0"].concat()), length);
        }
    }
}
