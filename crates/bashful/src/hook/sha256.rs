//! SHA-256 (FIPS 180-4), for the hash by which Codex knows a hook that the user trusts. A crate would be larger than its use here:
//! one short text at a time, where speed does not matter.

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
#[rustfmt::skip]
const ROUNDS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

/// The hash of some bytes, as 64 lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut state: [u32; 8] =
        [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() < bytes.len() + 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let bits = 8 * bytes.len() as u64;
    let end = padded.len() - 8;
    padded[end..].copy_from_slice(&bits.to_be_bytes());
    for block in padded.as_chunks::<64>().0 {
        absorb(&mut state, block);
    }
    state.map(|word| format!("{word:08x}")).concat()
}

fn absorb(state: &mut [u32; 8], block: &[u8; 64]) {
    let mut words = [0_u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for at in 16..64 {
        let (early, late) = (words[at - 15], words[at - 2]);
        let early = early.rotate_right(7) ^ early.rotate_right(18) ^ (early >> 3);
        let late = late.rotate_right(17) ^ late.rotate_right(19) ^ (late >> 10);
        words[at] = words[at - 16].wrapping_add(early).wrapping_add(words[at - 7]).wrapping_add(late);
    }
    let mut now = *state;
    for (word, round) in words.iter().zip(ROUNDS) {
        let (head, middle) = (now[0], now[4]);
        let sum = middle.rotate_right(6) ^ middle.rotate_right(11) ^ middle.rotate_right(25);
        let choice = (middle & now[5]) ^ (!middle & now[6]);
        let first = now[7].wrapping_add(sum).wrapping_add(choice).wrapping_add(round).wrapping_add(*word);
        let sum = head.rotate_right(2) ^ head.rotate_right(13) ^ head.rotate_right(22);
        let majority = (head & now[1]) ^ (head & now[2]) ^ (now[1] & now[2]);
        now.rotate_right(1);
        now[0] = first.wrapping_add(sum.wrapping_add(majority));
        now[4] = now[4].wrapping_add(first);
    }
    for (word, now) in state.iter_mut().zip(now) {
        *word = word.wrapping_add(now);
    }
}

#[cfg(test)]
mod tests {
    use super::hex;

    /// The examples of the standard, and lengths around the padding's edges, as `sha256sum` has them.
    #[test]
    fn hashes_are_those_of_the_standard() {
        for (bytes, expected) in [
            (String::new(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc".to_owned(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".to_owned(),
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            ("a".repeat(55), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
            ("a".repeat(64), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
            ("a".repeat(119), "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"),
        ] {
            assert_eq!(hex(bytes.as_bytes()), expected, "{bytes:?}");
        }
    }
}
