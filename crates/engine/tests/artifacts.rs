//! The store of artifacts with real files: ids, survival, and full disks.

use std::ffi::OsString;
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use bashful_engine::{
    Artifact, ArtifactLimits, ArtifactStore, ArtifactWriter, ByteSize, CreateError, Gap, GetError, RemoveError,
};
use tempfile::TempDir;

/// Name of the part of a test that runs in a process of its own, and its directory.
const ROLE: &str = "BASHFUL_TEST_ROLE";
const PLACE: &str = "BASHFUL_TEST_PLACE";

const MIB: u64 = 1024 * 1024;

const ONE_MIB: ArtifactLimits =
    ArtifactLimits { one: ByteSize(MIB), store: ByteSize::mib(64), age: Duration::from_hours(24) };

fn store(place: &Path) -> ArtifactStore {
    limited(place, ArtifactLimits::default())
}

fn limited(place: &Path, limits: ArtifactLimits) -> ArtifactStore {
    ArtifactStore::new(place.join("artifacts"), limits)
}

fn place() -> TempDir {
    TempDir::with_prefix("bashful-artifacts-").expect("a temporary directory")
}

/// Writes an artifact, and closes it.
fn written(store: &ArtifactStore, bytes: &[u8]) -> u64 {
    let mut writer = store.create().expect("it is made");
    writer.push(bytes).expect("it is written");
    writer.id()
}

fn ids(store: &ArtifactStore) -> Vec<u64> {
    store.list().expect("it is listed").iter().map(|entry| entry.id).collect()
}

fn whole(store: &ArtifactStore, id: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let artifact = Artifact::open(&store.get(id).expect("it is there")).expect("it opens");
    artifact.whole(&mut out).expect("it is read");
    out
}

fn make_old(writer: &ArtifactWriter, days: u64) {
    writer.file().set_modified(SystemTime::now() - Duration::from_hours(24 * days)).expect("its time is set");
}

/// Length of a numbered line, in bytes.
const LINE: u64 = 64;

/// Numbered lines: every part shows its position.
fn pattern(length: u64) -> Vec<u8> {
    (0..length / LINE).flat_map(line).collect()
}

fn line(number: u64) -> Vec<u8> {
    format!("{number:>63}\n").into_bytes()
}

/// Starts this program again with one part to play, wrapped in another program if needed.
fn start(part: &str, place: &Path, wrapper: &[&str]) -> Child {
    let mut words: Vec<OsString> = wrapper.iter().map(Into::into).collect();
    words.push(std::env::current_exe().expect("we know ourselves").into());
    words.extend(["--exact", "a_hundred_in_a_row_have_a_hundred_ids", "--nocapture"].map(Into::into));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env(ROLE, part).env(PLACE, place).stdout(Stdio::null());
    command.spawn().expect("it starts")
}

/// Plays a part on a file system of its own. Fails without namespaces: better than a claim that nobody has checked.
#[track_caller]
fn check_in_mounts(part: &str, place: &Path, mount: &str) {
    let script = format!("{mount} && exec \"$@\"");
    let wrapper = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"];
    let status = start(part, place, &wrapper).wait().expect("it ends");
    assert!(status.success(), "{part}: {status}");
}

/// Also the entry point for the parts that other tests play in processes of their own.
#[test]
fn a_hundred_in_a_row_have_a_hundred_ids() {
    let (Some(place), Ok(part)) = (std::env::var_os(PLACE), std::env::var(ROLE)) else {
        let place = place();
        play("allocate", place.path());
        assert_eq!(ids(&store(place.path())), (1..=100).collect::<Vec<_>>());
        return;
    };
    play(&part, Path::new(&place));
}

fn play(part: &str, place: &Path) {
    match part {
        "allocate" => (0..100).for_each(|_| drop(store(place).create().expect("it is made"))),
        "write on and on" => write_on_and_on(&store(place)),
        "write past the limit" => write_on_and_on(&limited(place, ONE_MIB)),
        "fill the disk" => fill_the_disk(place),
        "read only" => read_only(place),
        "short files" => short_files(place),
        "no holes" => no_holes(place),
        other => panic!("no such part: {other}"),
    }
}

