//! Whatever a command writes, and however: it is counted exactly, kept whole, and memory stays flat.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bashful_engine::{
    ArtifactLimits, ArtifactStore, ByteSize, Chunk, Cleaning, Clip, End, Exit, Heard, Listening, Outcome, Output,
    OutputForm, OutputStream, Request, StopReason, Streams, WhenBehind, Window,
};
use bashful_testkit::{Place, Starts, WIDE, eventually, finished, output, request, run};

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

const WELL: End = End::Own(Exit::Code(0));

/// Names the part of a test that runs in a process of its own, and the directory it works in.
const ROLE: &str = "BASHFUL_TEST_ROLE";
const PLACE: &str = "BASHFUL_TEST_PLACE";

fn split(script: &str) -> Request {
    Request { streams: Streams::Split, ..request(script) }
}

fn shown(output: &Output) -> (&[u8], &[u8]) {
    match &output.clip {
        Clip::Whole(bytes) => (bytes, &[]),
        Clip::Cut { head, tail, .. } => (&head.bytes, &tail.bytes),
    }
}

fn artifact(outcome: &Outcome) -> Vec<u8> {
    std::fs::read(&outcome.output.artifact.as_ref().expect("there is an artifact").path).expect("it is readable")
}

/// The most memory that this process has had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("it is there");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it is told");
    peak.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// This program again, with one part to play, wrapped in another one: memory and mounts are those of a process.
#[track_caller]
fn check_apart(part: &str, place: &Path, wrapper: &str) {
    let status = Command::new("sh")
        .args(["-c", wrapper, "sh"])
        .arg(std::env::current_exe().expect("we know ourselves"))
        .args(["--exact", "parts_are_played_apart", "--nocapture"])
        .env(ROLE, part)
        .env(PLACE, place)
        .stdout(Stdio::null())
        .status()
        .expect("it runs");
    assert!(status.success(), "{part}: {status}");
}

/// The entrance for the parts that other tests play in processes of their own.
#[tokio::test]
async fn parts_are_played_apart() {
    let (Some(place), Ok(part)) = (std::env::var_os(PLACE), std::env::var(ROLE)) else { return };
    match part.as_str() {
        "flood" => flood().await,
        "slow listener" => slow_listener().await,
        "fill the disk" => fill_the_disk(PathBuf::from(place)).await,
        other => panic!("no such part: {other}"),
    }
}

