//! Finds internal URLs that are words of a script, and replaces them by the paths of their files.
//!
//! A URL counts if it is a word of its own, bare or in quotes, or comes after `name=`, `--option=` or `@`. In the
//! middle of a text it is only mentioned, and comments and here-documents contain text. A quoted URL may contain
//! blanks, but a text may begin with a URL too. So a quoted URL counts if its file exists or can be written. In double
//! quotes and without blanks it always counts, and one without a file is refused.
//!
//! The value of a variable is no script: every URL in it counts.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bashful_bash::{Outline, Quoting, Stretch};
use memchr::memmem;

use super::{Rewriting, ScriptEdit, quotable};
use crate::rewrite::scheme::{Scheme, UrlError, UrlFile};

/// Notice about a script that cannot be parsed.
pub(super) const NOT_PARSED: &str =
    "internal URLs were left as they are: the script could not be parsed to its end, or is too long";

/// Most notices about the URLs of one command.
const MOST_NOTICES: usize = 20;

/// Finds URLs, and collects notices about them.
#[derive(Debug)]
pub(super) struct UrlFinder<'a> {
    rewriting: &'a Rewriting,
    pub(super) notices: Vec<String>,
    /// Directories that have to exist.
    pub(super) wanted: Vec<PathBuf>,
}

/// A URL at a place where it counts.
struct Url<'a> {
    scheme: &'a str,
    /// Text after `://`.
    name: &'a str,
    /// Offset in its text.
    at: usize,
}

impl Url<'_> {
    fn text(&self) -> String {
        quotable(&format!("{}://{}", self.scheme, self.name))
    }
}

impl<'a> UrlFinder<'a> {
    pub(super) fn new(rewriting: &'a Rewriting) -> Self {
        Self { rewriting, notices: Vec::new(), wanted: Vec::new() }
    }

    /// True if a text contains anything that looks like a known URL.
    pub(super) fn may_be_in(&self, script: &[u8]) -> bool {
        memmem::find_iter(script, b"://").any(|at| self.knows(scheme_before(&script[..at])))
    }

    fn knows(&self, scheme: &[u8]) -> bool {
        let known = |name: &str| name.as_bytes() == scheme;
        self.rewriting.schemes.iter().any(|scheme| known(scheme.name()))
            || self.rewriting.unsupported.iter().any(|name| known(name))
    }

    /// Returns the changes that a script needs.
    pub(super) fn in_script(&mut self, script: &str, outline: &Outline<'_>) -> Result<Vec<ScriptEdit>, UrlError> {
        let mut edits = Vec::new();
        for stretch in outline.stretches() {
            let Some(url) = self.first_in(script, stretch) else { continue };
            let start = stretch.range.start + url.at;
            let quoted = |path: &Path| match stretch.quoting {
                Quoting::Bare => bare(path),
                Quoting::Double => double(path),
                Quoting::Single => single(path),
            };
            let after = script.get(stretch.range.end..stretch.word.end).unwrap_or("");
            let pattern = url.name.find(['*', '?', '[', '{']).filter(|_| stretch.quoting == Quoting::Bare);
            let ends_word = after == stretch.quoting.mark();
            if pattern.is_none() && ends_word {
                let is_text = stretch.quoting == Quoting::Single || url.name.contains(char::is_whitespace);
                let path = if is_text { self.if_usable(&url) } else { Some(self.resolve(&url)?) };
                edits.extend(path.map(|path| ScriptEdit { range: start..stretch.range.end, text: quoted(&path) }));
            } else if stretch.quoting == Quoting::Single {
                // Bash expands nothing in single quotes, so it is a text.
            } else if let Some((path, length)) = self.directory_of(&url, pattern, after, stretch.quoting)? {
                let end = start + url.scheme.len() + "://".len() + length;
                edits.push(ScriptEdit { range: start..end, text: [quoted(&path).as_slice(), b"/"].concat() });
            } else {
                let word = quotable(&script[start..stretch.word.end.max(stretch.range.end)]);
                self.note(format!("{word} was left as it is: only bash can expand it"));
            }
        }
        Ok(edits)
    }

