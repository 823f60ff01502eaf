//! Starts bash: with its script at once, or ahead of time to wait for a script.
//!
//! **Asked**: `bash -c SCRIPT`, nothing else. A script too long for an argument is in a file, which a first line reads
//! and evaluates.
//!
//! **Ahead**: the keeper starts `bash -c PLACEHOLDER` with `BASH_ENV` naming a pipe of its own. Bash reads that pipe to
//! its end after its start-up and before it runs its argument, so it waits there. To begin, the keeper writes the
//! script over the placeholder in bash's memory, sends a short prologue that restores what the waiting changed, and
//! closes the pipe. For bash, it was started as `bash -c SCRIPT` all along: messages, line numbers, `$0`, `$-`, the
//! `exec` of the last command and the command line in `ps` are the same.
//!
//! **With a file to source** (the setup may name one): `BASH_ENV` names a few lines of the keeper that source it. A
//! waiting shell waits after these lines.

use std::ffi::CString;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use bashful_sys::argv_patch::LastArgument;
use bashful_sys::pipe;
use bashful_sys::spawn::{Child, Session, Spawn, SpawnError, Step, Tether};

use crate::fence::{self, Inside, OpenForShell};
use crate::protocol::{FailedStep, Input, Script, Setup};

/// Length of the longest script that Linux accepts as one argument, in bytes.
pub const LONGEST_ARGUMENT: usize = 131_071;

/// Length of the longest script for a waiting shell, in bytes. Most scripts are far shorter, and a larger placeholder
/// would make every start slower.
pub const LONGEST_WAITING: usize = 8 * 1024 - 1;

/// Script of a waiting shell. It does no harm if the shell ever stops waiting by itself. `ps` shows it.
const PLACEHOLDER: &str = "exit 125 # bashful: waiting for a command";

/// Value of `$0`, and the prefix of bash's own messages.
const BASH: &str = "bash";

/// The failed step and error number of a shell that could not be started.
pub(crate) struct NotStarted {
    pub(crate) step: FailedStep,
    pub(crate) errno: i32,
}

impl From<SpawnError> for NotStarted {
    fn from(error: SpawnError) -> Self {
        Self { step: FailedStep::Spawn(error.step), errno: error.source.raw_os_error().unwrap_or(0) }
    }
}

pub(crate) fn not_prepared(error: &io::Error) -> NotStarted {
    NotStarted { step: FailedStep::Spawn(Step::Prepare), errno: error.raw_os_error().unwrap_or(0) }
}

/// Starts a shell that runs the script at once.
///
/// The returned descriptors must stay open until the shell has read from them.
pub(crate) fn start(setup: &Setup, script: Script, session: Session) -> Result<(Child, OpenForShell), NotStarted> {
    let source_file = source_lines(setup, None)?;
    let (text, file) = match script {
        Script::Text(text) => (text, None),
        Script::File(None) => return Err(not_prepared(&io::ErrorKind::NotFound.into())),
        Script::File(Some(file)) => (file_script(&file, underscore(setup)), Some(file)),
    };
    let child = spawn(setup, text, source_file.as_ref().map(bash_env), session)?;
    Ok((child, OpenForShell(source_file.into_iter().chain(file).collect())))
}

/// A shell that waits for its script.
pub(crate) struct WaitingShell {
    pub(crate) child: Child,
    /// Reading end of the pipe. Bash opens it through `/proc`, so it has to stay open here.
    gate: OwnedFd,
    /// Lines that the shell reads before the pipe; none if there is no file to source.
    source_file: Option<OwnedFd>,
    /// Writing end of the pipe. Closing it lets bash continue.
    latch: OwnedFd,
    /// Place of the script in the shell's memory. Found at the start, when there is no hurry.
    argument: LastArgument,
    /// Value of `$_` at the beginning of the script.
    underscore: Vec<u8>,
}

