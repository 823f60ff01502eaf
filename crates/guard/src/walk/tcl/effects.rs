//! Commands of Tcl with effects: programs, files, channels.

use crate::marks::{HOME, STAR, START, UNKNOWN, alive, has_mark};
use crate::rules;
use crate::walk::files::{FRESH_DIRECTORY, base_name};
use crate::walk::state::ShellValue;
use crate::walk::tcl::lists::{elements, list};
use crate::walk::tcl::{Channel, Outcome, Tcl};

impl Tcl<'_, '_> {
    /// Commands with effects. None if this is another one.
    pub(super) fn effect(&mut self, name: &str, words: &[String]) -> Outcome<Option<String>> {
        Ok(Some(match (name, words) {
            ("exec" | "spawn", words) => {
                self.step(4)?;
                self.exec(words)
            }
            ("system", words) => {
                self.walk.script_in_code(&words.join(" "), None);
                String::new()
            }
            ("send" | "exp_send", [.., keys]) => {
                self.walk.script_in_code(&keys.replace('\r', "\n"), None);
                String::new()
            }
            ("expect" | "expect_user" | "interact", words) => {
                // Whatever comes, one of the answers follows.
                let arms = if let [only] = words { elements(only) } else { words.to_vec() };
                for body in arms.iter().filter(|word| word.contains(' ')) {
                    self.script(body)?;
                }
                String::new()
            }
            ("open", [path, rest @ ..]) => self.open(path, rest.first().map_or("r", String::as_str)),
            ("close", [channel, ..]) => {
                self.close(channel);
                String::new()
            }
            ("puts", words) => {
                self.puts(words);
                String::new()
            }
            ("read", [option, channel]) if option == "-nonewline" => return Ok(Some(self.read(name, channel, &[]))),
            ("gets" | "read", [channel, rest @ ..]) => return Ok(Some(self.read(name, channel, rest))),
            ("eof", [channel]) => self
                .channels
                .get(channel)
                .map_or_else(|| UNKNOWN.to_string(), |channel| u8::from(channel.text.is_empty()).to_string()),
            ("file", words) => self.file(words),
            ("cd", rest) => {
                let path = rest.first().map_or_else(|| HOME.to_string(), |path| with_home(path));
                let path = self.walk.absolute(&path);
                self.walk.world.shell.set_directory(path);
                String::new()
            }
            ("pwd", _) => self.walk.directory(),
            ("glob", words) => glob(words),
            ("source", [.., file]) => match self.walk.code_in_file(file) {
                Some(code) => return self.script(&code).map(Some),
                None => UNKNOWN.to_string(),
            },
            (
                "pid" | "clock" | "fconfigure" | "chan" | "package" | "flush" | "seek" | "fcopy" | "wait" | "log_user"
                | "match_max" | "exp_internal" | "vwait" | "update" | "trace",
                _,
            ) => UNKNOWN.to_string(),
            _ => return Ok(None),
        }))
    }

