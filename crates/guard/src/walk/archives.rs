//! Programs that pack files and unpack them: `tar`, `gzip`, `uudecode`; and `run-parts`, which runs what lies in a directory.
//!
//! An archive of files that the script has written is a text that names them, so that they come out again.

use crate::marks::without_marks;
use crate::rules;
use crate::walk::files::base_name;
use crate::walk::{ScriptWalk, packed};

/// The start of an archive, and the signs behind a name and behind a text.
const ARCHIVE: &str = "\u{1}archive\n";
const NAME_END: char = '\u{2}';
const TEXT_END: char = '\u{3}';

/// The most files of one archive.
const MOST_FILES: usize = 64;

/// The words of `tar`.
#[derive(Debug, Default)]
struct TarWords {
    action: Option<char>,
    file: Option<String>,
    to_output: bool,
    to_command: Option<String>,
    stripped: usize,
    unlinks: bool,
    /// Operands, each with the directory that holds at that point.
    operands: Vec<(Option<String>, String)>,
    directory: Option<String>,
}

impl TarWords {
    fn of(arguments: &[String]) -> Self {
        let mut tar = Self::default();
        let mut words = arguments.iter();
        let mut is_first = true;
        while let Some(word) = words.next() {
            let is_bundle = std::mem::take(&mut is_first) && !word.starts_with('-');
            match word.strip_prefix("--") {
                Some(long) => {
                    let (name, value) =
                        long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value.to_owned())));
                    let mut value = || value.clone().or_else(|| words.next().cloned());
                    match name {
                        "create" => tar.action = Some('c'),
                        "extract" | "get" => tar.action = Some('x'),
                        "file" => tar.file = value(),
                        "directory" => tar.directory = value(),
                        "to-command" => tar.to_command = value(),
                        "strip-components" => tar.stripped = value().and_then(|count| count.parse().ok()).unwrap_or(0),
                        "to-stdout" => tar.to_output = true,
                        "recursive-unlink" => tar.unlinks = true,
                        _ => {}
                    }
                }
                None if is_bundle || word.starts_with('-') && word.len() > 1 => {
                    let letters = word.trim_start_matches('-');
                    for (at, letter) in letters.char_indices() {
                        let attached = letters.get(at + letter.len_utf8()..).unwrap_or("");
                        let takes_rest = !is_bundle && !attached.is_empty();
                        let mut value = || if takes_rest { Some(attached.to_owned()) } else { words.next().cloned() };
                        match letter {
                            'c' | 'x' | 't' | 'r' | 'u' => tar.action = Some(letter),
                            'f' => tar.file = value(),
                            'C' => tar.directory = value(),
                            'I' | 'T' | 'X' | 'b' => drop(value()),
                            'O' => tar.to_output = true,
                            _ => continue,
                        }
                        if takes_rest && matches!(letter, 'f' | 'C' | 'I' | 'T' | 'X' | 'b') {
                            break;
                        }
                    }
                }
                None => tar.operands.push((tar.directory.clone(), word.clone())),
            }
        }
        tar
    }
}