#[test]
fn a_flood_without_a_newline_is_counted_and_takes_no_memory() {
    check_apart("flood", Path::new("/"), r#"exec "$@""#);
}

async fn flood() {
    const BYTES: u64 = 256 << 20;
    let mut place = Place::new(PUPPET);
    place.options.artifacts = None;
    let engine = place.engine();
    run(&engine, "echo warm").await;
    let before = peak();
    let outcome = run(&engine, format!("head -c {BYTES} /dev/zero | tr '\\0' x")).await;
    assert_eq!((outcome.end, outcome.output.bytes, outcome.output.lines), (WELL, BYTES, 1));
    let (head, tail) = shown(&outcome.output);
    assert_eq!((head, tail), (vec![b'x'; 4096].as_slice(), vec![b'x'; 4096].as_slice()));
    assert!(peak() - before < 8192, "it grew by {} KiB", peak() - before);
}

#[test]
fn a_slow_listener_neither_holds_up_the_command_nor_takes_memory() {
    check_apart("slow listener", Path::new("/"), r#"exec "$@""#);
}

async fn slow_listener() {
    let mut place = Place::new(PUPPET);
    place.options.artifacts = None;
    let engine = place.engine();
    run(&engine, "seq 1 100000").await;
    let before = peak();
    let (mut job, mut stream) = engine.started_listening(request("seq 1 5000000"), TEXT).await.expect("it starts");
    let live = job.live();
    // Nobody takes anything until all of it is over.
    let outcome = tokio::time::timeout(WIDE, job.wait()).await.expect("it comes back").expect("nobody dropped it");
    assert_eq!((outcome.end, outcome.output.lines), (WELL, 5_000_000));
    assert!(peak() - before < 3 * 8192, "it grew by {} KiB", peak() - before);
    assert_eq!(live.borrow().bytes, outcome.output.bytes, "the last look has the end");
    let (mut dropped, mut heard) = (0, 0);
    while let Some(piece) = stream.next().await {
        match piece {
            Heard::Dropped { bytes } => dropped += bytes,
            Heard::Chunk(chunk) => heard += chunk.bytes.len() as u64,
        }
    }
    assert!(dropped > 0 && heard > 0);
    assert_eq!(dropped + heard, outcome.output.bytes, "it is told how much it missed");
}

const TEXT: Listening = Listening { form: OutputForm::Text, when_behind: WhenBehind::Drop };
const RAW: Listening = Listening { form: OutputForm::Raw, when_behind: WhenBehind::Wait };

/// Everything that is heard of a stream.
async fn all(mut stream: OutputStream) -> Vec<u8> {
    let mut heard = Vec::new();
    while let Some(piece) = tokio::time::timeout(WIDE, stream.next()).await.expect("it ends") {
        match piece {
            Heard::Chunk(chunk) => heard.extend(chunk.bytes),
            Heard::Dropped { bytes } => panic!("{bytes} bytes were dropped"),
        }
    }
    heard
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_hears_the_first_line_and_the_last_one_and_then_the_end() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    for round in 0..50 {
        let script = format!("echo first {round}; printf last");
        let (mut job, stream) = engine.started_listening(request(script), TEXT).await.expect("it starts");
        // Both at once, as hosts do.
        let (heard, outcome) = tokio::join!(all(stream), job.wait());
        assert_eq!(String::from_utf8_lossy(&heard), format!("first {round}\nlast"));
        assert_eq!(output(&outcome.expect("nobody dropped it")).as_bytes(), heard);
    }
}

#[tokio::test]
async fn a_stream_ends_with_its_command_also_when_that_is_stopped_or_dropped() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let start = || engine.started_listening(request("printf begun; echo > ready; exec sleep 1000"), TEXT);
    let (mut job, stream) = start().await.expect("it starts");
    place.wait_for("ready");
    job.stop(StopReason::Cancelled);
    assert_eq!(all(stream).await, b"begun");
    job.wait().await.expect("nobody dropped it");
    let (job, stream) = start().await.expect("it starts");
    drop(job);
    all(stream).await;
    place.check_nothing_survives();
}

#[tokio::test]
async fn raw_output_is_whole_and_waits_for_a_slow_listener() {
    let place = Place::new(PUPPET);
    let script = r"printf 'a\0b\r\n\033[1m\377'; seq 1 1000000; printf end >&2";
    let (mut job, mut stream) = place.engine().started_listening(request(script), RAW).await.expect("it starts");
    let first = stream.next().await.expect("there is output");
    // The command is ahead by a pipe and what is held for the listener, and waits there.
    let Heard::Chunk(Chunk { mut bytes, .. }) = first else { panic!("nothing is dropped") };
    bytes.extend(all(stream).await);
    let lines = (1..=1_000_000).map(|number| format!("{number}\n")).collect::<Vec<_>>().concat();
    assert!(bytes == [b"a\0b\r\n\x1b[1m\xff", lines.as_bytes(), b"end"].concat(), "{} bytes", bytes.len());
    assert_eq!(job.wait().await.expect("nobody dropped it").end, WELL);
}

#[tokio::test]
async fn a_command_whose_listener_has_gone_goes_on() {
    let place = Place::new(PUPPET);
    let (mut job, mut stream) =
        place.engine().started_listening(request("seq 1 2000000"), RAW).await.expect("it starts");
    assert!(stream.next().await.is_some());
    drop(stream);
    let outcome = tokio::time::timeout(WIDE, job.wait()).await.expect("it comes back").expect("nobody dropped it");
    assert_eq!((outcome.end, outcome.output.lines), (WELL, 2_000_000));
}

#[tokio::test]
async fn snapshots_have_the_newest_output_and_the_last_one_has_the_end() {
    let place = Place::new(PUPPET);
    let script = "seq 1 100000; echo > ready; until [ -e go ]; do sleep 0.01; done; printf end";
    let (mut job, stream) = place.engine().started_listening(request(script), TEXT).await.expect("it starts");
    let mut tail = stream.into_tail(ByteSize::kib(50), Duration::from_millis(50));
    let mut snapshots = vec![tail.next().await.expect("there is output")];
    std::fs::write(place.path().join("go"), "").expect("it is written");
    while let Some(snapshot) = tokio::time::timeout(WIDE, tail.next()).await.expect("it ends") {
        snapshots.push(snapshot);
    }
    let last = snapshots.last().expect("there is one");
    assert!(snapshots.iter().all(|snapshot| snapshot.newest.len() <= 50 * 1024));
    assert!(last.newest.ends_with(b"\n99999\n100000\nend") && last.newest.len() > 49 * 1024);
    assert_eq!(last.bytes, job.wait().await.expect("nobody dropped it").output.bytes);
}

#[tokio::test]
async fn one_who_looks_late_sees_what_was_written_before() {
    let place = Place::new(PUPPET);
    let script = "echo listening; echo > ready; until [ -e go ]; do sleep 0.01; done";
    let mut job = place.engine().started(request(script)).await.expect("it starts");
    place.wait_for("ready");
    let mut live = job.live();
    let seen = live.wait_for(|live| live.newest == b"listening\n");
    drop(tokio::time::timeout(WIDE, seen).await.expect("it is seen").expect("it runs"));
    std::fs::write(place.path().join("go"), "").expect("it is written");
    job.wait().await.expect("nobody dropped it");
    while live.changed().await.is_ok() {}
}

#[tokio::test]
async fn tiny_writes_of_two_streams_are_all_there_and_in_order_where_they_are_one() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let script = "for i in {1..2000}; do printf o; printf e >&2; done";
    let outcome = run(&engine, script).await;
    assert_eq!(output(&outcome), "oe".repeat(2000));
    let reply = tokio::time::timeout(WIDE, engine.run(split(script))).await.expect("it comes back").expect("it starts");
    let outcome = finished(reply);
    let stderr = outcome.stderr.expect("it is taken apart");
    assert_eq!(shown(&outcome.output).0, "o".repeat(2000).as_bytes());
    assert_eq!(shown(&stderr).0, "e".repeat(2000).as_bytes());
}

