//! A question that is asked of every byte of output, answered with the widest registers that the processor has.

#![expect(
    unsafe_code,
    reason = "that the processor has them is found out at run time, where the compiler cannot see it"
)]

/// Whether there is nothing but printable ASCII, newlines and tabs.
pub fn is_plain_ascii(bytes: &[u8]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function was compiled for.
        return unsafe { with_avx2(bytes) };
    }
    look(bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(bytes: &[u8]) -> bool {
    look(bytes)
}

/// There is no way out of the loop, and numbers stand for truths in it, on purpose: this way the compiler looks at many
/// bytes at a time. One more than a byte, as a signed number, is small for DEL and for what is beyond ASCII too.
#[expect(clippy::inline_always, reason = "as part of its callers it is compiled for their registers")]
#[inline(always)]
fn look(bytes: &[u8]) -> bool {
    let odd = |byte: u8| {
        let unprintable = u8::from(byte.wrapping_add(1).cast_signed() < 0x21);
        unprintable & (1 ^ (u8::from(byte == b'\n') | u8::from(byte == b'\t')))
    };
    bytes.iter().fold(0, |found, byte| found | odd(*byte)) == 0
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
                assert_eq!((is_plain_ascii(&bytes), look(&bytes)), (plain, plain), "{byte:#x} at {at}");
            }
        }
    }
}
