//! Snapshots as files: lines that a shell sources, after a first line that describes them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::{Duration, SystemTime};

use bashful_keeper::quote;
use serde::{Deserialize, Serialize};

use super::filter::KeptDefinitions;
use super::mentions::Definitions;
use crate::environment::Withheld;
use crate::fixed_name::FixedName;

/// Version of the file. A file of another version is captured again.
const VERSION: u32 = 2;

/// Beginning of the first line. For a shell it is a comment.
const FIRST_LINE: &[u8] = b"# bashful snapshot ";

/// Variable in which a trial counts commands.
pub(super) const COUNT_VARIABLE: &str = "BASHFUL_RAN";

/// The names of all definitions. Variables are in here, and not among the lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    /// Version of the file.
    version: u32,
    /// Key of the rc files, the shell and the variables.
    key: String,
    /// Digest of the lines, so that changed ones are noticed.
    digest: String,
    /// Unix time of the capture, in seconds.
    pub(super) captured: u64,
    /// Time that the rc files took, in microseconds.
    pub(super) took_us: u64,
    /// Variables and their values, byte by byte: each character stands for the byte of its number.
    pub(super) set: BTreeMap<String, String>,
    pub(super) removed: Vec<String>,
    pub(super) options: Vec<String>,
    pub(super) aliases: Vec<String>,
    pub(super) functions: Vec<String>,
    pub(super) left_out: Vec<String>,
    /// Names of withheld variables, each with a fingerprint of its value.
    pub(super) withheld: Vec<(String, u32)>,
    /// Name, beginning and end of each function and alias among the lines.
    places: Vec<(String, usize, usize)>,
}

impl Header {
    /// The variables among `known` that the rc files had set; none if some of them are unknown.
    pub(super) fn withheld_among(&self, known: &[Withheld]) -> Option<Vec<Withheld>> {
        let prints: Vec<_> = known.iter().map(|secret| (secret, named_print(secret, &self.key))).collect();
        let find = |print: &(String, u32)| prints.iter().find(|(_, known)| known == print);
        self.withheld.iter().map(|print| find(print).map(|(secret, _)| (*secret).clone())).collect()
    }

    /// The variables that the snapshot sets.
    pub(super) fn variables(&self) -> BTreeMap<OsString, OsString> {
        let bytes = |text: &str| text.chars().map(|char| u8::try_from(char).unwrap_or(b'?')).collect();
        self.set.iter().map(|(name, value)| (name.into(), OsString::from_vec(bytes(value)))).collect()
    }
}

/// Writes a snapshot as a file.
pub(super) fn render(kept: &KeptDefinitions, key: &str, took: Duration) -> Vec<u8> {
    let (lines, places) = (commands(kept).concat(), places(kept));
    let names = |names: &mut dyn Iterator<Item = &[u8]>| {
        names.map(|name| String::from_utf8_lossy(name).into_owned()).collect::<Vec<_>>()
    };
    let characters = |value: &OsStr| value.as_bytes().iter().map(|byte| char::from(*byte)).collect();
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let header = Header {
        version: VERSION,
        key: key.to_owned(),
        digest: digest_of(&lines),
        captured: since_1970.as_secs(),
        took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        set: kept.set.iter().map(|(name, value)| (name.to_string_lossy().into_owned(), characters(value))).collect(),
        removed: names(&mut kept.removed.iter().map(|name| name.as_bytes())),
        options: kept.options.clone(),
        aliases: names(&mut kept.aliases.keys().map(Vec::as_slice)),
        functions: names(&mut kept.functions.iter().map(|function| function.name.as_slice())),
        left_out: kept.left_out.clone(),
        withheld: kept.withheld.iter().map(|secret| named_print(secret, key)).collect(),
        places,
    };
    let mut file = FIRST_LINE.to_vec();
    file.extend(serde_json::to_vec(&header).expect("texts, numbers and lists of them"));
    file.push(b'\n');
    file.extend(lines);
    file
}

/// The name, and a fingerprint by which holders of the value recognize it. It is too short to find the value.
fn named_print(secret: &Withheld, key: &str) -> (String, u32) {
    let print = FixedName::new("withheld").field(key.as_bytes()).field(secret.value().as_bytes());
    (secret.name.to_string_lossy().into_owned(), print.short())
}

/// Reads a file; none unless version, key and digest are right.
pub(super) fn read(file: &[u8], key: &str) -> Option<(Header, Definitions)> {
    let rest = file.strip_prefix(FIRST_LINE)?;
    let end = memchr::memchr(b'\n', rest)?;
    let header: Header = serde_json::from_slice(&rest[..end]).ok()?;
    let lines = &rest[end + 1..];
    if header.version != VERSION || header.key != key || header.digest != digest_of(lines) {
        return None;
    }
    let definitions = Definitions::new(lines.to_vec(), &header.places);
    Some((header, definitions))
}

