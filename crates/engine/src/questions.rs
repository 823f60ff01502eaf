//! Questions of one program's guard to a person who sits at another program of the same user.
//!
//! The asking program listens at a socket of its own in one directory. A program with a person connects, reads the question, and
//! sends the answer. The socket is there for as long as somebody waits for the answer. Without a person who attends, nothing is
//! asked.
//!
//! Invariant: a question and an answer count only from a process of this program that no command has started, whoever says so.
//! Each end checks that itself, by the process at the other end of the socket. An answer counts only from a process that no
//! agent has started, either.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bashful_keeper::{Ancestry, ancestry, ancestry_of, marked_ancestor_of};
use bashful_sys::peer::Peer;
use bashful_sys::{plain, socket};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, geteuid};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::redact::Redacted;
use crate::trust::make_directory;
use crate::units::ByteSize;

/// Longest question, as JSON. A question shows at most 20 lines of a script.
const LONGEST_QUESTION: ByteSize = ByteSize::kib(128);

/// Longest answer.
const LONGEST_ANSWER: u64 = 16;

/// Time for a connected program to send its question, which is ready.
const READING_PATIENCE: Duration = Duration::from_secs(5);

/// Extension of the sockets.
const SOCKET: &str = "ask";

/// Extension of a socket that does not listen yet.
const DRAFT: &str = "new";

/// Extension of the files that tell of a person.
const PERSON: &str = "person";

/// The place of questions, as one program sees it.
#[derive(Debug)]
pub struct Questions {
    directory: PathBuf,
    surface: String,
    count: AtomicU64,
    agents: MarksOfAgents,
}

/// The names of programs that are agents, and of the variables that they set for their commands.
#[derive(Debug, Clone, Copy, Default)]
struct MarksOfAgents {
    programs: &'static [&'static str],
    variables: &'static [&'static str],
}

/// Tells other programs that a person attends to questions, until it is dropped.
#[derive(Debug)]
pub struct PersonPresence {
    /// Holds the lock.
    _file: File,
    path: PathBuf,
}

/// A question of another program, and the connection for its answer.
#[derive(Debug)]
pub struct OpenQuestion {
    /// Surface that asks: `mcp`, `run`.
    pub surface: String,
    /// Process id of the program that asks.
    pub host_pid: u32,
    /// Text of the question, redacted by the program that asks.
    pub about: String,
    stream: BufReader<UnixStream>,
}

/// A question on its way.
#[derive(Debug, Serialize, Deserialize)]
struct SentQuestion {
    surface: String,
    host_pid: u32,
    about: String,
}

impl Questions {
    /// The questions in this directory, asked by this surface. The directory is created when it is needed.
    pub fn new(directory: PathBuf, surface: &str) -> Self {
        Self { directory, surface: surface.to_owned(), count: AtomicU64::new(0), agents: MarksOfAgents::default() }
    }