#[test]
fn nothing_is_touched_before_the_first_artifact() {
    let place = place();
    let store = store(place.path());
    assert_eq!(ids(&store), [0_u64; 0]);
    assert!(matches!(store.get(1), Err(GetError::Never { id: 1 })));
    assert_eq!(store.sweep().expect("nothing is swept").removed, [0_u64; 0]);
    assert!(!store.directory().exists());
}

#[test]
fn only_the_user_may_read_what_is_kept() {
    let place = place();
    let store = store(place.path());
    let id = written(&store, b"secret");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o7777;
    assert_eq!(mode(store.directory()), 0o700);
    assert_eq!(mode(&store.get(id).expect("it is there").path), 0o600);
    assert_eq!(mode(&store.directory().join("next")), 0o600);
}

#[test]
fn an_id_is_never_given_out_twice() {
    let place = place();
    let store = store(place.path());
    assert_eq!([written(&store, b"a"), written(&store, b"b")], [1, 2]);
    store.remove(2).expect("it is removed");
    store.remove(1).expect("it is removed");
    assert_eq!(written(&store, b"c"), 3);
    assert_eq!(ids(&store), [3]);
}

#[test]
fn a_garbled_counter_goes_on_behind_what_is_there() {
    let place = place();
    let store = store(place.path());
    for _ in 0..3 {
        written(&store, b"x");
    }
    for garbage in ["", "nonsense", "0", "2", "-5", "99999999999999999999", "\u{0}\u{0}"] {
        let last = *ids(&store).last().expect("there are some");
        fs::write(store.directory().join("next"), garbage).expect("it is written");
        assert_eq!(written(&store, b"x"), last + 1, "{garbage:?}");
    }
    let last = *ids(&store).last().expect("there are some");
    fs::remove_file(store.directory().join("next")).expect("it is removed");
    assert_eq!(written(&store, b"x"), last + 1);
}

#[test]
fn many_processes_and_threads_at_once_get_different_ids() {
    let place = place();
    let parts: Vec<_> = (0..4).map(|_| start("allocate", place.path(), &[])).collect();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let store = store(place.path());
            std::thread::spawn(move || (0..100).map(|_| written(&store, b"x")).collect::<Vec<_>>())
        })
        .collect();
    let mut ours: Vec<u64> = threads.into_iter().flat_map(|thread| thread.join().expect("it ends")).collect();
    for mut part in parts {
        assert!(part.wait().expect("it ends").success());
    }
    ours.sort_unstable();
    ours.dedup();
    assert_eq!(ours.len(), 400);
    assert_eq!(ids(&store(place.path())), (1..=800).collect::<Vec<_>>());
}

#[test]
fn what_is_being_written_is_neither_removed_nor_swept() {
    let place = place();
    let store = limited(place.path(), ArtifactLimits { store: ByteSize(0), ..ArtifactLimits::default() });
    let mut writer = store.create().expect("it is made");
    writer.push(b"still at it").expect("it is written");
    make_old(&writer, 30);
    let check_spared = || {
        assert!(store.get(1).expect("it is there").in_use);
        assert!(matches!(store.remove(1), Err(RemoveError::InUse { id: 1 })));
        assert_eq!(store.sweep().expect("it is swept").removed, [0_u64; 0]);
    };
    check_spared();
    // As a process with a copy of the descriptor would hold it.
    let copy = writer.file().try_clone().expect("it is copied");
    drop(writer);
    check_spared();
    drop(copy);
    assert!(!store.get(1).expect("it is there").in_use);
    assert_eq!(store.sweep().expect("it is swept").removed, [1]);
}

#[test]
fn another_writer_can_go_on_where_the_first_one_ended() {
    let place = place();
    let store = store(place.path());
    let mut writer = store.create().expect("it is made");
    assert_eq!(writer.uri(), "artifact://1");
    writer.push(b"first, ").expect("it is written");
    let copy = writer.file().try_clone().expect("it is copied");
    drop(writer);
    std::io::Write::write_all(&mut &copy, b"second").expect("it is written");
    assert_eq!(whole(&store, 1), b"first, second");
}

