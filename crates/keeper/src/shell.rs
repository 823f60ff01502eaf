//! Starts bash: at once, or ahead of time, to be told later what to do.
//!
//! **Asked**: `bash -c SCRIPT`, nothing else. A script too long for an argument is read from a file by a first line and
//! then evaluated.
//!
//! **Ahead**: bash is started as `bash -c PLACEHOLDER` with `BASH_ENV` naming a pipe of ours. Bash reads that pipe to its
//! end when all of its start-up is done and before it looks at what to run, so it waits there. To begin, the script
//! is written over the placeholder in bash's memory, a short prologue puts back what the waiting changed, and the pipe is
//! closed. From bash's point of view it was started as `bash -c SCRIPT` all along: messages, line numbers, `$0`, `$-`,
//! the replacement of the shell by its last command, and the command line in `ps` are the same.
//!
//! **With a file to source** (the setup may name one): `BASH_ENV` names a few lines of ours that source it. A shell that
//! waits does so behind them.

use std::ffi::CString;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use bashful_sys::argv_patch::LastArgument;
use bashful_sys::pipe;
use bashful_sys::spawn::{Child, Session, Spawn, SpawnError, Step, Tether};

use crate::protocol::{FailedStep, Input, Script, Setup};

/// The longest script that Linux takes as one argument.
pub const LONGEST_ARGUMENT: usize = 131_071;

/// The longest script that a waiting shell can be given. Most are far shorter; a larger placeholder would make every
/// start slower.
pub const LONGEST_WAITING: usize = 8 * 1024 - 1;

/// The script of a waiting shell, which does no harm if the shell ever stops waiting by itself. `ps` shows it.
const PLACEHOLDER: &str = "exit 125 # bashful: waiting for a command";

/// What bash is called: `$0`, and the beginning of its messages.
const BASH: &str = "bash";

/// A shell that could not be started, as it is reported.
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

/// Starts a shell that does the script at once.
///
/// What the shell still has to read must stay open until then, so it is handed back.
pub(crate) fn start(
    setup: &Setup,
    script: Script,
    tether: Tether,
    session: Session,
) -> Result<(Child, Vec<OwnedFd>), NotStarted> {
    let first = first_lines(setup, None)?;
    let (text, file) = match script {
        Script::Text(text) => (text, None),
        Script::File(None) => return Err(not_prepared(&io::ErrorKind::NotFound.into())),
        Script::File(Some(file)) => (from_file(&file, underscore(setup)), Some(file)),
    };
    let child = spawn(setup, text, first.as_ref().map(bash_env), tether, session)?;
    Ok((child, first.into_iter().chain(file).collect()))
}

/// A shell that has been started and waits to be told what to do.
pub(crate) struct WaitingShell {
    pub(crate) child: Child,
    /// Bash opens this end through `/proc`, so it has to stay open here.
    gate: OwnedFd,
    /// What it reads before that, if there is something to source.
    first: Option<OwnedFd>,
    /// Closing this end lets bash go on.
    latch: OwnedFd,
    /// Where the script goes. Found before there is any hurry.
    argument: LastArgument,
    /// What `$_` is at the beginning of a script.
    underscore: Vec<u8>,
}

impl WaitingShell {
    pub(crate) fn start(setup: &Setup, tether: Tether) -> Result<Self, NotStarted> {
        let (gate, latch) = pipe::plain().map_err(|error| not_prepared(&error))?;
        let first = first_lines(setup, Some(&gate))?;
        let child = spawn(setup, placeholder(), Some(bash_env(first.as_ref().unwrap_or(&gate))), tether, Session::Own)?;
        let argv: [&[u8]; 3] = [BASH.as_bytes(), b"-c", &placeholder()];
        // The child is tied to us and ends with us: whoever asked for it will not get it. The padding has done its duty once the
        // system has made room for it, and `ps` would show all of it.
        let argument = LastArgument::find(child.pid, &argv)
            .and_then(|argument| argument.replace(PLACEHOLDER.as_bytes()).map(|()| argument))
            .map_err(|error| NotStarted { step: FailedStep::Handover, errno: error.raw_os_error().unwrap_or(0) })?;
        Ok(Self { child, gate, first, latch, argument, underscore: underscore(setup).to_vec() })
    }

    /// Tells the shell what to do, and lets it go. What it reads must stay open until it has, so it is handed back.
    pub(crate) fn begin(self, script: &[u8]) -> Result<(Child, Vec<OwnedFd>), (Child, NotStarted)> {
        // Somebody may have stopped it while it waited.
        self.child.continue_if_stopped();
        let handed = self.argument.replace(script).and_then(|()| {
            let mut latch = std::fs::File::from(self.latch);
            latch.write_all(&prologue(script, &self.underscore))
        });
        match handed {
            Ok(()) => Ok((self.child, self.first.into_iter().chain([self.gate]).collect())),
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(0);
                Err((self.child, NotStarted { step: FailedStep::Handover, errno }))
            }
        }
    }
}

