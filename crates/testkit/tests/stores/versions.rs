//! Programs and keepers of different versions: what each side says, byte by byte.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bashful_engine::{JobStore, KeeperProgram, RunError, StartError};
use bashful_keeper::protocol::{Hello, Order, VERSION};
use bashful_keeper::{End, StopReason};
use bashful_testkit::{Place, Starts, WIDE, request};
use tokio::time::timeout;

use crate::PUPPET;

/// A hello of a program that speaks version 9 and nothing older.
const NEWER_HELLO: &[u8] = &[9, 0, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0];

/// Our own hello.
const HELLO: &[u8] = &[9, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];

const STOP: &[u8] = &[2, 0, 0, 0, 3, 2];
/// `SIGCONT`, which does nothing to those who run.
const CONTINUE: &[u8] = &[2, 0, 0, 0, 6, 18];
const HEARD: &[u8] = &[1, 0, 0, 0, 5];
const NOT_UNDERSTOOD: &[u8] = &[1, 0, 0, 0, 9];

/// A live job.
struct LiveJob {
    place: Place,
    jobs: Arc<JobStore>,
    id: u64,
}

impl LiveJob {
    async fn start() -> Self {
        let place = Place::new(PUPPET);
        let jobs: Arc<JobStore> = place.options.jobs.clone().expect("a store");
        let id = place.engine().started_job(request(r#""$PUPPET" hold"#)).await.expect("it starts").id;
        Self { place, jobs, id }
    }

    fn connect(&self) -> Client {
        let control = self.jobs.directory().join(self.id.to_string()).join("control");
        Client(UnixStream::connect(control).expect("its keeper listens"))
    }

    /// Waits for the end of the job, and checks that it was stopped by request.
    async fn check_stopped(self) {
        let job = timeout(WIDE, self.jobs.wait_until_gone(self.id)).await.expect("it ends").expect("a record");
        assert!(matches!(job.end(), Some(End::Stopped { why: StopReason::Cancelled, .. })), "{job:?}");
        self.place.check_nothing_survives();
    }
}

/// A connection to the keeper of a job.
struct Client(UnixStream);

impl Client {
    fn send(&mut self, bytes: &[&[u8]]) {
        self.0.write_all(&bytes.concat()).expect("the keeper listens");
    }

    #[track_caller]
    fn hears(&mut self, expected: &[&[u8]]) {
        let mut answer = vec![0; expected.concat().len()];
        self.0.read_exact(&mut answer).expect("the keeper answers");
        assert_eq!(answer, expected.concat());
    }

    /// The last words of the keeper.
    fn rest(mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).expect("the keeper hangs up");
        rest
    }
}

/// The length and the kind of a report of the end.
const ENDED: (Option<u8>, Option<u8>) = (Some(21), Some(3));

fn length_and_kind(report: &[u8]) -> (Option<u8>, Option<u8>) {
    (report.first().copied(), report.get(4).copied())
}

#[tokio::test]
async fn a_program_without_a_hello_is_answered_as_bashful_0_1_answered() {
    let job = LiveJob::start().await;
    let mut client = job.connect();
    client.send(&[STOP]);
    client.hears(&[HEARD]);
    job.check_stopped().await;
    assert_eq!(length_and_kind(&client.rest()), ENDED);
}

#[tokio::test]
async fn a_hello_is_answered_with_the_first_report_and_not_before() {
    let job = LiveJob::start().await;
    let mut client = job.connect();
    client.send(&[HELLO]);
    // The keeper reads from everybody before it answers anybody.
    let mut other = job.connect();
    other.send(&[CONTINUE]);
    other.hears(&[HEARD]);
    client.0.set_nonblocking(true).expect("it is a socket");
    let early = client.0.read(&mut [0; 100]).expect_err("nothing has come");
    assert_eq!(early.kind(), std::io::ErrorKind::WouldBlock);
    client.0.set_nonblocking(false).expect("it is a socket");
    client.send(&[STOP]);
    client.hears(&[HELLO, HEARD]);
    job.check_stopped().await;
    assert_eq!(length_and_kind(&client.rest()), ENDED);
}

#[tokio::test]
async fn a_newer_program_is_told_what_is_not_understood_and_can_stop_the_job() {
    let job = LiveJob::start().await;
    let mut client = job.connect();
    // A kind that nobody knows, and one that is known with other fields.
    client.send(&[NEWER_HELLO, &[3, 0, 0, 0, 200, 1, 2], &[3, 0, 0, 0, 7, 1, 2]]);
    client.hears(&[HELLO, NOT_UNDERSTOOD, NOT_UNDERSTOOD]);
    // A reason that nobody knows, and more fields than there are today.
    client.send(&[&[4, 0, 0, 0, 3, 99, 1, 2]]);
    client.hears(&[HEARD]);
    job.check_stopped().await;
    // The end is not a report that every version understands, so the connection just closes.
    assert!(client.rest().is_empty());
}

#[tokio::test]
async fn a_keeper_program_of_another_version_is_named_as_the_reason() {
    let mut place = Place::new(PUPPET);
    place.options.keeper = KeeperProgram::At(PathBuf::from(env!("CARGO_BIN_EXE_other_version")));
    let engine = place.engine();
    let failed = timeout(WIDE, engine.run(request("echo ran"))).await.expect("it comes back").expect_err("it fails");
    let RunError::Start(StartError::KeeperVersion { protocol }) = &failed else { panic!("{failed:?}") };
    assert_eq!(*protocol, 9);
    let text = failed.to_string();
    assert!(text.contains("speaks protocol version 9, this program up to 2"), "{text}");
}

#[test]
fn the_bytes_here_are_those_of_the_protocol() {
    let encoded = |encode: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        encode(&mut bytes);
        bytes
    };
    assert_eq!((encoded(&|out| Hello::OURS.encode(out)), VERSION), (HELLO.to_vec(), 2));
    assert_eq!(encoded(&|out| Order::Stop(StopReason::Cancelled).encode(out)), STOP);
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/0.1/messages.txt");
    let recorded = std::fs::read_to_string(recorded).expect("it was recorded");
    assert!(recorded.contains("order stop: 020000000302\n") && recorded.contains("report heard: 0100000005\n"));
}