#[tokio::test]
async fn characters_that_come_in_pieces_are_whole_and_what_is_none_is_kept_as_it_is() {
    let mut place = Place::new(PUPPET);
    for cleaning in [Cleaning::ForEyes, Cleaning::None] {
        place.options.cleaning = cleaning;
        let engine = place.engine();
        // A euro sign in two writes, with time for each to be read by itself.
        assert_eq!(output(&run(&engine, r"printf '\xe2\x82'; sleep 0.05; printf '\xac\n'").await), "€\n");
        let outcome =
            run(&engine, r"printf 'a\xff'; sleep 0.05; printf '\xfeb\xe2\x82'; sleep 0.05; printf 'c\n'").await;
        assert_eq!(shown(&outcome.output).0, b"a\xff\xfeb\xe2\x82c\n");
        assert_eq!((outcome.output.bytes, outcome.output.lines), (8, 1));
        // And the end in the middle of a character.
        let outcome = run(&engine, r"printf 'x\xf0\x9f\x98'").await;
        assert_eq!(shown(&outcome.output).0, b"x\xf0\x9f\x98");
        assert_eq!((outcome.output.bytes, outcome.output.lines), (4, 1));
    }
}

#[tokio::test]
async fn the_artifact_holds_every_byte_as_it_was_written() {
    let mut place = Place::new(PUPPET);
    place.options.window = Window::tail(ByteSize(100));
    let script = r"for i in {1..3000}; do printf '\e[1m%d\e[m\xff\r\n' $i; done";
    let outcome = run(&place.engine(), script).await;
    let expected: Vec<u8> =
        (1..=3000).flat_map(|number| [format!("\x1b[1m{number}\x1b[m").as_bytes(), b"\xff\r\n"].concat()).collect();
    assert_eq!(artifact(&outcome), expected);
    assert_eq!((outcome.output.bytes, outcome.output.lines), (expected.len() as u64, 3000));
}

#[tokio::test]
async fn no_byte_is_lost_however_the_pace_of_the_writer_changes() {
    let place = Place::new(PUPPET);
    let lines = (0..400_000).map(|number| format!("{number:08}\n")).collect::<Vec<_>>().concat();
    std::fs::write(place.path().join("lines"), &lines).expect("it is written");
    // Small pieces without pause, a flood right behind them, silence, and all of it again.
    let script = "for i in 1 2 3; do dd if=lines bs=90 status=none; dd if=lines bs=1M status=none; sleep 0.02; \
                  dd if=lines bs=4k status=none; for j in 1 2 3 4; do cat lines; done; dd if=lines bs=900 status=none; done";
    let mut request = split(script);
    request.workdir = Some(place.path().to_owned());
    let reply = tokio::time::timeout(WIDE, place.engine().run(request)).await.expect("it comes back");
    let outcome = finished(reply.expect("it starts"));
    assert_eq!((outcome.end, outcome.output.lines), (WELL, 400_000 * 8 * 3));
    assert!(artifact(&outcome) == lines.repeat(8 * 3).as_bytes(), "the artifact differs from what was written");
}

#[tokio::test]
async fn a_long_artifact_takes_no_more_disk_than_it_needs_and_others_can_go_on_with_it() {
    let place = Place::new(PUPPET);
    let script = "(until [ -e go ]; do sleep 0.01; done; echo late) & head -c 9000000 /dev/zero";
    let mut request = request(script);
    request.workdir = Some(place.path().to_owned());
    let reply = tokio::time::timeout(WIDE, place.engine().run(request)).await.expect("it comes back");
    let outcome = finished(reply.expect("it starts"));
    let path = &outcome.output.artifact.as_ref().expect("there is an artifact").path;
    let size = || std::fs::metadata(path).expect("it is there");
    assert_eq!(size().len(), 9_000_000);
    assert!(size().blocks() * 512 < 9_000_000 + 64 * 1024, "{} blocks", size().blocks());
    std::fs::write(place.path().join("go"), "").expect("it is written");
    assert!(eventually(|| size().len() > 9_000_000), "the one left behind writes no more");
    assert!(artifact(&outcome)[9_000_000..].starts_with(b"late\n"));
}