    /// `exec`: a pipeline of programs, each as its words.
    fn exec(&mut self, words: &[String]) -> String {
        let mut input: Option<String> = None;
        let mut output: Option<(String, bool)> = None;
        let mut stages: Vec<Vec<String>> = vec![Vec::new()];
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match word.as_str() {
                "|" | "|&" => stages.push(Vec::new()),
                "<<" => input = rest.next().cloned(),
                "<" => input = rest.next().map(|file| self.walk.read_file(file).to_string()),
                ">" | ">>" | ">&" => output = rest.next().map(|file| (file.clone(), word == ">>")),
                "2>" | ">@" | "2>@" | "<@" | ">&@" | "2>>" => drop(rest.next()),
                "&" => {}
                "-ignorestderr" | "-keepnewline" | "-noecho" | "--" if stages.iter().all(Vec::is_empty) => {}
                text if text.starts_with("<<") => input = text.get(2..).map(str::to_owned),
                file if file.starts_with('<') && file.len() > 1 && !file.starts_with("<@") => {
                    input = file.get(1..).map(|file| self.walk.read_file(file).to_string());
                }
                file if file.starts_with('>') && !file.starts_with(">@") && !file.starts_with(">&@") => {
                    output = Some((file.trim_start_matches(['>', '&']).to_owned(), file.starts_with(">>")));
                }
                redirect
                    if redirect.starts_with("2>")
                        || redirect.starts_with(">@")
                        || redirect.starts_with("<@")
                        || redirect.starts_with(">&@") => {}
                _ => stages.last_mut().into_iter().for_each(|stage| stage.push(word.clone())),
            }
        }
        let written = self.pipeline(stages, input);
        match output {
            Some((path, keeps)) => {
                self.walk.write_file(&path, &written, keeps);
                String::new()
            }
            None => written.trim_end_matches('\n').to_owned(),
        }
    }

    fn pipeline(&mut self, stages: Vec<Vec<String>>, input: Option<String>) -> String {
        let mut input = input;
        let environment = self.environment.clone();
        self.walk.world.nested += 1;
        for stage in stages {
            let before = input.take();
            let environment = environment.clone();
            let written = self.walk.capturing(|walk| {
                walk.subshell(|walk| {
                    for (name, value) in environment {
                        match value {
                            Some(value) => {
                                walk.assign(&name, ShellValue::Scalar(value), None);
                                walk.world.shell.variable_mut(&name).exported = true;
                            }
                            None => walk.world.shell.restore(&name, None),
                        }
                    }
                    if let Some(text) = before {
                        walk.world.shell.input = text.into();
                    }
                    walk.call(stage)
                });
            });
            input = Some(written);
        }
        self.walk.world.nested -= 1;
        input.unwrap_or_default()
    }

    /// `open path`, `open "|command"`
    fn open(&mut self, path: &str, mode: &str) -> String {
        let name = format!("file{}", self.channels.len() + 3);
        let channel = match path.strip_prefix('|') {
            Some(command) if mode.starts_with('w') || mode.contains('+') => {
                Channel { command: Some(elements(command)), ..Channel::default() }
            }
            Some(command) => Channel { text: format!("{}\n", self.exec(&elements(command))), ..Channel::default() },
            None if mode.starts_with('r') => {
                Channel { text: self.walk.read_file(path).to_string(), ..Channel::default() }
            }
            None => {
                if mode.starts_with('w') {
                    self.walk.write_file(path, "", false);
                }
                Channel { path: Some(path.to_owned()), ..Channel::default() }
            }
        };
        self.channels.insert(name.clone(), channel);
        name
    }

    /// Ends a channel: a command that reads what was written runs now.
    pub(super) fn close(&mut self, name: &str) {
        let Some(channel) = self.channels.remove(name) else { return };
        if let Some(words) = channel.command {
            let words: Vec<String> = words.into_iter().chain(["<<".to_owned(), channel.written]).collect();
            self.exec(&words);
        }
    }

    fn puts(&mut self, words: &[String]) {
        let (end, words) = match words.split_first() {
            Some((option, rest)) if option == "-nonewline" => ("", rest),
            _ => ("\n", words),
        };
        let (channel, text) = match words {
            [text] => ("stdout", text),
            [channel, text] => (channel.as_str(), text),
            _ => return,
        };
        let text = format!("{text}{end}");
        match self.channels.get_mut(channel) {
            Some(open) if open.written.len() + text.len() < super::LONGEST => match open.path.clone() {
                Some(path) => self.walk.write_file(&path, &text, true),
                None => open.written.push_str(&text),
            },
            None if channel == "stdout" => self.walk.write(&text),
            _ => {}
        }
    }

    fn read(&mut self, name: &str, channel: &str, rest: &[String]) -> String {
        let input = self.walk.world.shell.input.to_string();
        let text = match self.channels.get_mut(channel) {
            Some(open) => &mut open.text,
            None if channel == "stdin" && !input.is_empty() => {
                let text = Channel { text: input, ..Channel::default() };
                &mut self.channels.entry("stdin".to_owned()).or_insert(text).text
            }
            None => return UNKNOWN.to_string(),
        };
        if name == "read" {
            return std::mem::take(text);
        }
        let is_end = text.is_empty();
        let (line, after) = text
            .split_once('\n')
            .map_or((text.clone(), String::new()), |(line, after)| (line.to_owned(), after.to_owned()));
        *text = after;
        match rest.first() {
            Some(variable) => {
                let length = if is_end { "-1".to_owned() } else { line.chars().count().to_string() };
                self.set(variable, line);
                length
            }
            None => line,
        }
    }

    /// `file`: paths, and `file delete`.
    fn file(&mut self, words: &[String]) -> String {
        let Some((action, rest)) = words.split_first() else { return String::new() };
        let first = rest.first().map(|path| with_home(path)).unwrap_or_default();
        match action.as_str() {
            action if action.len() > 2 && "delete".starts_with(action) => {
                let forces = rest.iter().any(|word| word == "-force");
                for path in rest.iter().filter(|word| !matches!(word.as_str(), "-force" | "--")) {
                    let path = with_home(path);
                    if forces {
                        rules::deleted(self.walk, &path);
                    } else {
                        self.walk.delete_listed(&path);
                    }
                }
                String::new()
            }
            "join" => rest.iter().fold(String::new(), |path, part| {
                let part = with_home(part);
                let is_whole = path.is_empty() || part.starts_with(['/', HOME, START]);
                if is_whole { part } else { format!("{}/{part}", path.trim_end_matches('/')) }
            }),
            "normalize" => self.walk.absolute(&first),
            "dirname" => {
                let path = self.walk.world.concrete(&first);
                match path.trim_end_matches('/').rsplit_once('/') {
                    Some(("", _)) => "/".to_owned(),
                    Some((directory, _)) => self.walk.world.symbolic(directory),
                    None if has_mark(&path) => UNKNOWN.to_string(),
                    None => ".".to_owned(),
                }
            }
            "tail" => {
                let path = self.walk.world.concrete(&first);
                base_name(&path).to_owned()
            }
            "rootname" => first
                .rsplit_once('.')
                .filter(|(_, end)| !end.contains('/'))
                .map_or(first.clone(), |(start, _)| start.to_owned()),
            "extension" if has_mark(&first) => UNKNOWN.to_string(),
            "extension" => base_name(&first).rsplit_once('.').map_or_else(String::new, |(_, end)| format!(".{end}")),
            "split" => {
                let path = self.walk.world.concrete(&first);
                let mut parts: Vec<String> =
                    path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
                if path.starts_with('/') {
                    parts.insert(0, "/".to_owned());
                }
                list(&parts)
            }
            "nativename" | "readlink" => first,
            "mkdir" => {
                for path in rest {
                    let path = self.walk.absolute(path);
                    self.walk.world.files.note_made(path);
                }
                String::new()
            }
            "tempdir" | "tempfile" => FRESH_DIRECTORY.to_owned(),
            "rename" | "copy" => {
                let paths: Vec<&String> =
                    rest.iter().filter(|word| !matches!(word.as_str(), "-force" | "--")).collect();
                if let [from, to] = paths.as_slice() {
                    if action == "rename" {
                        self.walk.move_file(from, to);
                    }
                    self.walk.copy_file(from, to);
                }
                String::new()
            }
            "link" => {
                if let [link, target] = rest.iter().filter(|word| !word.starts_with('-')).collect::<Vec<_>>().as_slice()
                {
                    self.walk.link_file(target, link);
                }
                String::new()
            }
            _ => UNKNOWN.to_string(),
        }
    }
}

/// `glob`: the patterns, below their directory.
fn glob(words: &[String]) -> String {
    let mut directory = None;
    let mut patterns = Vec::new();
    let mut rest = words.iter();
    let mut has_options = true;
    let mut only_tails = false;
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--" => has_options = false,
            "-directory" | "-dir" | "-path" if has_options => directory = rest.next().cloned(),
            "-types" | "-type" if has_options => drop(rest.next()),
            "-tails" if has_options => only_tails = true,
            option if has_options && option.starts_with('-') => {}
            pattern => patterns.push(alive(&with_home(pattern))),
        }
    }
    if patterns.is_empty() {
        patterns.push(STAR.to_string());
    }
    // Two levels below a directory show everything that deeper ones do.
    let levels = directory.as_deref().unwrap_or("").split('/').filter(|part| part.contains(STAR)).count();
    if levels > 1 {
        return String::new();
    }
    let below = |pattern: String| match &directory {
        Some(directory) if !only_tails => format!("{}/{pattern}", directory.trim_end_matches('/')),
        _ => pattern,
    };
    list(&patterns.into_iter().map(below).collect::<Vec<_>>())
}

fn with_home(path: &str) -> String {
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{HOME}{rest}"),
        _ => path.to_owned(),
    }
}
