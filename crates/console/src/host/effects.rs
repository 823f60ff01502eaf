//! Carries out what the model wants.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bashful_engine::{Engine, JobInput, JobInputs, Keys, SessionName, Stop, error_chain, run_aside};
use bashful_sys::signal;

use super::pager::{self, Paged};
use super::watch::WatchRequest;
use super::{Message, OpenConsole, clipboard, paths, person_screen, watch};
use crate::model::{Effect, Event, QuestionId};

/// Longest time for a job to take a line.
const SENDING_PATIENCE: Duration = Duration::from_secs(5);

impl OpenConsole {
    /// Carries out one effect. False to leave.
    pub(super) fn carry_out(&mut self, effect: Effect, now: Instant) -> io::Result<bool> {
        match effect {
            Effect::Run { card, how, command, size } => self.commands.start(card, how, command, size),
            Effect::Cancel(card) => self.commands.cancel(card),
            Effect::StopWatched(key) => self.model.note = Some(watch::stop(self.console.registry.as_deref(), key)),
            Effect::StopJob(id) => self.with_jobs(move |inputs| async move {
                let stopped = inputs.store.stop(id, Stop::Ask).await;
                stopped.map_or_else(|error| error_chain(&error), |()| format!("stopping job {id}"))
            }),
            Effect::Send { job, text } => self.with_jobs(move |inputs| send(inputs, job, text)),
            Effect::Type(bytes) => self.terminal.iter().for_each(|terminal| terminal.type_bytes(bytes.clone())),
            Effect::Resize(size) => self.terminal.iter().for_each(|terminal| terminal.resize(size)),
            Effect::KillTerminal => self.terminal.iter().for_each(super::ShownTerminal::stop),
            Effect::Copy(text) => self.copy(&text)?,
            Effect::Page { text, artifact } => self.page(text, artifact.as_deref()),
            Effect::Complete { word, text } => {
                // Bang commands have a shell of their own, with its own directory.
                let is_bang = text.trim_start().starts_with('!');
                let shell = self.shell_directory.as_ref().filter(|_| is_bang);
                let here = shell.unwrap_or(&self.console.directory);
                let names = paths::names(&word, here, self.console.home.as_deref());
                return self.handle(Event::Names { word, text, names }, now);
            }
            Effect::Answer { question, yes } => self.answer(&question, yes),
            Effect::Remember(line) => {
                if let Some((file, Err(error))) = self.history.as_ref().map(|history| (&history.0, history.add(&line)))
                {
                    self.model.note = Some(format!("the history was not saved in {}: {error}", file.display()));
                    self.history = None;
                }
            }
            Effect::ListSessions => self.list_sessions(),
            Effect::EndSession(name) => self.end_session(name),
            Effect::LookAtJobs => drop(self.watcher.send(WatchRequest::Look)),
            Effect::Redraw => self.screen.fit()?,
            Effect::Suspend => {
                self.model.see_question(None);
                self.screen.give_back();
                signal::stop_group()?;
                self.screen.take_again()?;
                return self.resized(now);
            }
            Effect::Quit => return Ok(false),
        }
        Ok(true)
    }

    fn copy(&mut self, text: &str) -> io::Result<()> {
        let (sequence, copied) = clipboard::copy_sequence(text);
        person_screen::write(sequence.as_bytes())?;
        self.model.note = Some(if copied >= clipboard::MOST - 4 {
            format!("copied the last {copied} bytes; o opens all of it in the pager")
        } else {
            format!("copied {copied} bytes, if the terminal lets programs do that; o opens the pager")
        });
        Ok(())
    }

    fn page(&mut self, text: String, artifact: Option<&str>) {
        let engine = self.console.toolbox.engine();
        let artifact = artifact.map(|id| pager::open(engine.artifacts().map(Arc::as_ref), id)).transpose();
        let artifact = match artifact {
            Ok(artifact) => artifact,
            Err(problem) => {
                self.model.note = Some(problem);
                return;
            }
        };
        let paged = Paged { pager: self.console.pager.clone(), text, artifact, redactor: engine.output_redactor() };
        self.model.see_question(None);
        self.screen.lend();
        let process = self.pager.clone();
        self.paging =
            Some(tokio::spawn(async move { run_aside("bashful-pager", move || paged.show(&process)).await.flatten() }));
    }

    fn answer(&mut self, question: &QuestionId, yes: bool) {
        if let Some(answer) = self.answers.remove(question) {
            let _ = answer.send(yes);
        }
    }

    /// Does something with jobs on a task of its own, and tells what came of it.
    fn with_jobs<F: Future<Output = String> + Send + 'static>(&self, work: impl FnOnce(JobInputs) -> F) {
        let messages = self.messages.0.clone();
        let Some(inputs) = self.console.toolbox.job_inputs() else {
            let _ = messages.send(note("there are no jobs without a state directory".to_owned()));
            return;
        };
        let work = work(inputs);
        drop(tokio::spawn(async move {
            let _ = messages.send(note(work.await));
        }));
    }

    fn list_sessions(&self) {
        let (engine, messages) = (self.console.toolbox.engine().clone(), self.messages.0.clone());
        drop(tokio::spawn(async move {
            let _ = messages.send(sessions(&engine).await);
        }));
    }

    fn end_session(&self, name: String) {
        let (engine, messages) = (self.console.toolbox.engine().clone(), self.messages.0.clone());
        drop(tokio::spawn(async move {
            let Some(store) = engine.sessions() else { return };
            let told = match SessionName::new(name) {
                Ok(name) => store.end(&name).await.map(drop).map_err(|error| error_chain(&error)),
                Err(error) => Err(error.to_string()),
            };
            let _ = messages.send(sessions(&engine).await);
            if let Err(problem) = told {
                let _ = messages.send(note(problem));
            }
        }));
    }
}

fn note(text: String) -> Message {
    Message::Event(Event::Note(text))
}

async fn sessions(engine: &Engine) -> Message {
    let Some(store) = engine.sessions() else {
        return note("there are no sessions without a state directory".to_owned());
    };
    match store.list().await {
        Ok(entries) => Message::Event(Event::Sessions(entries.iter().map(watch::session_row).collect())),
        Err(error) => note(error_chain(&error)),
    }
}

/// Sends a line to a job. A person types it, so nobody judges it.
async fn send(inputs: JobInputs, id: u64, mut text: String) -> String {
    let keys = match inputs.store.get(id) {
        Ok(job) if job.has_terminal => Keys(vec!["Enter".parse().expect("Enter is a key")]),
        _ => {
            text.push('\n');
            Keys::default()
        }
    };
    let inputs = JobInputs { judge: None, ..inputs };
    match inputs.send(id, JobInput { text: text.into_bytes(), keys, end: false }, SENDING_PATIENCE).await {
        Ok(()) => format!("sent to job {id}"),
        Err(error) => error_chain(&error),
    }
}
