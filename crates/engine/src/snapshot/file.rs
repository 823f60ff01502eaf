//! A snapshot as a file: lines that a shell sources, behind a first line that says what they are.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::hash::Hash;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::{Duration, SystemTime};

use bashful_keeper::quote;
use serde::{Deserialize, Serialize};

use super::keep::Kept;
use super::sources::digest;

/// How the first line begins. To a shell it is a comment.
const MARK: &[u8] = b"# bashful snapshot ";

/// What the lines are, by name. Variables are in here and not among the lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    /// What it was captured from.
    key: String,
    /// What the lines are, so that others are noticed.
    digest: String,
    /// When, in seconds since 1970.
    pub(super) captured: u64,
    /// How long that took.
    pub(super) took_us: u64,
    /// Variables and their values, byte by byte: each character stands for the byte of its number.
    pub(super) set: BTreeMap<String, String>,
    pub(super) removed: Vec<String>,
    pub(super) options: Vec<String>,
    pub(super) aliases: Vec<String>,
    pub(super) functions: Vec<String>,
    pub(super) left_out: Vec<String>,
}

impl Header {
    /// The variables that are set.
    pub(super) fn variables(&self) -> BTreeMap<OsString, OsString> {
        let bytes = |text: &str| text.chars().map(|char| u8::try_from(char).unwrap_or(b'?')).collect();
        self.set.iter().map(|(name, value)| (name.into(), OsString::from_vec(bytes(value)))).collect()
    }
}

/// The file of what commands get.
pub(super) fn render(kept: &Kept, key: &str, took: Duration) -> (Header, Vec<u8>) {
    let lines = lines(kept);
    let names = |names: &mut dyn Iterator<Item = &[u8]>| {
        names.map(|name| String::from_utf8_lossy(name).into_owned()).collect::<Vec<_>>()
    };
    let characters = |value: &OsStr| value.as_bytes().iter().map(|byte| char::from(*byte)).collect();
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let header = Header {
        key: key.to_owned(),
        digest: of_lines(&lines),
        captured: since_1970.as_secs(),
        took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        set: kept.set.iter().map(|(name, value)| (name.to_string_lossy().into_owned(), characters(value))).collect(),
        removed: names(&mut kept.removed.iter().map(|name| name.as_bytes())),
        options: kept.options.clone(),
        aliases: names(&mut kept.aliases.keys().map(Vec::as_slice)),
        functions: names(&mut kept.functions.iter().map(|function| function.name.as_slice())),
        left_out: kept.left_out.clone(),
    };
    let mut file = MARK.to_vec();
    file.extend(serde_json::to_vec(&header).expect("texts, numbers and lists of them"));
    file.push(b'\n');
    file.extend(lines);
    (header, file)
}

/// What a file says that it is, if that is true.
pub(super) fn header_of(file: &[u8], key: &str) -> Option<Header> {
    let rest = file.strip_prefix(MARK)?;
    let end = memchr::memchr(b'\n', rest)?;
    let header: Header = serde_json::from_slice(&rest[..end]).ok()?;
    (header.key == key && header.digest == of_lines(&rest[end + 1..])).then_some(header)
}

fn of_lines(lines: &[u8]) -> String {
    digest(|hasher| lines.hash(hasher))
}

/// The lines that a shell sources.
///
/// Functions first, with `extglob` on, because some cannot be read without, and with aliases off, because those that were
/// to apply have been put in when the functions were defined. Aliases last. All of it by `builtin`: there may be functions
/// of any other name.
fn lines(kept: &Kept) -> Vec<u8> {
    let mut lines = b"\\builtin shopt -u expand_aliases\n\\builtin shopt -s extglob\n".to_vec();
    for function in &kept.functions {
        lines.extend(&function.text);
        if function.exported {
            lines.extend(b"\\builtin export -f -- ");
            quote(&mut lines, &function.name);
            lines.push(b'\n');
        }
    }
    lines.extend(b"\\builtin shopt -u extglob\n");
    for option in &kept.options {
        lines.extend(format!("\\builtin shopt -s {option}\n").as_bytes());
    }
    for (name, value) in &kept.aliases {
        lines.extend(b"\\builtin alias -- ");
        quote(&mut lines, &[name.as_slice(), b"=", value].concat());
        lines.push(b'\n');
    }
    lines.extend(b"\\builtin shopt -s expand_aliases\n");
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_taken_for_what_it_is_only_as_long_as_nobody_has_changed_it() {
        let mut kept = Kept::default();
        kept.set.insert("A".into(), OsString::from_vec(b"\xff\n'\"".to_vec()));
        kept.aliases.insert(b"ll".to_vec(), b"ls -l 'x'".to_vec());
        let (header, file) = render(&kept, "key", Duration::from_millis(3));
        let read = header_of(&file, "key").expect("it is right");
        assert_eq!(read, header);
        assert_eq!(read.variables()[OsStr::new("A")].as_bytes(), b"\xff\n'\"");
        assert_eq!(header_of(&file, "another key"), None);
        for (index, byte) in file.iter().enumerate() {
            let mut changed = file.clone();
            changed[index] = byte ^ 1;
            assert_ne!(header_of(&changed, "key").as_ref(), Some(&header), "byte {index}");
            assert_eq!(header_of(&file[..index], "key"), None, "{index} bytes");
        }
    }
}