    /// Takes no answer of a process below one of these programs, or of one that was started with one of these variables: a
    /// command of an agent's own shell has no keeper above it.
    #[must_use]
    pub fn without_answers_of_agents(
        self,
        programs: &'static [&'static str],
        variables: &'static [&'static str],
    ) -> Self {
        Self { agents: MarksOfAgents { programs, variables }, ..self }
    }

    /// Directory of the questions, which need not exist yet.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Asks every person who attends, and returns the first answer; none if nobody attends, if a command has started this
    /// process, or if nobody answers in time. A dropped future withdraws the question.
    pub async fn ask(&self, about: Redacted, patience: Duration) -> io::Result<Option<bool>> {
        if !self.is_attended() || ancestry() != Ancestry::Free {
            return Ok(None);
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let path = self.directory.join(format!("{}-{number}.{SOCKET}", std::process::id()));
        let draft = path.with_extension(DRAFT);
        let handle = plain::open_directory(&self.directory)?;
        // A socket's path may have 107 bytes at most; through a handle on the directory it always fits.
        let name = draft.file_name().unwrap_or_default().display();
        let listener = socket::listen(Path::new(&format!("/proc/self/fd/{}/{name}", handle.as_raw_fd())))?;
        // Between its creation and the first moment at which it listens, the socket would look like that of a dead program.
        let renamed = fs::rename(&draft, &path);
        let _withdrawal = [Withdrawal(path), Withdrawal(draft)];
        renamed?;
        let listener = UnixListener::from_std(listener)?;
        let (surface, host_pid) = (self.surface.clone(), std::process::id());
        let question = SentQuestion { surface, host_pid, about: about.into_string() };
        let line = serde_json::to_string(&question)? + "\n";
        Ok(timeout(patience, first_answer(&listener, &line, self.agents)).await.ok())
    }

    /// Tells that a person attends to questions from now on.
    pub fn attend(&self) -> io::Result<PersonPresence> {
        make_directory(&self.directory)?;
        let path = self.directory.join(format!("{}.{PERSON}", std::process::id()));
        let draft = path.with_extension(DRAFT);
        let file = plain::create(&draft)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        // Only now: whoever finds it without a lock takes it for that of a dead program.
        fs::rename(&draft, &path)?;
        Ok(PersonPresence { _file: file, path })
    }

    /// Names of all questions that wait for an answer.
    pub fn names(&self) -> Vec<String> {
        self.entries(SOCKET).into_iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect()
    }

    /// Reads a question. None if nobody asks it any more, or if no process of this program does: somebody has planted it.
    pub async fn read(&self, name: &str) -> io::Result<Option<OpenQuestion>> {
        let handle = plain::open_directory(&self.directory)?;
        let socket = match socket::connect(Path::new(&format!("/proc/self/fd/{}/{name}", handle.as_raw_fd()))) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                // The program that asked has died.
                let _ = fs::remove_file(self.directory.join(name));
                return Ok(None);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            socket => socket?,
        };
        if !Peer::of(&socket).is_ok_and(|peer| is_ours(&peer) && peer.still_runs()) {
            return Ok(None);
        }
        let mut stream = BufReader::new(UnixStream::from_std(socket.into())?);
        let mut line = String::new();
        let mut bounded = (&mut stream).take(LONGEST_QUESTION.0);
        let read = timeout(READING_PATIENCE, bounded.read_line(&mut line)).await;
        let Ok(SentQuestion { surface, host_pid, about }) = serde_json::from_str(&line) else {
            return read.map_or(Ok(None), |read| read.map(|_| None));
        };
        Ok(Some(OpenQuestion { surface, host_pid, about, stream }))
    }

    /// True if a person attends somewhere. Removes the files of programs that have died.
    fn is_attended(&self) -> bool {
        let mut is_attended = false;
        for path in self.entries(PERSON) {
            let Ok(file) = plain::open(&path) else { continue };
            if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
                let _ = fs::remove_file(&path);
            } else {
                is_attended = true;
            }
        }
        is_attended
    }

    fn entries(&self, extension: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
    }
}

impl OpenQuestion {
    /// Sends the answer.
    pub async fn answer(mut self, yes: bool) -> io::Result<()> {
        self.stream.get_mut().write_all(if yes { b"yes\n" } else { b"no\n" }).await
    }

    /// Waits until nobody asks any more. A dropped future changes nothing.
    pub async fn withdrawn(&mut self) {
        let mut rest = [0; 64];
        while self.stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
    }
}