#[test]
fn the_old_are_swept_and_then_the_oldest_until_the_rest_fits() {
    let place = place();
    let store = limited(place.path(), ArtifactLimits { store: ByteSize::kib(250), ..ArtifactLimits::default() });
    for days in [1, 8, 3, 2, 9] {
        let mut writer = store.create().expect("it is made");
        writer.push(&vec![b'x'; 100 * 1024]).expect("it is written");
        // Some file systems count blocks only when they are on disk.
        writer.file().sync_all().expect("it is on disk");
        make_old(&writer, days);
    }
    fs::write(store.directory().join("notes.txt"), "not ours").expect("it is written");
    fs::write(store.directory().join("77.gap"), "1 2 gone").expect("it is written");
    let report = store.sweep().expect("it is swept");
    assert_eq!(report.removed, [5, 2, 3]);
    assert!(report.freed >= ByteSize::kib(300), "{}", report.freed);
    assert_eq!(ids(&store), [1, 4]);
    assert!(store.directory().join("notes.txt").exists());
    assert!(!store.directory().join("77.gap").exists());
}

#[test]
fn those_who_sweep_at_once_do_not_disturb_each_other() {
    let place = place();
    let store = limited(place.path(), ArtifactLimits { store: ByteSize(0), ..ArtifactLimits::default() });
    for _ in 0..200 {
        written(&store, b"x");
    }
    let sweepers: Vec<_> = (0..4)
        .map(|_| {
            let store = store.clone();
            std::thread::spawn(move || store.sweep().expect("it is swept").removed)
        })
        .collect();
    let mut removed: Vec<u64> = sweepers.into_iter().flat_map(|sweeper| sweeper.join().expect("it ends")).collect();
    removed.sort_unstable();
    assert_eq!(removed, (1..=200).collect::<Vec<_>>());
}

#[test]
fn a_process_suspended_at_the_wrong_time_holds_up_nobody() {
    let place = place();
    let store = store(place.path());
    written(&store, b"x");
    let counter = File::open(store.directory().join("next")).expect("it opens");
    counter.lock().expect("it is locked");
    let error = store.create().expect_err("no id can be had");
    assert!(matches!(error, CreateError::Counter { .. }), "{error:?}");
    assert_eq!(ids(&store), [1]);
    drop(counter);
    assert_eq!(written(&store, b"y"), 2);
}

#[test]
fn what_is_not_there_is_told_apart() {
    let place = place();
    let store = store(place.path());
    written(&store, b"x");
    store.remove(1).expect("it is removed");
    assert!(matches!(store.get(1), Err(GetError::Removed { id: 1 })));
    assert!(matches!(store.remove(1), Err(RemoveError::Get(GetError::Removed { id: 1 }))));
    assert!(matches!(store.get(2), Err(GetError::Never { id: 2 })));
    fs::create_dir(store.directory().join("2")).expect("it is made");
    assert!(matches!(store.get(2), Err(GetError::Unreadable { id: 2, .. })));
    std::os::unix::fs::symlink("/etc/passwd", store.directory().join("3")).expect("it is made");
    assert!(matches!(store.get(3), Err(GetError::Unreadable { id: 3, .. })));
    assert_eq!(ids(&store), [0_u64; 0]);
    assert_eq!(written(&store, b"x"), 4);
}

#[test]
fn a_file_in_the_place_of_the_directory_is_named() {
    let place = place();
    fs::write(place.path().join("artifacts"), "a file").expect("it is written");
    let store = store(place.path());
    let error = store.create().expect_err("it cannot be made");
    assert!(matches!(error, CreateError::Directory { .. }), "{error:?}");
    assert!(error.to_string().contains(&store.directory().display().to_string()), "{error}");
    assert!(store.list().is_err());
    assert!(store.sweep().is_err());
    assert!(matches!(store.get(1), Err(GetError::Unreadable { .. })));
}

#[test]
fn a_directory_that_cannot_be_written_is_named_and_can_be_read() {
    let place = place();
    written(&store(place.path()), b"from before");
    let mount = "d=$BASHFUL_TEST_PLACE && mount --bind $d $d && mount -o remount,ro,bind $d";
    check_in_mounts("read only", place.path(), mount);
}

