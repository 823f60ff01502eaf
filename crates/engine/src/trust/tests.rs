use super::*;
use std::os::unix::fs::symlink;

/// A user whose private group has the same number.
struct User(u32);

impl SystemView for User {
    fn uid(&self) -> u32 {
        self.0
    }

    fn is_private(&self, group: u32) -> bool {
        group == self.0
    }

    fn is_unmapped(&self, owner: u32) -> bool {
        owner == 65534
    }
}

const ROLES: [Role; 3] = [Role::Parent, Role::State, Role::Settings];

#[track_caller]
fn check(owner: u32, group: u32, mode: u32, us: u32, expected: &[Result<(), Fault>; 3]) {
    let judged = ROLES.map(|role| judge(role, FileFacts { owner, group, mode }, &User(us)));
    assert_eq!(judged, *expected, "owner {owner}, group {group}, mode {mode:o}, seen by {us}");
}

const FINE: Result<(), Fault> = Ok(());
const OWNER: Result<(), Fault> = Err(Fault::Owner);
const WRITABLE: Result<(), Fault> = Err(Fault::Writable);

#[test]
fn state_belongs_to_its_user_alone_and_parents_may_be_roots() {
    check(1000, 1000, 0o700, 1000, &[FINE, FINE, FINE]);
    check(1000, 1000, 0o755, 1000, &[FINE, FINE, FINE]);
    check(0, 0, 0o755, 1000, &[FINE, OWNER, FINE]);
    check(0, 0, 0o755, 0, &[FINE, FINE, FINE]);
    check(1001, 1000, 0o700, 1000, &[OWNER, OWNER, OWNER]);
    // `sudo -E`: root sees what a user owns.
    check(1000, 1000, 0o700, 0, &[OWNER, OWNER, OWNER]);
    // In a user namespace, root outside of it has this number.
    check(65534, 65534, 0o755, 1000, &[FINE, OWNER, FINE]);
}

#[test]
fn permission_to_write_counts_unless_it_is_sticky_or_of_a_private_group() {
    check(0, 0, 0o1777, 1000, &[FINE, OWNER, WRITABLE]);
    check(0, 0, 0o777, 1000, &[WRITABLE, OWNER, WRITABLE]);
    check(1000, 1000, 0o775, 1000, &[FINE, WRITABLE, FINE]);
    check(1000, 100, 0o775, 1000, &[WRITABLE, WRITABLE, WRITABLE]);
    check(1000, 1000, 0o777, 1000, &[WRITABLE, WRITABLE, WRITABLE]);
    check(1000, 1000, 0o702, 1000, &[WRITABLE, WRITABLE, WRITABLE]);
    check(1000, 1000, 0o1777, 1000, &[FINE, WRITABLE, WRITABLE]);
}

#[test]
fn a_group_is_private_if_nobody_else_is_in_it() {
    let passwd = "root:x:0:0::/root:/bin/sh\nme:x:1000:1000::/home/me:/bin/sh\nyou:x:1001:100::/home/you:/bin/sh\n";
    let groups = "root:x:0:\nusers:x:100:\nme:x:1000:\nteam:x:200:me,you\nmine:x:201:me\n";
    let private = |group| is_private_group(group, 1000, 1000, passwd, groups);
    assert!(private(1000) && private(201));
    assert!(!private(100), "it is somebody's first group");
    assert!(!private(200), "it has another member");
    assert!(!private(300), "nobody knows who is in it");
    // Only numbers, as in a container: our own group is ours, and no other.
    assert!(is_private_group(1000, 1000, 1000, "", ""));
    assert!(!is_private_group(1000, 1000, 7, "", "") && !is_private_group(7, 1000, 7, "", ""));
}

#[test]
fn only_the_first_user_namespace_maps_everybody() {
    assert!(maps_everybody("         0          0 4294967295\n"));
    assert!(!maps_everybody("         0       1000          1\n"));
    assert!(!maps_everybody(""));
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().expect("it is there").mode() & 0o7777
}

