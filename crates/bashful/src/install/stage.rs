//! Applies changes to files: in memory first, then shown, confirmed and written.

use std::cmp::Reverse;
use std::error::Error;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::change::{AppliedChange, Change, Edit, Undone, is_empty};
use super::edit::EditError;
use super::file::Settings;
use super::record::{Installation, Record};
use super::show::difference;
use crate::guard::{NoPerson, asks, find_no_keeper, find_person};
use crate::print;

/// An error before anything is written.
#[derive(Debug, Error)]
pub(crate) enum StageError {
    #[error("{} is left as it is, because {why}\nwhat belongs into it:\n{paste}", path.display())]
    Unusable { path: PathBuf, why: EditError, paste: String },
    #[error("{} is left as it is, because {why}", path.display())]
    Unremovable { path: PathBuf, why: EditError },
    #[error("{} cannot be used, because {why}", path.display())]
    Unreadable { path: PathBuf, why: EditError },
    #[error("nothing is written without a yes, and nobody can be asked; add --yes, or --dry-run to see it first")]
    NobodyToAsk(#[source] NoPerson),
    #[error("only a person can change what a client may run without asking")]
    OnlyPerson(#[source] NoPerson),
}

/// One file with all of its changes made, not yet written.
#[derive(Debug)]
pub(crate) struct Staged {
    settings: Settings,
    /// None removes the file.
    text: Option<String>,
    /// The topmost directory to remove with the file, if it is empty then.
    made_directory: Option<PathBuf>,
    done: Vec<AppliedChange>,
}

/// The answer of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StageOutcome {
    Written,
    OnlyShown,
    Declined,
}

/// The parts of the question to the user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) yes: bool,
    pub(crate) dry_run: bool,
    /// The changes let more commands run. No command may confirm that, not even with `--yes`.
    pub(crate) loosens: bool,
    /// Shown between the changes and the question.
    pub(crate) warning: &'a str,
    /// The client's name, if a missing directory suggests that the client is not installed.
    pub(crate) expects: Option<&'a str>,
}

/// The place of the record: its directory, the client's file in it, and the installation.
#[derive(Debug)]
pub(crate) struct Noted<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) client: &'a str,
    pub(crate) of: Installation,
}

/// Applies changes in memory. Files that have all changes already are omitted.
pub(crate) fn stage(changes: &[Change]) -> Result<Vec<Staged>, Box<dyn Error>> {
    let mut staged = Vec::new();
    for file in files(changes.iter().map(|change| &change.file)) {
        let settings = Settings::read(file)?;
        let (mut text, mut done) = (settings.text.clone(), Vec::new());
        let made_directory = settings.missing_directories().last().map(Path::to_path_buf);
        let of_file = || changes.iter().filter(|change| change.file == *file);
        for change in of_file() {
            let applied = change.apply(&text, settings.is_new());
            let applied =
                applied.map_err(|why| StageError::Unusable { path: file.clone(), why, paste: alone(of_file()) })?;
            if let Some((next, mut made)) = applied {
                text = next;
                made.made_directory.clone_from(&made_directory);
                done.push(made);
            }
        }
        if !done.is_empty() {
            staged.push(Staged { settings, text: Some(text), made_directory: None, done });
        }
    }
    Ok(staged)
}

/// Reverts changes in memory, the last one first. The texts name those that were left because they have changed
/// since.
pub(crate) fn unstage(done: &[AppliedChange]) -> Result<(Vec<Staged>, Vec<String>), Box<dyn Error>> {
    let (mut staged, mut left) = (Vec::new(), Vec::new());
    for file in files(done.iter().rev().map(|done| &done.change.file)) {
        let settings = Settings::read(file)?;
        let (mut text, mut undone) = (settings.text.clone(), Vec::new());
        let (mut made_file, mut made_directory) = (false, None);
        for done in done.iter().rev().filter(|done| done.change.file == *file) {
            match done.undo(&text).map_err(|why| StageError::Unremovable { path: file.clone(), why })? {
                Undone::Text(next) => text = next,
                Undone::Gone => {}
                Undone::Changed => left.push(format!("{} was changed since, and is left as it is", file.display())),
            }
            made_file |= done.made_file;
            made_directory = done.made_directory.clone().or(made_directory);
            undone.push(done.clone());
        }
        let text = Some(text).filter(|text| !(made_file && is_empty(text)));
        staged.push(Staged { settings, text, made_directory, done: undone });
    }
    Ok((staged, left))
}

