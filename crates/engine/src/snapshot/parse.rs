//! Parses the answer of a captured shell.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// First field, so that no other text is mistaken for an answer.
const FORMAT: &[u8] = b"bashful-1";

/// Last field, so that half an answer is not mistaken for the whole.
const END: &[u8] = b"end";

/// State of a shell, as it described itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Captured {
    /// Options that are on, of both `shopt` and `set -o`.
    pub(super) options: Vec<String>,
    pub(super) aliases: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(super) functions: Vec<Function>,
    /// Exported variables.
    pub(super) variables: BTreeMap<OsString, OsString>,
}

/// A function, as bash prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: Vec<u8>,
    pub(super) text: Vec<u8>,
    pub(super) exported: bool,
}

/// Parses the fields that `capture.sh` writes; none if some are missing.
pub(super) fn parse(bytes: &[u8]) -> Option<Captured> {
    let mut fields = bytes.strip_suffix(&[0])?.split(|byte| *byte == 0);
    let mut next = || fields.next();
    if next()? != FORMAT {
        return None;
    }
    let options = next()?.split(|byte| *byte == b':').map(|name| String::from_utf8_lossy(name).into_owned());
    let options = options.filter(|name| !name.is_empty()).collect();
    let count: usize = str::from_utf8(next()?).ok()?.parse().ok()?;
    let mut aliases = BTreeMap::new();
    for _ in 0..count {
        aliases.insert(next()?.to_vec(), next()?.to_vec());
    }
    let mut functions = Vec::new();
    loop {
        let kind = next()?;
        if kind.is_empty() {
            break;
        }
        let exported = kind.contains(&b'x');
        functions.push(Function { name: next()?.to_vec(), text: next()?.to_vec(), exported });
    }
    let mut variables = BTreeMap::new();
    loop {
        let name = next()?;
        if name.is_empty() {
            break;
        }
        variables.insert(OsString::from_vec(name.to_vec()), OsString::from_vec(next()?.to_vec()));
    }
    (next()? == END && next().is_none()).then_some(Captured { options, aliases, functions, variables })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &[u8] =
        b"bashful-1\0extglob:monitor\x001\0ll\0ls -l\0-fx\0f\0f () \n{ \n    :\n}\n\0\0A\0b\nc\0\0end\0";

    #[test]
    fn all_of_it_is_read() {
        let captured = parse(WHOLE).expect("it is whole");
        assert_eq!(captured.options, ["extglob", "monitor"]);
        assert_eq!(captured.aliases[&b"ll"[..]], b"ls -l");
        assert_eq!(captured.functions[0].name, b"f");
        assert!(captured.functions[0].exported && captured.functions[0].text.ends_with(b"}\n"));
        assert_eq!(captured.variables[std::ffi::OsStr::new("A")], "b\nc");
    }

    #[test]
    fn a_part_of_it_is_nothing() {
        for length in 0..WHOLE.len() {
            assert_eq!(parse(&WHOLE[..length]), None, "{length}");
        }
        assert_eq!(parse(&[WHOLE, b"more\0"].concat()), None);
    }
}
