//! Text that was packed: uuencode and deflate, as far as a script can hold it.

/// The longest text that is unpacked, in bytes.
const LONGEST: usize = 64 << 10;

/// The bytes of uuencoded lines. Lines that begin and end such a text may be there.
pub(super) fn uudecoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let is_framed = text.lines().any(|line| line.starts_with("begin "));
    let lines = text.lines().skip_while(|line| is_framed && !line.starts_with("begin ")).skip(usize::from(is_framed));
    for line in lines {
        if line == "end" || line.is_empty() {
            break;
        }
        let value = |letter: u8| u32::from(letter.wrapping_sub(32) & 63);
        let (first, digits) = line.as_bytes().split_first()?;
        let count = usize::try_from(value(*first)).ok()?;
        let start = bytes.len();
        for group in digits.chunks(4) {
            let sum = (0..4).fold(0, |sum, at| (sum << 6) | group.get(at).map_or(0, |letter| value(*letter)));
            bytes.extend(sum.to_be_bytes().into_iter().skip(1));
        }
        bytes.truncate(start + count);
        if bytes.len() > LONGEST {
            return None;
        }
    }
    Some(bytes)
}
