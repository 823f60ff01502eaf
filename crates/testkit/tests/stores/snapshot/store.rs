//! Storing, using and renewing a snapshot.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use bashful_engine::{Engine, NoSnapshot};
use bashful_testkit::Place;

use super::{files, home, says, working};

/// Counts how often it is read.
const COUNTING: &str = "echo read >>~/count\nalias word='echo one'\n";

fn reads(place: &Place) -> usize {
    std::fs::read_to_string(place.path().join("count")).unwrap_or_default().lines().count()
}

fn mode(path: &Path) -> u32 {
    path.metadata().expect("it is there").permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_are_read_once_and_again_when_they_change() {
    let place = home(COUNTING);
    let engine = working(&place).await;
    for _ in 0..3 {
        assert_eq!(says(&engine, "word").await, "one\n");
        assert_eq!(says(&working(&place).await, "word").await, "one\n");
    }
    assert_eq!(reads(&place), 1);
    let [file] = &files(&place)[..] else { panic!("{:?}", files(&place)) };
    assert_eq!((mode(file), mode(file.parent().expect("a directory"))), (0o600, 0o700));

    std::fs::write(place.path().join(".bashrc"), COUNTING.replace("one", "two")).expect("a file");
    assert_eq!(says(&engine, "word").await, "two\n");
    assert_eq!(reads(&place), 2);
    // A file that it may read in turn.
    std::fs::write(place.path().join(".bash_aliases"), "").expect("a file");
    assert_eq!(says(&engine, "word").await, "two\n");
    assert_eq!(reads(&place), 3);
    std::fs::remove_file(place.path().join(".bashrc")).expect("a file");
    assert_eq!(says(&engine, "word 2>/dev/null; echo $?").await, "127\n");
    assert_eq!(engine.why_no_snapshot(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_the_rc_file_names_is_watched() {
    let place = home("[ -r ~/more ] && . ~/more\nalias word='echo one'\n");
    let engine = working(&place).await;
    std::fs::write(place.path().join("more"), "alias more='echo more'\n").expect("a file");
    assert_eq!(says(&engine, "more").await, "more\n");
    std::fs::write(place.path().join("more"), "alias more='echo else'\n").expect("a file");
    assert_eq!(says(&engine, "more").await, "else\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_variables_have_a_snapshot_of_their_own() {
    let mut place = home("export GREETING=\"${GREETING:-hello}\"\nexport PATH=\"$PATH:/more\"\n");
    let script = "echo $GREETING ${PATH##*:}";
    assert_eq!(says(&working(&place).await, script).await, "hello /more\n");
    place.options.host_environment.push(("GREETING".into(), "good evening".into()));
    assert_eq!(says(&working(&place).await, script).await, "good evening /more\n");
    assert_eq!(files(&place).len(), 2);
    // Variables that differ between terminals do not count.
    place.options.host_environment.push(("WINDOWID".into(), "7".into()));
    working(&place).await;
    assert_eq!(files(&place).len(), 2);
}

/// Does something to the file of a snapshot, after which it must not be sourced.
async fn check_not_used(spoil: impl FnOnce(&Path)) {
    let place = home(COUNTING);
    working(&place).await;
    let file = files(&place).remove(0);
    spoil(&file);
    let engine = working(&place).await;
    assert_eq!(says(&engine, "word; echo ${SPOILED-no}").await, "one\nno\n");
    assert_eq!(reads(&place), 2);
    assert_eq!((files(&place), mode(&file)), (vec![file], 0o600));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_as_it_was_written_is_not_used() {
    check_not_used(|file| {
        let text = std::fs::read(file).expect("readable");
        std::fs::write(file, [&text, &b"SPOILED=yes\n"[..]].concat()).expect("writable");
    })
    .await;
    check_not_used(|file| {
        let text = std::fs::read(file).expect("readable");
        std::fs::write(file, &text[..text.len() / 2]).expect("writable");
    })
    .await;
    check_not_used(|file| std::fs::write(file, "SPOILED=yes\n").expect("writable")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_others_may_read_or_write_is_not_used() {
    check_not_used(|file| set_mode(file, 0o620)).await;
    check_not_used(|file| set_mode(file, 0o604)).await;
    check_not_used(|file| {
        let aside = file.with_extension("aside");
        std::fs::rename(file, &aside).expect("it is ours");
        symlink(&aside, file).expect("a link");
        // The directory is looked at in the end, and this is not ours.
        std::fs::remove_file(aside).expect("it is ours");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_gone_is_made_again_while_the_engine_lives() {
    let place = home(COUNTING);
    let engine = working(&place).await;
    std::fs::remove_dir_all(place.path().join("snapshots")).expect("it is ours");
    assert_eq!(says(&engine, "word").await, "one\n");
    assert_eq!(reads(&place), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_others_may_write_to_is_not_used() {
    let place = home(COUNTING);
    working(&place).await;
    let directory = place.path().join("snapshots");
    set_mode(&directory, 0o770);
    let engine = place.engine();
    engine.refresh_snapshot().await;
    let why = engine.why_no_snapshot().expect("somebody is told");
    assert_eq!(says(&engine, "word 2>/dev/null; echo $?").await, "127\n");
    assert!(why.notice().contains("others can write to"), "{}", why.notice());
    assert!(why.notice().contains(&directory.display().to_string()), "{}", why.notice());
    assert_eq!(engine.why_no_snapshot(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_can_be_kept_commands_run_without() {
    let mut place = home(COUNTING);
    super::options(&mut place).directory = place.path().join(".bashrc/snapshots");
    let engine = place.engine();
    engine.refresh_snapshot().await;
    assert!(matches!(engine.why_no_snapshot(), Some(NoSnapshot::System { .. })));
    assert_eq!(says(&engine, "word 2>/dev/null; echo $?").await, "127\n");
    // In this engine it is not tried again at once. The rc files are not read for nothing.
    assert_eq!(says(&engine, "word 2>/dev/null; echo $?").await, "127\n");
    assert_eq!((reads(&place), engine.why_no_snapshot()), (0, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_do_not_trip_over_each_other() {
    let place = home("sleep 0.05\nalias word='echo one'\n");
    let engines: Vec<Engine> = (0..6).map(|_| place.engine()).collect();
    let all: Vec<_> = engines
        .iter()
        .flat_map(|engine| [engine.clone(), engine.clone()])
        .map(|engine| tokio::spawn(async move { says(&engine, "word").await }))
        .collect();
    for one in all {
        assert_eq!(one.await.expect("it goes well"), "one\n");
    }
    assert_eq!(files(&place).len(), 1, "{:?}", files(&place));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_leaves_nothing_behind() {
    let place = home("touch ~/begun\nsleep 1000\n");
    let engine = place.engine();
    let call = tokio::spawn(async move { engine.refresh_snapshot().await });
    place.wait_for("begun");
    call.abort();
    place.check_nothing_survives();
    assert_eq!(files(&place), [""; 0].map(std::path::PathBuf::from));
}

#[tokio::test(flavor = "multi_thread")]
async fn old_files_are_swept() {
    let place = home(COUNTING);
    working(&place).await;
    let directory = place.path().join("snapshots");
    for name in ["old.sh", "old.failed", "1-1.new", "somebody.else"] {
        std::fs::write(directory.join(name), "").expect("a file");
        let long_ago = std::time::SystemTime::now() - Duration::from_hours(72);
        std::fs::File::open(directory.join(name)).and_then(|file| file.set_modified(long_ago)).expect("it is ours");
    }
    std::fs::write(place.path().join(".bashrc"), "alias word='echo two'\n").expect("a file");
    working(&place).await;
    let names: Vec<_> = files(&place).iter().filter_map(|file| file.file_name()?.to_str().map(str::to_owned)).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.contains(&"somebody.else".to_owned()), "{names:?}");
}