/// Beginning and end of each function and alias among the lines.
fn places(kept: &KeptDefinitions) -> Vec<(String, usize, usize)> {
    let mut names = kept.functions.iter().map(|function| &function.name).chain(kept.aliases.keys());
    let mut places = Vec::new();
    let mut begin = 0;
    for command in commands(kept) {
        let end = begin + command.len();
        if !command.starts_with(BUILTIN) || command.starts_with(ALIAS) {
            places.extend(names.next().map(|name| (String::from_utf8_lossy(name).into_owned(), begin, end)));
        }
        begin = end;
    }
    places
}

fn digest_of(lines: &[u8]) -> String {
    FixedName::new("snapshot lines").field(lines).hex()
}

/// Beginning of all lines that are no functions, and of those that define aliases.
const BUILTIN: &[u8] = b"\\builtin ";
const ALIAS: &[u8] = b"\\builtin alias ";

/// The lines that a shell sources.
///
/// Functions come first, with `extglob` on, because some cannot be parsed without it. Aliases are off, because those
/// that apply were already expanded when the functions were defined. Aliases come last. Everything uses `builtin`,
/// because functions of any other name may exist.
fn commands(kept: &KeptDefinitions) -> Vec<Vec<u8>> {
    let builtin = |command: &str, word: Option<&[u8]>| {
        let mut line = format!("\\builtin {command}").into_bytes();
        if let Some(word) = word {
            line.push(b' ');
            quote(&mut line, word);
        }
        line.push(b'\n');
        line
    };
    let mut commands = vec![builtin("shopt -u expand_aliases", None), builtin("shopt -s extglob", None)];
    for function in &kept.functions {
        commands.push(function.text.clone());
        commands.extend(function.exported.then(|| builtin("export -f --", Some(&function.name))));
    }
    commands.push(builtin("shopt -u extglob", None));
    commands.extend(kept.options.iter().map(|option| builtin(&format!("shopt -s {option}"), None)));
    for (name, value) in &kept.aliases {
        commands.push(builtin("alias --", Some(&[name.as_slice(), b"=", value].concat())));
    }
    commands.push(builtin("shopt -s expand_aliases", None));
    commands
}

/// The lines for a trial, which count the commands that run, and the expected number. A function that bash has printed
/// wrongly could end before its last line, and its rest would run.
pub(super) fn trial(kept: &KeptDefinitions) -> (Vec<u8>, usize) {
    let commands = commands(kept);
    // Definitions do not count.
    let expected = commands.len() - kept.functions.len() + 1;
    let counting =
        format!("\\builtin export {COUNT_VARIABLE}=0\n\\builtin trap '(({COUNT_VARIABLE}++))' DEBUG\n").into_bytes();
    let done = b"\\builtin trap - DEBUG\n".to_vec();
    (std::iter::once(counting).chain(commands).chain([done]).collect::<Vec<_>>().concat(), expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Count of a trial, and the expected one.
    fn counted(text: &str) -> (String, usize) {
        let function = |name: &str, text: &str| super::super::parse::Function {
            name: name.into(),
            text: text.into(),
            exported: true,
        };
        let functions = vec![function("f", text), function("g", "g () \n{ \n    echo g\n}\n")];
        let mut kept = KeptDefinitions { functions, options: vec!["extglob".to_owned()], ..KeptDefinitions::default() };
        kept.aliases.insert(b"ll".to_vec(), b"ls -l".to_vec());
        let (mut lines, expected) = trial(&kept);
        lines.extend(format!("printf %s \"${COUNT_VARIABLE}\"").into_bytes());
        let shell = std::process::Command::new("bash").arg("-c").arg(OsStr::from_bytes(&lines)).output().expect("bash");
        (String::from_utf8_lossy(&shell.stdout).into_owned(), expected)
    }

    #[test]
    fn a_function_that_ends_too_early_is_noticed() {
        let (ran, expected) = counted("f () \n{ \n    true\n    [[ x ]] && true\n}\n");
        assert_eq!(ran, expected.to_string());
        let (ran, expected) = counted("f () \n{ \n    true\n}\ntrue x\n");
        assert_eq!(ran, (expected + 1).to_string());
    }

    #[test]
    fn a_file_is_taken_for_what_it_is_only_as_long_as_nobody_has_changed_it() {
        let mut kept = KeptDefinitions::default();
        kept.set.insert("A".into(), OsString::from_vec(b"\xff\n'\"".to_vec()));
        kept.aliases.insert(b"ll".to_vec(), b"ls -l 'x'".to_vec());
        let file = render(&kept, "key", Duration::from_millis(3));
        let header = read(&file, "key").expect("it is right").0;
        assert_eq!((header.aliases.as_slice(), header.took_us), (&["ll".to_owned()][..], 3000));
        assert_eq!(header.variables()[OsStr::new("A")].as_bytes(), b"\xff\n'\"");
        assert!(read(&file, "another key").is_none());
        for (index, byte) in file.iter().enumerate() {
            let mut changed = file.clone();
            changed[index] = byte ^ 1;
            assert!(read(&changed, "key").is_none_or(|(read, _)| read != header), "byte {index}");
            assert!(read(&file[..index], "key").is_none(), "{index} bytes");
        }
    }
}