#[test]
fn a_parent_that_others_can_write_to_is_refused_unless_it_is_sticky() {
    let outer = tempfile::tempdir().expect("a directory");
    let shared = outer.path().join("shared");
    fs::create_dir(&shared).expect("made");
    chmod(&shared, 0o777);
    let state = shared.join("a/state");
    assert!(matches!(trust_directory(&state, None, &[]), Err(Distrust::Writable { path, .. }) if path == shared));
    assert!(!shared.join("a").exists());
    chmod(&shared, 0o1777);
    trust_directory(&state, None, &[]).expect("nobody can take it away");
    assert_eq!(mode(&shared.join("a")), 0o700, "made before somebody else makes it");
    assert!(!state.exists(), "the rest is made when it is needed");
    make_directory(&state).expect("made");
    chmod(&state, 0o770);
    assert!(matches!(trust_directory(&state, None, &[]), Err(Distrust::Writable { path, .. }) if path == state));
    assert!(make_directory(&state).is_err());
}

#[test]
fn the_home_directory_is_the_anchor() {
    let outer = tempfile::tempdir().expect("a directory");
    chmod(outer.path(), 0o777);
    let home = outer.path().join("home");
    fs::create_dir(&home).expect("made");
    let state = home.join("state");
    assert!(trust_directory(&state, None, &[]).is_err());
    trust_directory(&state, Some(&home), &[]).expect("it counts from the home directory on");
    chmod(&home, 0o777);
    assert!(trust_directory(&state, Some(&home), &[]).is_err());
}

#[test]
fn a_link_of_ones_own_is_followed_and_a_part_that_is_one_is_not() {
    let outer = tempfile::tempdir().expect("a directory");
    let (real, link) = (outer.path().join("real"), outer.path().join("link"));
    fs::create_dir(&real).expect("made");
    symlink("real", &link).expect("a link");
    trust_directory(&link.join("state"), None, &["jobs"]).expect("only trust decides");
    make_directory(&link.join("state")).expect("made");
    symlink(&real, link.join("state/jobs")).expect("a link");
    let refused = trust_directory(&link.join("state"), None, &["jobs"]);
    assert!(matches!(refused, Err(Distrust::Kind { wanted: "directory", .. })), "{refused:?}");
    symlink("b", outer.path().join("a")).expect("a link");
    symlink("a", outer.path().join("b")).expect("a link");
    assert!(trust_directory(&outer.path().join("a"), None, &[]).is_err(), "it leads nowhere");
}

#[test]
fn settings_may_be_a_link_and_nobody_else_may_write_to_them() {
    let outer = tempfile::tempdir().expect("a directory");
    let (file, link) = (outer.path().join("file"), outer.path().join("link"));
    trust_settings(&link, None).expect("there are none");
    fs::write(&file, "").expect("written");
    symlink(&file, &link).expect("a link");
    chmod(&file, 0o644);
    trust_settings(&link, None).expect("dotfiles are often links");
    chmod(&file, 0o646);
    assert!(matches!(trust_settings(&link, None), Err(Distrust::Writable { path, .. }) if path == file));
    assert!(matches!(trust_settings(outer.path(), None), Err(Distrust::Kind { .. })));
}

#[test]
fn what_belongs_to_another_user_is_named_with_its_owner() {
    let outer = tempfile::tempdir().expect("a directory");
    let state = outer.path().join("state");
    fs::create_dir(&state).expect("made");
    let us = outer.path().metadata().expect("facts").uid();
    // Seen by somebody else, whoever runs the test.
    let walk = Walk { home: None, role: Role::State, view: &User(us + 1) };
    let refused = walk.to(&state);
    let other = u32::from(us != 0) * us;
    match refused {
        // Root's directory is no reason to stop on the way, and ours is.
        Err(Distrust::Owner { owner, us: seen_by, .. }) => assert_eq!((owner, seen_by), (other, us + 1)),
        refused => panic!("{refused:?}"),
    }
}