    /// The path of a whole text that is a URL.
    pub(super) fn as_path(&mut self, text: &str) -> Result<Option<PathBuf>, UrlError> {
        match text.split_once("://") {
            Some((scheme, name)) if self.knows(scheme.as_bytes()) => {
                self.resolve(&Url { scheme, name, at: 0 }).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The value of a variable with paths in place of its URLs; none if it has none.
    pub(super) fn in_value(&mut self, value: &str) -> Result<Option<OsString>, UrlError> {
        if !self.may_be_in(value.as_bytes()) {
            return Ok(None);
        }
        // The name of a file may contain blanks and colons.
        if let Some((scheme, name)) = value.split_once("://")
            && let Some(found) = self.find(&Url { scheme, name, at: 0 }).ok().filter(|found| found.path.exists())
        {
            return Ok(Some(self.note_use(&Url { scheme, name, at: 0 }, found).into()));
        }
        let mut replaced = OsString::new();
        let mut rest = value;
        while let Some(colon) = rest.find("://") {
            let scheme = str::from_utf8(scheme_before(&rest.as_bytes()[..colon])).unwrap_or_default();
            let name = &rest[colon + 3..];
            let end = colon + 3 + name.find(ends_url).unwrap_or(name.len());
            if self.knows(scheme.as_bytes()) {
                let url = Url { scheme, name: &rest[colon + 3..end], at: colon - scheme.len() };
                replaced.push(&rest[..url.at]);
                replaced.push(self.resolve(&url)?);
            } else {
                // A URL of another scheme stays as it is, whatever it contains.
                replaced.push(&rest[..end]);
            }
            rest = &rest[end..];
        }
        replaced.push(rest);
        Ok(Some(replaced))
    }

    /// The URL at the beginning of a word, or after something that may come before one.
    fn first_in<'b>(&self, script: &'b str, stretch: &Stretch) -> Option<Url<'b>> {
        let text = script.get(stretch.range.clone())?;
        let colon = text.find("://")?;
        let scheme = str::from_utf8(scheme_before(&text.as_bytes()[..colon])).ok()?;
        let at = colon - scheme.len();
        if !self.knows(scheme.as_bytes()) || !stands_alone(script, stretch, at) {
            return None;
        }
        Some(Url { scheme, name: &text[colon + 3..], at })
    }

    /// The directory of a name that bash completes, and the length of that part of the name.
    fn directory_of(
        &mut self,
        url: &Url<'_>,
        pattern: Option<usize>,
        after: &str,
        quoting: Quoting,
    ) -> Result<Option<(PathBuf, usize)>, UrlError> {
        let known = &url.name[..pattern.unwrap_or(url.name.len())];
        let (directory, length) =
            known.rsplit_once('/').map_or(("", 0), |(directory, _)| (directory, directory.len() + 1));
        let rest = &url.name[length..];
        // A text may begin with a URL.
        let is_text = quoting == Quoting::Double && after.contains(char::is_whitespace);
        if url.name.contains(char::is_whitespace) || is_text || rest.contains('%') {
            return Ok(None);
        }
        let Some(scheme) = self.rewriting.schemes.iter().find(|scheme| scheme.name() == url.scheme) else {
            return Err(UrlError::Unsupported { url: url.text() });
        };
        if rest.split('/').any(|part| part == "..") {
            return Err(UrlError::Traversal { scheme: url.scheme.to_owned() });
        }
        let found = find(scheme.as_ref(), &decoded(directory)).ok();
        let Some(found) = found.filter(|found| found.path.is_dir() || found.wanted.is_some()) else { return Ok(None) };
        self.note(format!("{}://{directory} is {}", url.scheme, found.path.display()));
        self.wanted.extend(found.wanted.map(|_| found.path.clone()));
        Ok(Some((found.path, length)))
    }

    /// Adds a notice once, up to a limit.
    fn note(&mut self, notice: String) {
        if self.notices.contains(&notice) {
            return;
        }
        match self.notices.len() {
            said if said < MOST_NOTICES => self.notices.push(notice),
            MOST_NOTICES => self.notices.push("more internal URLs were replaced".to_owned()),
            _ => {}
        }
    }

    /// Returns the path of a URL.
    fn resolve(&mut self, url: &Url<'_>) -> Result<PathBuf, UrlError> {
        let found = self.find(url)?;
        Ok(self.note_use(url, found))
    }

    /// Returns the path of a URL that may be the beginning of a text; none if the file neither exists nor can be
    /// written.
    fn if_usable(&mut self, url: &Url<'_>) -> Option<PathBuf> {
        let is_usable = |found: &UrlFile| found.path.exists() || (found.wanted.is_some() && !url.name.contains("://"));
        let found = self.find(url).ok().filter(is_usable)?;
        Some(self.note_use(url, found))
    }

    fn find(&self, url: &Url<'_>) -> Result<UrlFile, UrlError> {
        match self.rewriting.schemes.iter().find(|scheme| scheme.name() == url.scheme) {
            Some(scheme) => find(scheme.as_ref(), &decoded(url.name)),
            None => Err(UrlError::Unsupported { url: url.text() }),
        }
    }

    fn note_use(&mut self, url: &Url<'_>, UrlFile { path, wanted }: UrlFile) -> PathBuf {
        self.note(format!("{} is {}", url.text(), path.display()));
        self.wanted.extend(wanted);
        path
    }
}

fn find(scheme: &dyn Scheme, name: &str) -> Result<UrlFile, UrlError> {
    let found = scheme.find(name)?;
    if found.path.is_absolute() && !found.path.as_os_str().as_bytes().contains(&0) {
        return Ok(found);
    }
    let why = format!("{} is no absolute path", found.path.display());
    Err(UrlError::NoFile { url: format!("{}://{name}", scheme.name()), why })
}

/// The characters before `://` that can be a scheme.
fn scheme_before(text: &[u8]) -> &[u8] {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-' | b'_');
    let length = text.iter().rev().take_while(|byte| is_part(byte)).count();
    &text[text.len() - length..]
}

/// True if a URL at this offset of a stretch is a word of its own, or the value of something.
fn stands_alone(script: &str, stretch: &Stretch, at: usize) -> bool {
    let start = stretch.range.start;
    let Some(before) = script.get(stretch.word.start..start) else { return false };
    let inside = &script[start..start + at];
    match stretch.quoting {
        Quoting::Bare => introduces_value(&script[stretch.word.start..start + at]),
        // The quote begins the value, or the whole word.
        Quoting::Double | Quoting::Single => match before.strip_suffix(stretch.quoting.mark()) {
            Some(outside) if inside.is_empty() => introduces_value(outside),
            Some(outside) => outside.is_empty() && introduces_value(inside),
            None => false,
        },
    }
}

/// True if the rest of a word after `beginning` is a value: the whole word, that of `name=` or `--option=`, or a file
/// after `@`.
fn introduces_value(beginning: &str) -> bool {
    let before = beginning.strip_suffix('@').unwrap_or(beginning);
    let Some(named) = before.strip_suffix('=') else { return before.is_empty() };
    let name = named.strip_suffix('+').unwrap_or(named);
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    !name.is_empty() && name.chars().all(is_part)
}

/// True for a character that ends a URL in the value of a variable: such values are texts, lists like `PATH`, or
/// options.
fn ends_url(letter: char) -> bool {
    letter.is_whitespace() || "'\")`\\:;,".contains(letter)
}

/// Quotes a path as a bare word.
fn bare(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+,:@%".contains(byte);
    if bytes.iter().all(is_plain) {
        return bytes.to_vec();
    }
    [b"'", single(path).as_slice(), b"'"].concat()
}

/// Escapes a path for single quotes.
fn single(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'\'' => text.extend_from_slice(b"'\\''"),
            other => text.push(*other),
        }
    }
    text
}

