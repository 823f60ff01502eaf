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

/// The text that was packed by gzip or zlib; none if these bytes are something else.
pub(super) fn unpacked(bytes: &[u8]) -> Option<String> {
    let start = match bytes {
        [0x1f, 0x8b, 8, flags, ..] => gzip_start(bytes, *flags)?,
        [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => 2,
        _ => return None,
    };
    let plain = Inflater { bytes: bytes.get(start..)?, at: 0, held: 0, count: 0, out: Vec::new() }.inflate()?;
    String::from_utf8(plain).ok()
}

/// The place behind the header of gzip.
fn gzip_start(bytes: &[u8], flags: u8) -> Option<usize> {
    let mut at = 10;
    if flags & 4 != 0 {
        let low = usize::from(*bytes.get(at)?);
        at += 2 + low + 256 * usize::from(*bytes.get(at + 1)?);
    }
    // The name and the remark end with a zero.
    for flag in [8, 16] {
        if flags & flag != 0 {
            at += bytes.get(at..)?.iter().position(|byte| *byte == 0)? + 1;
        }
    }
    Some(at + if flags & 2 == 0 { 0 } else { 2 })
}

/// The codes of one alphabet: how many there are of each length, and their symbols in order.
struct Codes {
    counts: [u16; 16],
    symbols: Vec<u16>,
}

impl Codes {
    fn of(lengths: &[u8]) -> Self {
        let mut counts = [0_u16; 16];
        for length in lengths {
            if let Some(count) = counts.get_mut(usize::from(*length)) {
                *count += 1;
            }
        }
        if let Some(unused) = counts.first_mut() {
            *unused = 0;
        }
        let mut symbols = Vec::new();
        for wanted in 1..16_u8 {
            let fitting = lengths.iter().enumerate().filter(|(_, length)| **length == wanted);
            symbols.extend(fitting.filter_map(|(symbol, _)| u16::try_from(symbol).ok()));
        }
        Self { counts, symbols }
    }
}

/// Unpacks the format of deflate, bit by bit.
struct Inflater<'b> {
    bytes: &'b [u8],
    at: usize,
    held: u32,
    count: u32,
    out: Vec<u8>,
}

impl Inflater<'_> {
    fn bits(&mut self, wanted: u32) -> Option<u32> {
        while self.count < wanted {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            self.held |= u32::from(byte) << self.count;
            self.count += 8;
        }
        let value = self.held & ((1 << wanted) - 1);
        self.held >>= wanted;
        self.count -= wanted;
        Some(value)
    }

    fn symbol(&mut self, codes: &Codes) -> Option<usize> {
        let (mut code, mut first, mut index) = (0_u32, 0_u32, 0_u32);
        for count in codes.counts.iter().skip(1) {
            code |= self.bits(1)?;
            let count = u32::from(*count);
            if code < first + count {
                let at = usize::try_from(index + code - first).ok()?;
                return codes.symbols.get(at).map(|symbol| usize::from(*symbol));
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }

    fn inflate(mut self) -> Option<Vec<u8>> {
        loop {
            let is_last = self.bits(1)? == 1;
            match self.bits(2)? {
                0 => self.stored()?,
                1 => {
                    let mut lengths = [8_u8; 288];
                    lengths.get_mut(144..256)?.fill(9);
                    lengths.get_mut(256..280)?.fill(7);
                    self.block(&Codes::of(&lengths), &Codes::of(&[5; 30]))?;
                }
                2 => {
                    let (literals, distances) = self.codes()?;
                    self.block(&literals, &distances)?;
                }
                _ => return None,
            }
            if is_last {
                return Some(self.out);
            }
        }
    }

    fn stored(&mut self) -> Option<()> {
        self.held = 0;
        self.count = 0;
        let low = usize::from(*self.bytes.get(self.at)?);
        let length = low + 256 * usize::from(*self.bytes.get(self.at + 1)?);
        let start = self.at + 4;
        self.out.extend(self.bytes.get(start..start + length)?);
        self.at = start + length;
        (self.out.len() <= LONGEST).then_some(())
    }

    /// Reads the codes of a block that brings its own.
    fn codes(&mut self) -> Option<(Codes, Codes)> {
        const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
        let literals = usize::try_from(self.bits(5)?).ok()? + 257;
        let distances = usize::try_from(self.bits(5)?).ok()? + 1;
        let count = usize::try_from(self.bits(4)?).ok()? + 4;
        let mut lengths = [0_u8; 19];
        for place in ORDER.iter().take(count) {
            *lengths.get_mut(*place)? = u8::try_from(self.bits(3)?).ok()?;
        }
        let codes = Codes::of(&lengths);
        let mut all: Vec<u8> = Vec::new();
        while all.len() < literals + distances {
            let (value, repeat) = match self.symbol(&codes)? {
                16 => (*all.last()?, 3 + self.bits(2)?),
                17 => (0, 3 + self.bits(3)?),
                18 => (0, 11 + self.bits(7)?),
                length => (u8::try_from(length).ok()?, 1),
            };
            all.extend(std::iter::repeat_n(value, usize::try_from(repeat).ok()?));
        }
        Some((Codes::of(all.get(..literals)?), Codes::of(all.get(literals..literals + distances)?)))
    }

    fn block(&mut self, literals: &Codes, distances: &Codes) -> Option<()> {
        const LENGTHS: [u16; 29] = [
            3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
            227, 258,
        ];
        const DISTANCES: [u16; 30] = [
            1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073,
            4097, 6145, 8193, 12289, 16385, 24577,
        ];
        loop {
            let symbol = self.symbol(literals)?;
            if symbol == 256 {
                return Some(());
            }
            if symbol < 256 {
                self.out.push(u8::try_from(symbol).ok()?);
            } else {
                let at = symbol - 257;
                let more = if (8..28).contains(&at) { u32::try_from(at / 4 - 1).ok()? } else { 0 };
                let length = usize::from(*LENGTHS.get(at)?) + usize::try_from(self.bits(more)?).ok()?;
                let at = self.symbol(distances)?;
                let more = if at >= 4 { u32::try_from(at / 2 - 1).ok()? } else { 0 };
                let distance = usize::from(*DISTANCES.get(at)?) + usize::try_from(self.bits(more)?).ok()?;
                let start = self.out.len().checked_sub(distance)?;
                for by in 0..length {
                    let byte = *self.out.get(start + by)?;
                    self.out.push(byte);
                }
            }
            if self.out.len() > LONGEST {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_text_is_unpacked() {
        // `printf 'git add -A\n' | gzip -9n`
        let gzip: &[u8] = &[
            31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 75, 207, 44, 81, 72, 76, 73, 81, 208, 117, 228, 2, 0, 37, 219, 165, 32,
            11, 0, 0, 0,
        ];
        assert_eq!(unpacked(gzip).as_deref(), Some("git add -A\n"));
        let long: &[u8] = &[
            31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 75, 77, 206, 200, 87, 72, 196, 11, 20, 146, 176, 1, 107, 133, 84, 108,
            90, 185, 82, 71, 13, 164, 216, 64, 0, 221, 242, 100, 46, 149, 1, 0, 0,
        ];
        let wanted = "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbb; echo aaaaaaaaaaaaaaaa\n".repeat(5);
        assert_eq!(unpacked(long), Some(wanted));
        assert_eq!(unpacked(b"no gzip"), None);
        assert_eq!(uudecoded("begin 644 x\n+9VET(&%D9\" M00H \n \nend\n").as_deref(), Some(&b"git add -A\n"[..]));
    }
}