impl ScriptWalk<'_> {
    /// Packs files that the script has written, or unpacks them again.
    pub(super) fn run_tar(&mut self, arguments: &[String]) {
        let tar = TarWords::of(arguments);
        match tar.action {
            Some('c' | 'r' | 'u') => self.pack(&tar),
            Some('x') => self.unpack(&tar),
            _ => {}
        }
    }

    fn pack(&mut self, tar: &TarWords) {
        let mut text = ARCHIVE.to_owned();
        let mut count = 0;
        for (directory, operand) in &tar.operands {
            let path = directory.as_ref().map_or_else(|| operand.clone(), |directory| format!("{directory}/{operand}"));
            let path = self.absolute(&path);
            let below = format!("{path}/");
            let mut found: Vec<(String, String)> = Vec::new();
            for (own, content) in &self.world.files.texts {
                if *own == path {
                    found.push((operand.clone(), content.clone()));
                } else if let Some(rest) = own.strip_prefix(&below) {
                    found.push((format!("{}/{rest}", operand.trim_end_matches('/')), content.clone()));
                }
            }
            found.sort();
            for (name, content) in found.into_iter().take(MOST_FILES - count.min(MOST_FILES)) {
                count += 1;
                text.push_str(&name);
                text.push(NAME_END);
                text.push_str(&content);
                text.push(TEXT_END);
            }
        }
        if count == 0 {
            return;
        }
        match tar.file.as_deref() {
            Some(file) if file != "-" => self.write_file(file, &text, false),
            _ => self.write(&text),
        }
    }

    fn unpack(&mut self, tar: &TarWords) {
        let text = match tar.file.as_deref() {
            Some(file) if file != "-" => self.known_file(file).map(|text| text.to_string()),
            _ => Some(self.world.shell.input.to_string()),
        };
        let Some(entries) = text.as_deref().and_then(|text| text.strip_prefix(ARCHIVE)) else { return };
        for entry in entries.split(TEXT_END).take(MOST_FILES) {
            let Some((name, content)) = entry.split_once(NAME_END) else { continue };
            let name = name.trim_start_matches("./");
            let is_wanted = |operand: &str| {
                let operand = operand.trim_start_matches("./").trim_end_matches('/');
                operand == name || name.strip_prefix(operand).is_some_and(|rest| rest.starts_with('/'))
            };
            if !tar.operands.is_empty() && !tar.operands.iter().any(|(_, operand)| is_wanted(operand)) {
                continue;
            }
            let name = name.split('/').skip(tar.stripped).collect::<Vec<_>>().join("/");
            if let Some(command) = &tar.to_command {
                self.script_in_code(command, Some(content.to_owned()));
            } else if tar.to_output {
                self.write(content);
            } else {
                let path =
                    tar.directory.as_ref().map_or_else(|| name.clone(), |directory| format!("{directory}/{name}"));
                if tar.unlinks {
                    rules::deleted(self, &path);
                }
                self.write_file(&path, content, false);
            }
        }
    }

    /// `gzip file`, `gunzip file.gz`: the file has another name afterwards. False if the text goes through standard output.
    pub(super) fn run_gzip(&mut self, name: &str, arguments: &[String]) -> bool {
        let has = |letter: char, long: &str| {
            arguments
                .iter()
                .any(|word| word == long || word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
        };
        let files: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
        if files.is_empty() || has('c', "--stdout") || name == "zcat" {
            return false;
        }
        let unpacks = name.starts_with("gun") || has('d', "--decompress");
        for file in files {
            let target = match file.strip_suffix(".gz").or_else(|| file.strip_suffix(".z")) {
                Some(plain) if unpacks => plain.to_owned(),
                _ if unpacks => continue,
                _ => format!("{file}.gz"),
            };
            if let Some(text) = self.known_file(file) {
                self.write_file(&target, &text, false);
            }
        }
        true
    }

    /// `uudecode`: writes the file that the text names.
    pub(super) fn run_uudecode(&mut self, arguments: &[String]) {
        let mut target = None;
        let mut files = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.strip_prefix("-o") {
                Some("") => target = words.next().cloned(),
                Some(attached) => target = Some(attached.to_owned()),
                None if word.starts_with('-') && word.len() > 1 => {}
                None => files.push(word.clone()),
            }
        }
        let text = self.input_of(files.iter());
        let begin = text.lines().find(|line| line.starts_with("begin"));
        let named = begin.and_then(|line| line.split_whitespace().nth(2)).map(str::to_owned);
        let plain = if begin.is_some_and(|line| line.starts_with("begin-base64")) {
            let body = text
                .lines()
                .skip_while(|line| !line.starts_with("begin"))
                .skip(1)
                .take_while(|line| !line.starts_with("===="));
            crate::walk::decode::base64(&body.collect::<Vec<_>>().join("\n"))
        } else {
            packed::uudecoded(&text).and_then(|bytes| {
                String::from_utf8(bytes).or_else(|error| packed::unpacked(error.as_bytes()).ok_or(error)).ok()
            })
        };
        let plain = plain.map_or_else(|| crate::marks::UNKNOWN.to_string(), |plain| without_marks(&plain).into_owned());
        match target.or(named) {
            Some(path) if path != "-" => self.write_file(&path, &plain, false),
            _ => self.write(&plain),
        }
    }

    /// `run-parts directory`: every file in it, by its name.
    pub(super) fn run_parts(&mut self, arguments: &[String]) {
        let mut given = Vec::new();
        let mut directory = None;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--test" | "--list" => return,
                "-a" | "--arg" => given.extend(words.next().cloned()),
                option if option.starts_with("--arg=") => {
                    given.extend(option.strip_prefix("--arg=").map(str::to_owned));
                }
                "-u" | "--umask" => drop(words.next()),
                option if option.starts_with('-') => {}
                operand => directory = Some(operand.to_owned()),
            }
        }
        let Some(directory) = directory else { return };
        let below = format!("{}/", self.absolute(&directory).trim_end_matches('/'));
        let is_name =
            |name: &str| name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'));
        let has_pattern = arguments.iter().any(|word| word.starts_with("--regex") || word == "--lsbsysinit");
        let files = self.world.files.texts.keys();
        let mut files: Vec<String> = files
            .filter(|path| {
                path.strip_prefix(&below).is_some_and(|name| !name.contains('/') && (has_pattern || is_name(name)))
            })
            .cloned()
            .collect();
        files.sort();
        for file in files.into_iter().take(MOST_FILES) {
            self.call(std::iter::once(file).chain(given.iter().cloned()).collect());
        }
    }

    /// `sort --compress-program=file`: a large sort runs it.
    pub(super) fn run_sort_helper(&mut self, arguments: &[String]) {
        let at = arguments.iter().position(|word| word.starts_with("--compress-prog"));
        let Some(at) = at else { return };
        let program = match arguments.get(at).and_then(|word| word.split_once('=')) {
            Some((_, program)) => Some(program.to_owned()),
            None => arguments.get(at + 1).cloned(),
        };
        if let Some(program) =
            program.filter(|program| !matches!(base_name(program), "gzip" | "xz" | "zstd" | "bzip2" | "lz4"))
        {
            self.subshell(|walk| walk.call(vec![program]));
        }
    }
}