impl WaitingShell {
    pub(crate) fn start(setup: &Setup) -> Result<Self, NotStarted> {
        let (gate, latch) = pipe::plain().map_err(|error| not_prepared(&error))?;
        let source_file = source_lines(setup, Some(&gate))?;
        let bash_env = bash_env(source_file.as_ref().unwrap_or(&gate));
        let child = spawn(setup, placeholder(), Some(bash_env), Session::Own)?;
        let argv: [&[u8]; 3] = [BASH.as_bytes(), b"-c", &placeholder()];
        // On an error the caller drops the child, which is tied to the keeper and ends with it. The padding is removed
        // at once, because `ps` would show all of it; the system has made room for it by then.
        let argument = LastArgument::find(child.pid, &argv)
            .and_then(|argument| argument.replace(PLACEHOLDER.as_bytes()).map(|()| argument))
            .map_err(|error| NotStarted { step: FailedStep::Handover, errno: error.raw_os_error().unwrap_or(0) })?;
        Ok(Self { child, gate, source_file, latch, argument, underscore: underscore(setup).to_vec() })
    }

    /// Hands the script to the shell and lets it continue. The returned descriptors must stay open until the shell has
    /// read them.
    pub(crate) fn begin(self, script: &[u8]) -> Result<(Child, OpenForShell), (Child, NotStarted)> {
        // Somebody may have stopped the shell while it waited.
        self.child.continue_if_stopped();
        let handed = self.argument.replace(script).and_then(|()| {
            let mut latch = std::fs::File::from(self.latch);
            latch.write_all(&prologue(script, &self.underscore))
        });
        match handed {
            Ok(()) => Ok((self.child, OpenForShell(self.source_file.into_iter().chain([self.gate]).collect()))),
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(0);
                Err((self.child, NotStarted { step: FailedStep::Handover, errno }))
            }
        }
    }
}

/// Returns a line that reads a script from a file and evaluates it.
///
/// `IFS=` keeps white space at both ends, and `-r` keeps backslashes. `read` always fails, because it reads up to a NUL
/// that is not there; the `:` restores `$?` and `$_`. `builtin` is needed because the environment may hold functions of
/// any name.
fn file_script(file: &OwnedFd, underscore: &[u8]) -> Vec<u8> {
    let mut line =
        format!("IFS= builtin read -rd '' BASH_EXECUTION_STRING <{} || builtin : ", fd_path(file)).into_bytes();
    quote(&mut line, underscore);
    line.extend(br#"; builtin eval "$BASH_EXECUTION_STRING""#);
    line
}

/// Value of `$_` at the beginning of a script.
fn underscore(setup: &Setup) -> &[u8] {
    setup.env.iter().find_map(|entry| entry.strip_prefix(b"_=")).unwrap_or(BASH.as_bytes())
}

/// Makes an anonymous file with the lines that source the setup's file, and then `gate`; none if the setup names no
/// file.
///
/// `BASH_ENV` is unset first, because the sourced file may bring functions. Its errors do not go to the command's
/// output. The backslashes skip aliases that it may bring; it must not bring functions called `.` and `:`.
fn source_lines(setup: &Setup, gate: Option<&OwnedFd>) -> Result<Option<OwnedFd>, NotStarted> {
    if setup.source.is_empty() {
        return Ok(None);
    }
    let mut lines = b"\\unset BASH_ENV\n\\. ".to_vec();
    quote(&mut lines, &setup.source);
    lines.extend(format!(" 2>{}\n", null_path()).as_bytes());
    if let Some(gate) = gate {
        lines.extend(format!("\\. {}\n", fd_path(gate)).as_bytes());
    }
    // Sourcing has changed `$_`.
    lines.extend(b"\\: ");
    quote(&mut lines, underscore(setup));
    lines.push(b'\n');
    let made = bashful_sys::anonymous_file("bashful-start").and_then(|mut file| {
        file.write_all(&lines)?;
        Ok(file)
    });
    made.map(|file| Some(file.into())).map_err(|error| not_prepared(&error))
}

/// Lines that restore what waiting has changed: `BASH_ENV`, `SECONDS`, `BASH_EXECUTION_STRING` and `$_`.
fn prologue(script: &[u8], underscore: &[u8]) -> Vec<u8> {
    let mut lines = b"\\unset BASH_ENV\nSECONDS=0 BASH_EXECUTION_STRING=".to_vec();
    quote(&mut lines, script);
    lines.extend(b"\n\\: ");
    quote(&mut lines, underscore);
    lines.push(b'\n');
    lines
}

/// Appends `text` as one quoted shell word, whatever bytes it holds.
pub fn quote(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'\'');
    for byte in text {
        match byte {
            b'\'' => out.extend(br"'\''"),
            byte => out.push(*byte),
        }
    }
    out.push(b'\'');
}