fn read_only(place: &Path) {
    let store = store(place);
    let error = store.create().expect_err("it cannot be made");
    assert!(matches!(error, CreateError::Counter { .. }), "{error:?}");
    assert_eq!(whole(&store, 1), b"from before");
    assert_eq!(ids(&store), [1]);
    assert!(matches!(store.remove(1), Err(RemoveError::Io { .. })));
}

#[test]
fn a_full_disk_ends_the_artifact_and_nothing_else() {
    let place = place();
    check_in_mounts("fill the disk", place.path(), "mount -t tmpfs -o size=1m none $BASHFUL_TEST_PLACE");
}

fn fill_the_disk(place: &Path) {
    let store = store(place);
    let text = pattern(4 * MIB);
    let mut writer = store.create().expect("it is made");
    let failures = text.chunks(10_000).filter(|chunk| writer.push(chunk).is_err()).count();
    assert_eq!(failures, 1, "it is told once");
    let facts = writer.facts();
    assert_eq!(facts.bytes, 4 * MIB);
    assert!(facts.error.as_ref().is_some_and(|error| error.contains("No space left")), "{facts:?}");
    let kept = fs::metadata(writer.path()).expect("it is there").len();
    assert!(kept > MIB / 2, "{kept}");
    let [missing] = &facts.missing[..] else { panic!("{facts:?}") };
    assert_eq!(missing.range, kept..4 * MIB);
    drop(writer);
    let shown = whole(&store, 1);
    let kept_text = &text[..usize::try_from(kept).expect("it is small")];
    assert!(shown.starts_with(kept_text));
    let notice = String::from_utf8_lossy(&shown[kept_text.len()..]);
    assert!(notice.contains("are missing: No space left"), "{notice:?}");
    store.remove(1).expect("it is removed");
    assert_eq!(written(&store, b"there is room again"), 2);
}

#[test]
fn a_limit_on_the_length_of_files_does_not_kill_who_writes() {
    let place = place();
    let wrapper = ["sh", "-c", "ulimit -f 100 && exec \"$@\"", "sh"];
    assert!(start("short files", place.path(), &wrapper).wait().expect("it ends").success());
}

fn short_files(place: &Path) {
    let store = store(place);
    let mut writer = store.create().expect("it is made");
    assert_eq!(pattern(MIB).chunks(10_000).filter(|chunk| writer.push(chunk).is_err()).count(), 1);
    drop(writer);
    // Shells count in blocks of 512 or of 1024 bytes.
    let entry = store.get(1).expect("it is there");
    assert!([51_200, 102_400].contains(&entry.bytes), "{entry:?}");
    assert_eq!(entry.missing[0].range, entry.bytes..MIB);
    let shown = String::from_utf8(whole(&store, 1)).expect("it is text");
    let notice = format!("\n[bytes {}-{MIB} are missing: file too large]\n", entry.bytes);
    assert!(shown.ends_with(&notice), "{shown}");
}

#[test]
fn past_its_limit_an_artifact_keeps_its_beginning_and_its_newest_part() {
    let place = place();
    let store = limited(place.path(), ONE_MIB);
    let text = pattern(64 * MIB);
    let mut writer = store.create().expect("it is made");
    let mut most = 0;
    // Pieces of all lengths, some longer than everything that is kept.
    for (count, chunk) in text.chunks(3_333_333).enumerate() {
        for part in chunk.chunks([77_777, 4096, 5_000_000][count % 3]) {
            writer.push(part).expect("it is written");
            most = most.max(store.get(1).expect("it is there").on_disk.0);
        }
    }
    assert!(most <= MIB + MIB / 16, "{most}");
    let facts = writer.facts();
    assert_eq!((facts.bytes, facts.error), (64 * MIB, None));
    drop(writer);
    let entry = store.get(1).expect("it is there");
    assert_eq!((entry.bytes, &entry.missing), (64 * MIB, &facts.missing));
    let [gap] = &entry.missing[..] else { panic!("{:?}", entry.missing) };
    let gap = usize::try_from(gap.range.start).expect("it fits")..usize::try_from(gap.range.end).expect("it fits");
    assert_eq!(gap.start as u64, MIB / 2);
    assert!((text.len() - gap.end) as u64 >= MIB / 2 - MIB / 8, "{gap:?}");
    let notice = format!("[bytes {}-{} are missing: the artifact was larger than its limit]\n", gap.start, gap.end);
    let expected = [&text[..gap.start], notice.as_bytes(), &text[gap.end..]].concat();
    assert!(whole(&store, 1) == expected);
    // The file really has a hole there: the notice is not just written over text.
    let mut inside = vec![1; 1 << 20];
    File::open(&entry.path).expect("it opens").read_exact_at(&mut inside, gap.start as u64).expect("it is read");
    assert!(inside.iter().all(|byte| *byte == 0));
}