/// The files of the changes, without duplicates.
fn files<'a>(all: impl Iterator<Item = &'a PathBuf>) -> Vec<&'a PathBuf> {
    let mut files: Vec<&PathBuf> = Vec::new();
    for file in all {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

/// The changes as a file of their own.
fn alone<'a>(changes: impl Iterator<Item = &'a Change>) -> String {
    changes.fold(String::new(), |text, change| match change.apply(&text, true) {
        Ok(Some((text, _))) => text,
        _ => text,
    })
}

impl Staged {
    pub(crate) fn is_changed(&self) -> bool {
        self.text.as_ref() != Some(&self.settings.text) && !(self.text.is_none() && self.settings.is_new())
    }

    /// The file's name, and its removed and added lines.
    fn shown(&self, expects: Option<&str>) -> String {
        let path = self.settings.path().display();
        let expects = expects.filter(|_| self.done.iter().any(|done| matches!(done.change.edit, Edit::Server { .. })));
        let missing =
            self.settings.missing_directories().next().zip(expects).map_or_else(String::new, |(directory, client)| {
                format!("[{} is not there yet; has {client} been installed?]\n", directory.display())
            });
        let gone = if self.text.is_none() { " is removed" } else { "" };
        let lines = difference(&self.settings.text, self.text.as_deref().unwrap_or_default());
        format!("{path}{gone}:\n{lines}{missing}")
    }

    fn write(&self) -> Result<(), Box<dyn Error>> {
        match &self.text {
            _ if !self.is_changed() => {}
            Some(text) => self.settings.write(text)?,
            None => self.settings.delete()?,
        }
        Ok(())
    }
}

/// Shows all changes, asks once, and writes them, each file atomically.
pub(crate) fn carry_out(
    staged: &[Staged],
    asking: Asking<'_>,
    noted: Option<&Noted<'_>>,
    removes: bool,
) -> Result<StageOutcome, Box<dyn Error>> {
    let changed: Vec<&Staged> = staged.iter().filter(|staged| staged.is_changed()).collect();
    let about: String = changed.iter().map(|staged| staged.shown(asking.expects)).collect();
    let about = format!("{about}{}", asking.warning);
    for staged in &changed {
        staged.settings.check_writable()?;
    }
    if asking.loosens && !asking.dry_run {
        find_no_keeper().map_err(StageError::OnlyPerson)?;
    }
    if asking.dry_run || asking.yes {
        print::text(&about)?;
    } else {
        find_person().map_err(StageError::NobodyToAsk)?;
        if !asks(&about, "write it?") {
            print::talk("[nothing was written]");
            return Ok(StageOutcome::Declined);
        }
    }
    if asking.dry_run {
        return Ok(StageOutcome::OnlyShown);
    }
    let mut record = noted.map(|noted| Record::open(noted.directory, noted.client)).transpose()?;
    for staged in staged {
        write_noted(staged, record.as_mut().zip(noted), removes)?;
    }
    // The deepest first: one directory may hold another.
    let mut gone: Vec<&Staged> = staged.iter().filter(|staged| staged.text.is_none()).collect();
    gone.sort_by_key(|staged| Reverse(staged.settings.path().parent()));
    for staged in gone {
        staged.made_directory.iter().try_for_each(|topmost| staged.settings.remove_directories(topmost))?;
    }
    Ok(StageOutcome::Written)
}

/// Writes one file. Additions are recorded before, removals after.
fn write_noted(
    staged: &Staged,
    record: Option<(&mut Record, &Noted<'_>)>,
    removes: bool,
) -> Result<(), Box<dyn Error>> {
    let Some((record, noted)) = record else { return staged.write() };
    if removes {
        staged.write()?;
        return Ok(staged.done.iter().try_for_each(|done| record.forget(&noted.of, done))?);
    }
    let before = record.entries();
    let written = staged.done.iter().try_for_each(|done| record.push(&noted.of, done)).map_err(Into::into);
    let written = written.and_then(|()| staged.write());
    if written.is_err() {
        record.restore(before)?;
    }
    written
}
