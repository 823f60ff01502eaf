//! Redirections: the files, descriptors and texts that commands read from and write to.

use std::rc::Rc;

use crate::marks::{SOME, UNKNOWN};
use crate::walk::state::ShellValue;
use crate::walk::{Flow, ScriptWalk};
use bashful_bash::ast::{List, Redirect, RedirectKind};

/// The input and the outputs of one command, after its redirections.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    pub(crate) input: Option<Rc<str>>,
    /// Files that get the output. True for those that the output is appended to.
    pub(crate) files: Vec<(String, bool)>,
    /// Other descriptors that can be read from.
    pub(crate) descriptors: Vec<(u32, Rc<str>)>,
    /// Other descriptors that can be written to, each with its file.
    pub(crate) writers: Vec<(u32, String)>,
    /// The output goes where nobody reads it.
    pub(crate) dropped: bool,
    /// There is a here-document or a here-string.
    pub(crate) here: bool,
}

impl ScriptWalk<'_> {
    /// Works out the redirections of a command.
    pub(crate) fn open_channels(&mut self, redirects: &[Redirect]) -> Channels {
        let mut channels = Channels::default();
        for redirect in redirects {
            let text: Rc<str> = match &redirect.kind {
                RedirectKind::HereDoc(body) => match body.get() {
                    Some(word) => self.expand_text(word).into(),
                    None => "".into(),
                },
                RedirectKind::HereString => format!("{}\n", self.expand_text(&redirect.target)).into(),
                _ => {
                    let target = self.redirect_target(redirect);
                    self.open(redirect, &target, &mut channels);
                    continue;
                }
            };
            channels.here = true;
            let number = self.numbered(redirect);
            give(&mut channels, number, text);
        }
        channels
    }

    /// The descriptor of a redirection. bash picks a free one for `{name}>file`, and puts its number into the variable.
    fn numbered(&mut self, redirect: &Redirect) -> Option<u32> {
        let Some(name) = &redirect.variable else { return redirect.descriptor };
        let shell = &self.world.shell;
        let is_free = |number: &u32| !shell.descriptors.contains_key(number) && !shell.writers.contains_key(number);
        let number = (10..1024).find(is_free)?;
        self.assign(name, ShellValue::Scalar(number.to_string()), None);
        Some(number)
    }

    fn redirect_target(&mut self, redirect: &Redirect) -> String {
        self.expand_fields(std::slice::from_ref(&redirect.target)).join(" ")
    }

    fn open(&mut self, redirect: &Redirect, target: &str, channels: &mut Channels) {
        match &redirect.kind {
            RedirectKind::In | RedirectKind::InOut => {
                let text = self.read_file(target);
                let number = self.numbered(redirect);
                give(channels, number, text);
            }
            RedirectKind::CopyIn => {
                let text = match target.parse::<u32>() {
                    Ok(0) => Rc::clone(&self.world.shell.input),
                    Ok(number) => self.descriptor(number, channels),
                    Err(_) if target == "-" => "".into(),
                    Err(_) => UNKNOWN.to_string().into(),
                };
                give(channels, redirect.descriptor, text);
            }
            RedirectKind::CopyOut if target.parse::<u32>().is_ok() || target == "-" => {
                // Standard error is not followed, and other descriptors only to their files.
                if matches!(redirect.descriptor, None | Some(1)) && target != "1" {
                    let number = target.parse().unwrap_or(0);
                    match self.writer(number, channels) {
                        Some(path) => channels.files.push((path, true)),
                        None => channels.dropped = true,
                    }
                }
            }
            RedirectKind::Out | RedirectKind::Append | RedirectKind::Both | RedirectKind::CopyOut => {
                let keeps = matches!(redirect.kind, RedirectKind::Append);
                match self.numbered(redirect) {
                    None | Some(1) => channels.files.push((target.to_owned(), keeps)),
                    Some(2) => {}
                    Some(number) => {
                        if !keeps {
                            self.write_file(target, "", false);
                        }
                        channels.writers.push((number, target.to_owned()));
                    }
                }
            }
            RedirectKind::HereString | RedirectKind::HereDoc(_) => {}
        }
    }

    fn descriptor(&self, number: u32, channels: &Channels) -> Rc<str> {
        let own = channels.descriptors.iter().rev().find(|(own, _)| *own == number).map(|(_, text)| text);
        own.or_else(|| self.world.shell.descriptors.get(&number)).cloned().unwrap_or_else(|| UNKNOWN.to_string().into())
    }

    fn writer(&self, number: u32, channels: &Channels) -> Option<String> {
        let own = channels.writers.iter().rev().find(|(own, _)| *own == number).map(|(_, path)| path);
        own.or_else(|| self.world.shell.writers.get(&number)).cloned()
    }

    /// `coproc`: the command runs beside the shell. Its input is the text that is written to the second descriptor of the array.
    pub(super) fn start_coprocess(&mut self, name: &str, body: &Rc<List>) {
        const READ_FROM: u32 = 63;
        const WRITTEN_TO: u32 = 60;
        let written = self.capturing(|walk| {
            walk.subshell(|walk| {
                walk.world.shell.input = "".into();
                walk.world.shell.reads_pipe = true;
                walk.run_list(body)
            });
        });
        let path = self.world.files.new_process_path();
        self.world.files.readers.insert(path.clone(), Rc::clone(body));
        self.world.files.answers.insert(path.clone(), READ_FROM);
        Rc::make_mut(&mut self.world.shell.descriptors).insert(READ_FROM, written.into());
        Rc::make_mut(&mut self.world.shell.writers).insert(WRITTEN_TO, path);
        self.assign(name, ShellValue::list(vec![READ_FROM.to_string(), WRITTEN_TO.to_string()]), None);
        self.assign(&format!("{name}_PID"), ShellValue::Scalar(SOME.to_string()), None);
    }

    /// Runs a command with redirections.
    pub(crate) fn run_redirected(&mut self, redirects: &[Redirect], inner: impl FnOnce(&mut Self) -> Flow) -> Flow {
        if redirects.is_empty() {
            return inner(self);
        }
        let channels = self.open_channels(redirects);
        let hides = redirects.iter().any(Redirect::hides_errors);
        self.world.hidden += usize::from(hides);
        let flow = self.run_with_channels(channels, inner);
        self.world.hidden -= usize::from(hides);
        flow
    }

    /// Runs a command with these channels.
    pub(crate) fn run_with_channels(&mut self, channels: Channels, inner: impl FnOnce(&mut Self) -> Flow) -> Flow {
        let input_before = Rc::clone(&self.world.shell.input);
        let descriptors_before = Rc::clone(&self.world.shell.descriptors);
        let read_pipe_before = self.world.shell.reads_pipe;
        let own_input_before = self.world.shell.has_own_input;
        let has_input = channels.input.is_some();
        if let Some(input) = channels.input {
            self.world.shell.input = input;
            self.world.shell.reads_pipe = false;
            self.world.shell.has_own_input = false;
        }
        if !channels.descriptors.is_empty() {
            Rc::make_mut(&mut self.world.shell.descriptors).extend(channels.descriptors);
        }
        let writers_before = Rc::clone(&self.world.shell.writers);
        if !channels.writers.is_empty() {
            Rc::make_mut(&mut self.world.shell.writers).extend(channels.writers);
        }
        let mut flow = Flow::Next;
        if channels.files.is_empty() && !channels.dropped {
            flow = inner(self);
        } else {
            let text = self.capturing(|walk| flow = inner(walk));
            for (path, keeps) in &channels.files {
                self.write_file(path, &text, *keeps);
            }
        }
        if has_input {
            self.world.shell.input = input_before;
            self.world.shell.reads_pipe = read_pipe_before;
            self.world.shell.has_own_input = own_input_before;
        }
        self.world.shell.descriptors = descriptors_before;
        self.world.shell.writers = writers_before;
        flow
    }
}

fn give(channels: &mut Channels, descriptor: Option<u32>, text: Rc<str>) {
    match descriptor {
        None | Some(0) => channels.input = Some(text),
        Some(number) => channels.descriptors.push((number, text)),
    }
}