#[test]
fn where_holes_cannot_be_had_the_first_part_is_kept() {
    let place = place();
    check_in_mounts("no holes", place.path(), "mount -t ramfs none $BASHFUL_TEST_PLACE");
}

fn no_holes(place: &Path) {
    let store = limited(place, ONE_MIB);
    let text = pattern(4 * MIB);
    let mut writer = store.create().expect("it is made");
    assert_eq!(text.chunks(10_000).filter(|chunk| writer.push(chunk).is_err()).count(), 1);
    drop(writer);
    let entry = store.get(1).expect("it is there");
    assert!((MIB - MIB / 16..=MIB).contains(&entry.bytes), "{entry:?}");
    let [missing] = &entry.missing[..] else { panic!("{entry:?}") };
    assert_eq!(
        missing.to_string(),
        format!("bytes {}-{} are missing: the artifact was larger than its limit", entry.bytes, 4 * MIB)
    );
    assert!(whole(&store, 1).starts_with(&text[..usize::try_from(entry.bytes).expect("it fits")]));
}

#[test]
fn who_reads_while_holes_are_made_never_sees_them() {
    let place = place();
    let store = limited(place.path(), ONE_MIB);
    let mut writer = store.create().expect("it is made");
    std::thread::scope(|scope| {
        let writing = scope.spawn(move || {
            pattern(32 * MIB).chunks(8192).for_each(|chunk| writer.push(chunk).expect("it is written"));
        });
        while !writing.is_finished() {
            assert!(memchr::memchr(0, &whole(&store, 1)).is_none());
        }
    });
}

fn write_on_and_on(store: &ArtifactStore) {
    let mut writer = store.create().expect("it is made");
    for number in 0.. {
        writer.push(&line(number)).expect("it is written");
    }
}

/// Kills a writer once it has written so much, and returns what it leaves.
fn killed_after(bytes: u64, part: &str) -> (Vec<u8>, Vec<Gap>, u64) {
    let place = place();
    let store = store(place.path());
    let mut part = start(part, place.path(), &[]);
    while store.get(1).map_or(0, |entry| entry.bytes) < bytes {
        assert!(part.try_wait().expect("it is asked").is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    part.kill().expect("it is killed");
    part.wait().expect("it ends");
    let entry = store.get(1).expect("it is there");
    assert!(!entry.in_use);
    let text = whole(&store, 1);
    store.remove(1).expect("it is removed");
    (text, entry.missing, entry.bytes)
}

#[test]
fn a_writer_that_is_killed_leaves_what_it_wrote() {
    let (text, missing, bytes) = killed_after(100_000, "write on and on");
    assert_eq!((text.len() as u64, missing), (bytes, vec![]));
    assert!(pattern(bytes + LINE).starts_with(&text));
}

#[test]
fn a_writer_that_is_killed_past_its_limit_leaves_a_truthful_gap() {
    let (text, missing, bytes) = killed_after(3 * MIB, "write past the limit");
    let [gap] = &missing[..] else { panic!("{missing:?}") };
    let all = pattern(bytes + LINE);
    let within = |range: Range<u64>| {
        &all[usize::try_from(range.start).expect("fits")..usize::try_from(range.end).expect("fits")]
    };
    let notice = format!("[{gap}]\n");
    assert!(text == [within(0..gap.range.start), notice.as_bytes(), within(gap.range.end..bytes)].concat());
}