impl Drop for PersonPresence {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the socket of a question.
struct Withdrawal(PathBuf);

impl Drop for Withdrawal {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Shows the question to everybody who connects and may answer, and returns the first answer.
async fn first_answer(listener: &UnixListener, line: &str, agents: MarksOfAgents) -> bool {
    let (tell, mut answers) = mpsc::channel(1);
    // Dropping the set closes all connections.
    let mut readers = JoinSet::new();
    loop {
        tokio::select! {
            Some(answer) = answers.recv() => return answer,
            accepted = listener.accept() => if let Ok((stream, _)) = accepted && may_answer(&stream, agents) {
                readers.spawn(read_answer(stream, line.to_owned(), tell.clone()));
            },
        }
    }
}

/// True if the process at the other end may speak for a person.
fn may_answer(stream: &UnixStream, agents: MarksOfAgents) -> bool {
    let is_person = |process| marked_ancestor_of(process, agents.programs, agents.variables).is_none();
    Peer::of(stream).is_ok_and(|peer| is_ours(&peer) && is_person(peer.process) && peer.still_runs())
}

/// True if a process of this user runs this program, and no command has started it.
fn is_ours(peer: &Peer) -> bool {
    peer.user == geteuid() && ancestry_of(peer.process) == Ancestry::Free && runs_this_program(peer.process)
}

/// True if a process runs the program that this one runs, also if the file was replaced since it was started.
///
/// The program of a process that forbids inspection, as this one does, is known to the superuser alone. A process that
/// shows another program is none of ours.
fn runs_this_program(process: Pid) -> bool {
    let program = |process: &str| {
        let path = fs::read_link(format!("/proc/{process}/exe"))?.into_os_string().into_vec();
        Ok::<_, io::Error>(path.strip_suffix(b" (deleted)").map(<[u8]>::to_vec).unwrap_or(path))
    };
    match (program("self"), program(&process.as_raw_nonzero().to_string())) {
        (Ok(ours), Ok(theirs)) => ours == theirs,
        (_, Err(error)) => error.kind() == io::ErrorKind::PermissionDenied,
        (Err(_), Ok(_)) => false,
    }
}

async fn read_answer(stream: UnixStream, line: String, tell: mpsc::Sender<bool>) {
    let mut stream = BufReader::new(stream);
    if stream.get_mut().write_all(line.as_bytes()).await.is_err() {
        return;
    }
    let mut answer = String::new();
    let read = (&mut stream).take(LONGEST_ANSWER).read_line(&mut answer).await;
    let answer = match (read, answer.as_str()) {
        (Ok(_), "yes\n") => true,
        (Ok(_), "no\n") => false,
        _ => return,
    };
    let _ = tell.send(answer).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Options};

    const WIDE: Duration = Duration::from_mins(1);

    fn about() -> Redacted {
        Engine::new(Options::new("/bin/bash".into(), "/".into())).expect("an engine").redactor().redact("May this run?")
    }

    fn place() -> (tempfile::TempDir, Questions) {
        let directory = tempfile::tempdir().expect("a directory");
        let questions = Questions::new(directory.path().join("questions"), "mcp");
        (directory, questions)
    }

    /// Waits for the one question that is asked.
    async fn asked(questions: &Questions) -> OpenQuestion {
        loop {
            if let Some(name) = questions.names().first()
                && let Some(question) = questions.read(name).await.expect("it can be read")
            {
                return question;
            }
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn nobody_is_asked_where_nobody_attends() {
        let (_directory, questions) = place();
        assert_eq!(questions.ask(about(), WIDE).await.expect("an answer"), None);
        drop(questions.attend().expect("it attends"));
        assert_eq!(questions.ask(about(), WIDE).await.expect("an answer"), None);
    }

    #[tokio::test]
    async fn the_first_answer_counts_and_the_others_learn_of_it() {
        for yes in [true, false] {
            let (_directory, questions) = place();
            let _presence = questions.attend().expect("it attends");
            let (answer, ()) = tokio::join!(questions.ask(about(), WIDE), async {
                let question = asked(&questions).await;
                assert_eq!((question.surface.as_str(), question.about.as_str()), ("mcp", "May this run?"));
                let mut other = asked(&questions).await;
                question.answer(yes).await.expect("it is sent");
                other.withdrawn().await;
            });
            assert_eq!(answer.expect("an answer"), Some(yes));
            assert_eq!(questions.names(), Vec::<String>::new());
        }
    }

    #[tokio::test]
    async fn a_question_without_an_answer_is_withdrawn() {
        let (_directory, questions) = place();
        let _presence = questions.attend().expect("it attends");
        let answer = questions.ask(about(), Duration::from_millis(1)).await;
        assert_eq!(answer.expect("no error"), None);
        assert_eq!(questions.names(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn the_socket_of_a_dead_program_is_removed() {
        let (_directory, questions) = place();
        make_directory(questions.directory()).expect("a directory");
        drop(socket::listen(&questions.directory().join("1-1.ask")).expect("a socket"));
        assert!(questions.read("1-1.ask").await.expect("no error").is_none());
        assert_eq!(questions.names(), Vec::<String>::new());
    }
}