/// Escapes a path for double quotes.
fn double(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        if b"\"$`\\".contains(byte) {
            text.push(b'\\');
        }
        text.push(*byte);
    }
    text
}

/// Percent-decodes a name. Invalid sequences stay as they are.
fn decoded(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [byte, after @ ..] = rest {
        let digits = after.get(..2).filter(|_| *byte == b'%').and_then(|digits| str::from_utf8(digits).ok());
        if let Some(digits) = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit())) {
            bytes.extend(u8::from_str_radix(digits, 16));
            rest = &after[2..];
        } else {
            bytes.push(*byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// A scheme that knows every name but `gone`.
    #[derive(Debug)]
    struct Files;

    impl Scheme for Files {
        fn name(&self) -> &'static str {
            "file-of"
        }

        fn find(&self, name: &str) -> Result<UrlFile, UrlError> {
            if name == "gone" {
                let available = vec!["a".to_owned(), "b".to_owned()];
                return Err(UrlError::Unknown { kind: "file", name: name.to_owned(), available });
            }
            Ok(UrlFile { path: Path::new("/files").join(name), wanted: None })
        }
    }

    /// A scheme of names below an existing directory.
    #[derive(Debug)]
    struct Directories;

    impl Scheme for Directories {
        fn name(&self) -> &'static str {
            "dir-of"
        }

        fn find(&self, name: &str) -> Result<UrlFile, UrlError> {
            let below = Path::new("/usr").components().chain(Path::new(name).components());
            Ok(UrlFile { path: below.collect(), wanted: None })
        }
    }

    /// A scheme of files that can be written.
    #[derive(Debug)]
    struct Notes;

    impl Scheme for Notes {
        fn name(&self) -> &'static str {
            "note-of"
        }

        fn find(&self, name: &str) -> Result<UrlFile, UrlError> {
            Ok(UrlFile { path: Path::new("/notes").join(name), wanted: Some("/notes".into()) })
        }
    }

    fn rewriting() -> Rewriting {
        Rewriting {
            schemes: vec![Arc::new(Files), Arc::new(Directories), Arc::new(Notes)],
            unsupported: vec!["agent".to_owned()],
            ..Rewriting::default()
        }
    }

    fn try_replace(script: &str) -> Result<(String, Vec<String>), UrlError> {
        let rewriting = rewriting();
        let mut finder = UrlFinder::new(&rewriting);
        let edits = finder.in_script(script, &Outline::of(script).expect("it parses"))?;
        let replaced = crate::rewrite::apply(script.as_bytes(), &edits);
        Ok((String::from_utf8(replaced).expect("text"), finder.notices))
    }

    #[track_caller]
    fn check(script: &str, expected: &str) {
        let (replaced, notices) = try_replace(script).expect("it is replaced");
        assert_eq!(replaced, expected);
        assert_eq!(notices.is_empty(), script == expected, "{notices:?}");
    }

    #[test]
    fn a_url_that_is_a_word_becomes_a_path() {
        check("cat file-of://a", "cat /files/a");
        check("cat file-of://a%20b", "cat '/files/a b'");
        check("cat file-of://it%27s", "cat '/files/it'\\''s'");
        check("cat \"file-of://a%20b\"", "cat \"/files/a b\"");
        check("cat \"file-of://%24x%22%60%5c\"", "cat \"/files/\\$x\\\"\\`\\\\\"");
        check("x=file-of://a y <file-of://b >file-of://c", "x=/files/a y </files/b >/files/c");
        check("a --in=file-of://a -F \"f=@file-of://b\" @file-of://c", "a --in=/files/a -F \"f=@/files/b\" @/files/c");
        check("a --in=\"file-of://a\"; (b file-of://b)|c", "a --in=\"/files/a\"; (b /files/b)|c");
        check("echo \"$(cat file-of://a)\" `cat file-of://b`", "echo \"$(cat /files/a)\" `cat /files/b`");
        check(
            "for f in file-of://a b; do [[ -e file-of://c ]]; done",
            "for f in /files/a b; do [[ -e /files/c ]]; done",
        );
        check("cat <<E\n$(cat file-of://a) file-of://b\nE\n", "cat <<E\n$(cat /files/a) file-of://b\nE\n");
        check("a=(file-of://a file-of://b)", "a=(/files/a /files/b)");
        check("a[1]=file-of://a b=([2]=file-of://b)", "a[1]=/files/a b=([2]=/files/b)");
        check("cat \\\nfile-of://a", "cat \\\n/files/a");
        check("[[ x =~ \"file-of://a\" ]]", "[[ x =~ \"/files/a\" ]]");
    }

    #[test]
    fn what_is_only_mentioned_stays() {
        for script in [
            "echo 'file-of://a'",
            "echo \"see file-of://a\"",
            "echo \"file-of://a is it\"",
            "echo \"\\\"file-of://a\"",
            "echo hi # file-of://a",
            "cat <<'E'\nfile-of://a\nE\n",
            "cat <<E\nfile-of://a\nE\n",
            "echo $'file-of://a' x\\ file-of://a",
            "curl https://x/?u=file-of://a",
            "git clone git+file-of://a xfile-of://a",
            "curl https://agent.example/ file:///etc git+ssh://x ssh://agent/",
            "echo ${x:-file-of://a} \"${x:=file-of://a}\"",
            "echo 'agent://1' \"an agent://1\" # agent://1",
        ] {
            check(script, script);
        }
    }

    #[test]
    fn what_only_bash_can_finish_begins_with_a_directory_if_there_is_one() {
        for (script, expected) in [
            ("cat dir-of://lib/$x", "cat /usr/lib/$x"),
            ("cat dir-of://$x \"dir-of://${x}.txt\" y", "cat /usr/$x \"/usr/${x}.txt\" y"),
            ("ls dir-of://*.txt dir-of://lib/{a,b}/c", "ls /usr/*.txt /usr/lib/{a,b}/c"),
            ("ls dir-of://a'b c' dir-of://lib/a\\ b", "ls /usr/a'b c' /usr/lib/a\\ b"),
        ] {
            check(script, expected);
        }
        for script in [
            "cat file-of://$x",
            "ls file-of://*.txt",
            "cat file-of://a\"b\"",
            "ls dir-of://%20*",
            "echo \"dir-of://$x is it\"",
        ] {
            let (replaced, notices) = try_replace(script).expect("it is left alone");
            assert_eq!(replaced, script);
            assert!(notices[0].contains("was left as it is"), "{notices:?}");
        }
        let traversal = UrlError::Traversal { scheme: "dir-of".to_owned() };
        assert_eq!(try_replace("cat dir-of://*/../x"), Err(traversal));
    }

    #[test]
    fn what_is_not_there_is_refused_by_name() {
        let check = |script, text: &str| assert_eq!(try_replace(script).expect_err("refused").to_string(), text);
        check("cat file-of://gone", "Unknown file: gone. Available: a, b");
        check("cat \"agent://x/y\"", "Unsupported internal URL in bash command: agent://x/y");
    }

    #[test]
    fn a_quoted_url_may_hold_blanks_if_its_file_is_there_or_can_be_written() {
        check("echo > \"note-of://my notes\"", "echo > \"/notes/my notes\"");
        check("tee 'note-of://it is' < 'note-of://a'", "tee '/notes/it is' < '/notes/a'");
        check("a --in='note-of://a b' x='dir-of://lib'", "a --in='/notes/a b' x='/usr/lib'");
        check("cat 'note-of://%27'", r"cat '/notes/'\'''");
        for text in [
            "echo 'see note-of://a' x'note-of://a' 'note-of://a'x",
            "echo 'note-of://a and note-of://b' \"note-of://a and note-of://b\"",
            "grep 'agent://' 'file-of://gone'",
            "echo \"agent://1 is it\"",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn every_url_in_a_value_becomes_a_path_without_quotes() {
        let rewriting = rewriting();
        let mut finder = UrlFinder::new(&rewriting);
        for (value, expected) in [
            ("file-of://a%20b", "/files/a b"),
            ("see file-of://a and file-of://b.", "see /files/a and /files/b."),
            ("dir-of://bin:dir-of://lib:/bin", "/usr/bin:/usr/lib:/bin"),
            ("--in=file-of://a,\"file-of://b\" (note-of://c)", "--in=/files/a,\"/files/b\" (/notes/c)"),
            ("note-of://my notes.md", "/notes/my notes.md"),
            ("https://x/?u=file-of://a file-of://b", "https://x/?u=file-of://a /files/b"),
        ] {
            assert_eq!(finder.in_value(value).expect("found"), Some(expected.into()), "{value}");
        }
        for value in ["https://x", "file-of:/a", "", "git+file-of://a", "a://b"] {
            assert_eq!(finder.in_value(value).expect("left alone"), None, "{value}");
        }
        assert!(finder.in_value("agent://x").is_err() && finder.in_value("to agent://x").is_err());
        assert_eq!(finder.as_path("file-of://a b").expect("found"), Some("/files/a b".into()));
    }
}
