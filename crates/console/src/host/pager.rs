//! The person's pager, which has the terminal until it ends.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use bashful_engine::{Artifact, ArtifactStore, OutputRedactor, error_chain};

/// The text of a card, or the artifact with all of it.
pub(super) struct Paged {
    pub(super) pager: OsString,
    pub(super) text: String,
    pub(super) artifact: Option<Artifact>,
    pub(super) redactor: OutputRedactor,
}

impl Paged {
    /// Shows it, and waits until the pager has ended. Returns a problem to tell.
    pub(super) fn show(self) -> Option<String> {
        match self.run() {
            Ok(()) => None,
            Err(error) => Some(format!("cannot run the pager {}: {error}", self.pager.display())),
        }
    }

    fn run(&self) -> io::Result<()> {
        let mut command = Command::new("/bin/sh");
        // The shell takes the words of the variable apart, as every program does with PAGER.
        command.args(["-c", "eval \"$BASHFUL_PAGER\""]).env("BASHFUL_PAGER", &self.pager).stdin(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(input) = child.stdin.take() {
            // A pager that is left early reads no more.
            let _ = self.write(input);
        }
        child.wait().map(drop)
    }

    fn write(&self, mut input: impl Write) -> io::Result<()> {
        let Some(artifact) = &self.artifact else { return input.write_all(self.text.as_bytes()) };
        let mut redacted = self.redactor.writer(input, Vec::new());
        artifact.whole(&mut redacted).map_err(io::Error::other)?;
        redacted.finish(&[])
    }
}

/// The artifact of this id, or the reason why it cannot be read.
pub(super) fn open(store: Option<&ArtifactStore>, id: &str) -> Result<Artifact, String> {
    let store = store.ok_or("there are no artifacts")?;
    let id = bashful_engine::artifact_id(id).map_err(|error| error_chain(&error))?;
    let entry = store.get(id).map_err(|error| error_chain(&error))?;
    Artifact::open(&entry).map_err(|error| error_chain(&error))
}