/// Runs a script too long for an argument.
///
/// `IFS=` keeps white space at its ends, `-r` keeps backslashes. `read` takes everything up to a NUL that is not there,
/// so it always fails: the `:` puts back what `$?` and `$_` are at the beginning of a script. `builtin`, because the
/// environment may hold functions of any name.
fn from_file(file: &OwnedFd, underscore: &[u8]) -> Vec<u8> {
    let mut line =
        format!("IFS= builtin read -rd '' BASH_EXECUTION_STRING <{} || builtin : ", place(file)).into_bytes();
    quote(&mut line, underscore);
    line.extend(br#"; builtin eval "$BASH_EXECUTION_STRING""#);
    line
}

/// What `$_` is at the beginning of a script.
fn underscore(setup: &Setup) -> &[u8] {
    setup.env.iter().find_map(|entry| entry.strip_prefix(b"_=")).unwrap_or(BASH.as_bytes())
}

/// The lines that source what the setup names, and then `gate`, as a file without a name; none if it names nothing.
///
/// `BASH_ENV` goes first: what is sourced may bring functions. Whatever goes wrong with it, the command's output is not
/// the place to say so. Backslashes, because it may bring aliases; functions called `.` and `:` it must not bring.
fn first_lines(setup: &Setup, gate: Option<&OwnedFd>) -> Result<Option<OwnedFd>, NotStarted> {
    if setup.source.is_empty() {
        return Ok(None);
    }
    let mut lines = b"\\unset BASH_ENV\n\\. ".to_vec();
    quote(&mut lines, &setup.source);
    lines.extend(format!(" 2>{}\n", null_place()).as_bytes());
    if let Some(gate) = gate {
        lines.extend(format!("\\. {}\n", place(gate)).as_bytes());
    }
    // The last argument, which sourcing has changed.
    lines.extend(b"\\: ");
    quote(&mut lines, underscore(setup));
    lines.push(b'\n');
    let made = bashful_sys::anonymous_file("bashful-start").and_then(|mut file| {
        file.write_all(&lines)?;
        Ok(file)
    });
    made.map(|file| Some(file.into())).map_err(|error| not_prepared(&error))
}

/// Puts back what waiting has changed: the variable, the clock, the script's own text, and the last argument.
fn prologue(script: &[u8], underscore: &[u8]) -> Vec<u8> {
    let mut lines = b"\\unset BASH_ENV\nSECONDS=0 BASH_EXECUTION_STRING=".to_vec();
    quote(&mut lines, script);
    lines.extend(b"\n\\: ");
    quote(&mut lines, underscore);
    lines.push(b'\n');
    lines
}

/// Appends `text` as one word of shell, whatever is in it.
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

/// A path by which a child can open a descriptor of ours.
pub(crate) fn place(fd: &impl AsRawFd) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), fd.as_raw_fd())
}

/// A path from which a child reads nothing and to which it can write: `/dev/null`, or a file of this process where there is none.
pub(crate) fn null_place() -> &'static str {
    // The file stays open for as long as this process lives.
    static PLACE: OnceLock<(String, Option<std::fs::File>)> = OnceLock::new();
    let (path, _) = PLACE.get_or_init(|| match bashful_sys::null_file() {
        Ok(file) if std::fs::metadata("/dev/null").is_err() => (place(&file), Some(file)),
        Ok(_) | Err(_) => ("/dev/null".to_owned(), None),
    });
    path
}

/// The variable that has bash read this before the script.
fn bash_env(fd: &OwnedFd) -> Vec<u8> {
    format!("BASH_ENV={}", place(fd)).into_bytes()
}

fn spawn(
    setup: &Setup,
    script: Vec<u8>,
    bash_env: Option<Vec<u8>>,
    tether: Tether,
    session: Session,
) -> Result<Child, NotStarted> {
    let mut arguments = vec![b"-c".to_vec()];
    if script.starts_with(b"-") || script.starts_with(b"+") {
        // Bash would take it for options.
        arguments.push(b"--".to_vec());
    }
    arguments.push(script);
    spawn_with(setup, arguments, bash_env, tether, session)
}

/// Starts bash with these arguments.
pub(crate) fn spawn_with(
    setup: &Setup,
    arguments: Vec<Vec<u8>>,
    bash_env: Option<Vec<u8>>,
    tether: Tether,
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
        tether,
        session,
    }
    .start()?)
}