/// Runs something long where the artifacts cannot be had: the command must not notice.
#[track_caller]
fn check_no_artifact(outcome: &Outcome) {
    assert_eq!((outcome.end, outcome.output.lines), (WELL, 100_000));
    assert_eq!(outcome.output.artifact, None);
    assert!(outcome.output.not_saved.is_some());
    assert!(shown(&outcome.output).1.ends_with(b"\n100000\n"));
}

#[tokio::test]
async fn a_place_for_artifacts_that_cannot_be_used_does_not_touch_the_command() {
    let mut place = Place::new(PUPPET);
    let file = place.path().join("file");
    std::fs::write(&file, "not a directory").expect("it is written");
    for directory in [file.clone(), file.join("below"), PathBuf::from("/proc/none"), PathBuf::from("/dev/full/x")] {
        place.options.artifacts = Some(Arc::new(ArtifactStore::new(directory, ArtifactLimits::default())));
        check_no_artifact(&run(&place.engine(), "seq 1 100000").await);
    }
}

#[tokio::test]
async fn a_directory_that_was_made_unwritable_does_not_touch_the_command() {
    let mut place = Place::new(PUPPET);
    let directory = place.path().join("read-only");
    std::fs::create_dir(&directory).expect("it is made");
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o500)).expect("it may be changed");
    place.options.artifacts = Some(Arc::new(ArtifactStore::new(directory.clone(), ArtifactLimits::default())));
    let outcome = run(&place.engine(), "seq 1 100000").await;
    assert_eq!((outcome.end, outcome.output.lines), (WELL, 100_000));
    // Root may write everywhere, and then there is nothing to complain about.
    let can_write = std::fs::write(directory.join("probe"), "").is_ok();
    assert_eq!(outcome.output.artifact.is_some(), can_write);
    assert_eq!(outcome.output.not_saved.is_none(), can_write);
}

#[test]
fn a_full_disk_is_said_and_does_not_touch_the_command() {
    let place = Place::new(PUPPET);
    let directory = place.path().join("disk");
    std::fs::create_dir(&directory).expect("it is made");
    let script = format!("mount -t tmpfs -o size=1m none {0} && exec \"$@\"", directory.display());
    let wrapper = format!("exec unshare --user --map-root-user --mount sh -c '{script}' sh \"$@\"");
    check_apart("fill the disk", &directory, &wrapper);
}

async fn fill_the_disk(disk: PathBuf) {
    let mut place = Place::new(PUPPET);
    place.options.artifacts = Some(Arc::new(ArtifactStore::new(disk.join("artifacts"), ArtifactLimits::default())));
    let outcome = run(&place.engine(), "seq 1 1000000").await;
    assert_eq!((outcome.end, outcome.output.bytes, outcome.output.lines), (WELL, 6_888_896, 1_000_000));
    let why = outcome.output.not_saved.as_deref().expect("it is said");
    assert!(why.contains("No space left"), "{why}");
    let facts = outcome.output.artifact.as_ref().expect("what fits is there");
    let missing = facts.missing.last().expect("the rest is missing");
    assert_eq!(missing.range.end, 6_888_896);
    let kept = artifact(&outcome);
    assert_eq!(kept.len() as u64, missing.range.start);
    let whole: Vec<u8> = (1..=200_000).flat_map(|number| format!("{number}\n").into_bytes()).collect();
    assert!(kept.len() > 256 * 1024 && whole.starts_with(&kept), "{} bytes were kept", kept.len());
}

#[tokio::test]
async fn an_engine_that_stays_sweeps_what_others_left_and_nothing_that_is_in_use() {
    let mut place = Place::new(PUPPET);
    let limits = ArtifactLimits { store: ByteSize(0), ..ArtifactLimits::default() };
    let store = ArtifactStore::new(place.path().join("artifacts"), limits);
    store.create().expect("it is made").push(b"left by somebody").expect("it is written");
    let mut in_use = store.create().expect("it is made");
    in_use.push(b"still written").expect("it is written");
    place.options.artifacts = Some(Arc::new(store.clone()));
    let engine = place.engine();
    let ids = || store.list().expect("it is listed").iter().map(|entry| entry.id).collect::<Vec<_>>();
    run(&engine, "echo one").await;
    assert_eq!(ids(), [1, 2], "a single command has no time to sweep");
    run(&engine, "echo two").await;
    assert!(eventually(|| ids() == [2]), "{:?}", ids());
}
