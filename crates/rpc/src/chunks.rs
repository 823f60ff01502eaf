//! Live output as `chunk` events.
//!
//! The engine keeps at most 1 MiB of output for a listener that is behind, and reports what it dropped. Here one piece at
//! a time becomes an event, so that is all the memory that a slow host costs.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bashful_engine::{Heard, OutputStream};

use crate::outbox::{Events, HungUp};
use crate::wire::{Event, RequestId, StreamSummary};

/// Sends the output of a command to its end. Without a host to send to, the rest is read and discarded, so that the command
/// goes on.
pub(crate) async fn send(mut stream: OutputStream, id: &RequestId, events: &Events) -> StreamSummary {
    let mut sent = StreamSummary::default();
    let mut splitter = Splitter::default();
    while let Some(heard) = stream.next().await {
        // Meanwhile the engine drops output, or the command waits, as the host chose.
        events.flow().opened().await;
        let sending = match heard {
            Heard::Chunk(chunk) => send_piece(splitter.push(chunk.bytes), id, events, &mut sent).await,
            Heard::Dropped { bytes } => {
                // The rest of a split character is among the dropped bytes.
                let begun = send_piece(splitter.finish(), id, events, &mut sent).await;
                sent.dropped_bytes += bytes;
                let dropped = events.send(|seq| Event::Dropped { id: id.clone(), seq, bytes }).await;
                begun.and(dropped)
            }
        };
        if sending.is_err() {
            return sent;
        }
    }
    // A host that hung up misses nothing.
    let _ = send_piece(splitter.finish(), id, events, &mut sent).await;
    sent
}

async fn send_piece(piece: Vec<u8>, id: &RequestId, events: &Events, sent: &mut StreamSummary) -> Result<(), HungUp> {
    if piece.is_empty() {
        return Ok(());
    }
    sent.chunks += 1;
    sent.bytes += piece.len() as u64;
    let (text, base64) = match String::from_utf8(piece) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(BASE64_STANDARD.encode(error.as_bytes()))),
    };
    events.send(|seq| Event::Chunk { id: id.clone(), seq, text, base64 }).await
}

/// Holds back the beginning of a character until its rest comes.
#[derive(Debug, Default)]
struct Splitter {
    /// At most three bytes.
    begun: Vec<u8>,
}

impl Splitter {
    /// The bytes up to the last whole character.
    fn push(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        let mut piece = if self.begun.is_empty() { bytes } else { [std::mem::take(&mut self.begun), bytes].concat() };
        self.begun = piece.split_off(piece.len() - unfinished(&piece));
        piece
    }

    /// The bytes that were held back.
    fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.begun)
    }
}

/// The number of bytes at the end that begin a character and do not finish it.
fn unfinished(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    // A lead byte is at most three bytes before the end.
    let Some(at) = tail.iter().rposition(|byte| *byte >= 0xC0) else { return 0 };
    match std::str::from_utf8(&tail[at..]) {
        // More bytes could make it a character.
        Err(error) if error.error_len().is_none() => tail.len() - at,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut splitter = Splitter::default();
        let mut all: Vec<Vec<u8>> = pieces.iter().map(|piece| splitter.push(piece.to_vec())).collect();
        all.push(splitter.finish());
        all
    }

    #[test]
    fn a_character_that_comes_in_two_pieces_is_joined() {
        assert_eq!(split(&[b"a\xe2\x82", b"\xac!"]), [&b"a"[..], "€!".as_bytes(), b""]);
        assert_eq!(split(&[b"\xf0", b"\x9f", b"\x98", b"\x80"]), [&b""[..], b"", b"", "😀".as_bytes(), b""]);
    }

    #[test]
    fn bytes_that_no_more_bytes_make_a_character_are_not_held_back() {
        assert_eq!(split(&[b"a\xff"]), [&b"a\xff"[..], b""]);
        assert_eq!(split(&[b"\x80\x80"]), [&b"\x80\x80"[..], b""]);
        assert_eq!(split(&[b"\xe2\x28"]), [&b"\xe2\x28"[..], b""]);
        assert_eq!(split(&[b"end\xe2"]), [&b"end"[..], b"\xe2"], "the last piece has what never came to its end");
    }

    proptest! {
        #[test]
        fn text_in_any_pieces_stays_text_and_every_byte_stays(text in ".{0,40}", cuts in proptest::collection::vec(0usize..200, 0..6)) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            let sent = split(&pieces);
            prop_assert!(sent.iter().all(|piece| std::str::from_utf8(piece).is_ok()));
            prop_assert_eq!(sent.concat(), bytes);
        }

        #[test]
        fn bytes_in_any_pieces_stay(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..9), 0..9)) {
            let sent = split(&pieces.iter().map(Vec::as_slice).collect::<Vec<_>>());
            prop_assert_eq!(sent.concat(), pieces.concat());
        }
    }
}