fn placeholder() -> Vec<u8> {
    let mut text = PLACEHOLDER.as_bytes().to_vec();
    text.resize(LONGEST_WAITING, b'.');
    text
}

/// Path by which a child can open a descriptor of this process. Inside of a fence, that is a copy: `/proc` does not show this
/// process there.
pub(crate) fn fd_path(fd: &impl AsFd) -> String {
    let fd = fd.as_fd();
    match fence::inside() {
        None => format!("{}{}", fd_directory(), fd.as_raw_fd()),
        // The shell then finds nothing, and says so.
        Some(inside) => inside.init.show(fd).unwrap_or_else(|_| fd_directory()),
    }
}

/// The beginning of the paths by which a child opens descriptors.
pub(crate) fn fd_directory() -> String {
    match fence::inside() {
        None => format!("/proc/{}/fd/", std::process::id()),
        Some(_) => "/proc/1/fd/".to_owned(),
    }
}

/// Path that a child can read (empty) and write: `/dev/null`, or a file of this process where `/dev/null` is missing.
pub(crate) fn null_path() -> &'static str {
    // The file stays open for as long as this process lives.
    static PLACE: OnceLock<(String, Option<std::fs::File>)> = OnceLock::new();
    let (path, _) = PLACE.get_or_init(|| match bashful_sys::null_file() {
        Ok(file) if std::fs::metadata("/dev/null").is_err() => (fd_path(&file), Some(file)),
        Ok(_) | Err(_) => ("/dev/null".to_owned(), None),
    });
    path
}

/// The `BASH_ENV` entry that makes bash read this descriptor before the script.
fn bash_env(fd: &OwnedFd) -> Vec<u8> {
    format!("BASH_ENV={}", fd_path(fd)).into_bytes()
}

fn spawn(setup: &Setup, script: Vec<u8>, bash_env: Option<Vec<u8>>, session: Session) -> Result<Child, NotStarted> {
    let mut arguments = vec![b"-c".to_vec()];
    if script.starts_with(b"-") || script.starts_with(b"+") {
        // Bash would parse it as options.
        arguments.push(b"--".to_vec());
    }
    arguments.push(script);
    spawn_with(setup, arguments, bash_env, session)
}

/// Starts bash with these arguments in the setup's directory, environment and limits.
pub(crate) fn spawn_with(
    setup: &Setup,
    arguments: Vec<Vec<u8>>,
    bash_env: Option<Vec<u8>>,
    session: Session,
) -> Result<Child, NotStarted> {
    let text = |bytes: Vec<u8>| CString::new(bytes).map_err(|_| not_prepared(&io::ErrorKind::InvalidInput.into()));
    let argv: Vec<CString> =
        std::iter::once(BASH.as_bytes().to_vec()).chain(arguments).map(text).collect::<Result<_, _>>()?;
    let env: Vec<CString> = setup.env.iter().cloned().chain(bash_env).map(text).collect::<Result<_, _>>()?;
    let directory = text(setup.directory.clone())?;
    let nothing = std::fs::File::open("/dev/null").or_else(|_| bashful_sys::null_file());
    let nothing = nothing.map_err(|error| not_prepared(&error))?;
    let output = setup.output.as_ref().ok_or_else(|| not_prepared(&io::ErrorKind::NotFound.into()))?;
    let input = match &setup.input {
        Input::From(Some(input)) => input.as_fd(),
        Input::Nothing | Input::From(None) => nothing.as_fd(),
    };
    let stdio: [BorrowedFd<'_>; 3] = [input, output[0].as_fd(), output[1].as_fd()];
    Ok(Spawn {
        program: &text(setup.shell.clone())?,
        argv: &argv,
        env: &env,
        directory: Some(&directory),
        stdio,
        limits: &setup.limits,
        umask: setup.umask,
        tether: Tether::DiesWithParent,
        session,
        fence: fence::inside().map(Inside::around),
    }
    .start()?)
}
