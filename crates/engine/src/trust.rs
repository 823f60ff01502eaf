//! Decides if a path on disk can be trusted with state or settings.
//!
//! A user who can write to the state directory can approve commands, and one who can replace it can redirect our
//! writes. So the directory has to belong to this user alone, and nobody else may be able to replace a directory or a
//! symbolic link on the way to it. The rules are those of OpenSSH's `StrictModes`, with two differences: a shared
//! directory with the sticky bit (`/tmp`) is fine as a parent, and so is one that only the user's own private group can
//! write to.
//!
//! The home directory is the anchor: a user who can replace it does not need us. Paths below it are checked from there
//! on, other paths from the root.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use thiserror::Error;

/// Permission to write for the group and for others.
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// In a directory with this bit, only the owner of an entry can rename or remove it.
const STICKY: u32 = 0o1000;

/// As many symbolic links as Linux itself follows in one path.
const MOST_LINKS: usize = 40;

/// Reason not to use a path.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Distrust {
    /// Another user owns it, and controls it.
    #[error("{} belongs to uid {owner}, and this process is uid {us}", path.display())]
    Owner {
        /// The path itself, or a directory or symbolic link on the way to it.
        path: PathBuf,
        /// User id of the owner.
        owner: u32,
        /// Effective user id of this process.
        us: u32,
    },
    /// Other users can write to it.
    #[error("others can write to {} (mode {mode:04o})", path.display())]
    Writable {
        /// The path itself, or a directory on the way to it.
        path: PathBuf,
        /// Permissions, as `chmod` writes them.
        mode: u32,
    },
    /// The path leads to something else.
    #[error("{} is not a {wanted}", path.display())]
    Kind {
        /// The path itself, or a part of it.
        path: PathBuf,
        /// `directory` or `regular file`.
        wanted: &'static str,
    },
    /// The system does not show it.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The path itself, or a part of it.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

impl Distrust {
    /// A remedy for a person, beside using another path; none if another user owns it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Owner { .. } => None,
            Self::Writable { path, .. } => {
                Some(format!("if nobody has tampered with it, `chmod go-w {}`", path.display()))
            }
            Self::Kind { path, wanted } => Some(format!("put a {wanted} in the place of {}", path.display())),
            Self::Unreadable { path, .. } => Some(format!("check the permissions of {}", path.display())),
        }
    }

    /// The reason and the remedy, with `otherwise` as the alternative.
    pub fn advise(&self, otherwise: &str) -> String {
        let why = match self {
            Self::Unreadable { source, .. } => format!("{self}: {source}"),
            _ => self.to_string(),
        };
        match self.hint() {
            Some(hint) => format!("{why}; {hint}, or {otherwise}"),
            None => format!("{why}; {otherwise}"),
        }
    }
}

/// Role of a file or directory on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A directory on the way.
    Parent,
    /// The directory for state.
    State,
    /// A file with settings.
    Settings,
}

/// Facts about a file or directory that matter here.
#[derive(Debug, Clone, Copy)]
struct FileFacts {
    owner: u32,
    group: u32,
    mode: u32,
}

impl FileFacts {
    fn of(metadata: &Metadata) -> Self {
        Self { owner: metadata.uid(), group: metadata.gid(), mode: metadata.mode() & 0o7777 }
    }
}

/// One user's view of the system.
trait SystemView {
    /// Effective user id.
    fn uid(&self) -> u32;
    /// True if nobody else is in this group.
    fn is_private(&self, group: u32) -> bool;
    /// True if this id stands for all users that the user namespace does not map, including root outside of it.
    fn is_unmapped(&self, owner: u32) -> bool;
}

/// A reason to distrust, without its path.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    Owner,
    Writable,
}

/// Judges one file or directory.
fn judge(role: Role, facts: FileFacts, view: &impl SystemView) -> Result<(), Fault> {
    let may_own = match role {
        Role::State => facts.owner == view.uid(),
        Role::Parent | Role::Settings => facts.owner == view.uid() || facts.owner == 0 || view.is_unmapped(facts.owner),
    };
    if !may_own {
        return Err(Fault::Owner);
    }
    let writers = facts.mode & (GROUP_WRITES | OTHERS_WRITE);
    let is_fine = match role {
        _ if writers == 0 => true,
        Role::State => false,
        Role::Parent if facts.mode & STICKY != 0 => true,
        Role::Parent | Role::Settings => writers == GROUP_WRITES && view.is_private(facts.group),
    };
    if is_fine { Ok(()) } else { Err(Fault::Writable) }
}

fn judge_at(path: &Path, role: Role, metadata: &Metadata, view: &impl SystemView) -> Result<(), Distrust> {
    let wanted = if role == Role::Settings { "regular file" } else { "directory" };
    let is_kind = if role == Role::Settings { metadata.is_file() } else { metadata.is_dir() };
    if !is_kind {
        return Err(Distrust::Kind { path: path.to_path_buf(), wanted });
    }
    let facts = FileFacts::of(metadata);
    judge(role, facts, view).map_err(|fault| match fault {
        Fault::Owner => Distrust::Owner { path: path.to_path_buf(), owner: facts.owner, us: view.uid() },
        Fault::Writable => Distrust::Writable { path: path.to_path_buf(), mode: facts.mode },
    })
}

/// Checks that only this user can write to a directory and to these directories in it, and that nobody else can replace
/// it. Missing ones are fine; [`make_directory`] creates them later.
///
/// A missing directory in a shared one (`/tmp`) is created at once, before another user does it.
pub fn trust_directory(path: &Path, home: Option<&Path>, parts: &[&str]) -> Result<(), Distrust> {
    Walk { home, role: Role::State, view: &ThisSystem }.to(path)?;
    for part in parts {
        let part = path.join(part);
        match part.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() || metadata.is_symlink() => {
                judge_at(&part, Role::State, &metadata, &ThisSystem)?;
            }
            // Anything else leads nowhere: users of that part learn that it is not a directory.
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(Distrust::Unreadable { path: part, source }),
        }
    }
    Ok(())
}

/// Checks that only this user and root can change a file with settings. A missing one is fine.
pub fn trust_settings(path: &Path, home: Option<&Path>) -> Result<(), Distrust> {
    Walk { home, role: Role::Settings, view: &ThisSystem }.to(path)
}

/// The user and the group of the first part of a path that does not belong to root, if this process is root. This user
/// can put links into everything below it.
pub fn owner_below_root(path: &Path) -> Option<(u32, u32)> {
    let belongs_to_root = |facts: &Metadata| facts.uid() == 0 || ThisSystem.is_unmapped(facts.uid());
    if ThisSystem.uid() != 0 {
        return None;
    }
    let prefixes = path.ancestors().collect::<Vec<_>>().into_iter().rev();
    // Root's own links are followed.
    let facts = prefixes.flat_map(|prefix| [prefix.symlink_metadata(), prefix.metadata()]).flatten();
    facts.into_iter().find(|facts| !belongs_to_root(facts)).map(|facts| (facts.uid(), facts.gid()))
}

/// Creates a directory for this user alone, whatever the umask is, and missing ones above it. An existing one has to
/// belong to this user, and nobody else may write to it.
pub fn make_directory(path: &Path) -> io::Result<()> {
    let metadata = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_missing(path)?;
            path.symlink_metadata()?
        }
        looked => looked?,
    };
    judge_at(path, Role::State, &metadata, &ThisSystem)
        .map_err(|why| io::Error::new(io::ErrorKind::PermissionDenied, why.advise("use another directory")))
}

/// Creates a directory and missing ones above it for this user alone, whatever the umask is. Existing ones stay as they
/// are.
pub(crate) fn make_missing(path: &Path) -> io::Result<()> {
    let try_once = || DirBuilder::new().mode(0o700).create(path);
    let mut made = try_once();
    if made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        && let Some(parent) = path.parent()
    {
        make_missing(parent)?;
        made = try_once();
    }
    match made {
        // A umask may have taken permissions from the owner.
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(0o700)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// A walk along a path, over the directories and symbolic links that lead to its end.
struct Walk<'a, V> {
    home: Option<&'a Path>,
    /// Role of the last part; all others are parents.
    role: Role,
    view: &'a V,
}

impl<V: SystemView> Walk<'_, V> {
    fn to(&self, path: &Path) -> Result<(), Distrust> {
        let mut rest = Vec::new();
        let mut current = self.begin(path, &mut rest)?;
        let mut links = 0;
        while let Some(part) = rest.pop() {
            if part == ".." {
                current.pop();
                continue;
            }
            let next = current.join(&part);
            let unreadable = |source| Distrust::Unreadable { path: next.clone(), source };
            let metadata = match next.symlink_metadata() {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if !self.claim(&current, &next)? {
                        return Ok(());
                    }
                    rest.push(part);
                    continue;
                }
                Err(error) => return Err(unreadable(error)),
            };
            if metadata.is_symlink() {
                self.judge_link(&next, &metadata)?;
                links += 1;
                if links > MOST_LINKS {
                    return Err(unreadable(rustix::io::Errno::LOOP.into()));
                }
                let target = fs::read_link(&next).map_err(unreadable)?;
                if target.is_absolute() {
                    current = self.begin(&target, &mut rest)?;
                } else {
                    push_parts(&target, &mut rest);
                }
                continue;
            }
            judge_at(&next, if rest.is_empty() { self.role } else { Role::Parent }, &metadata, self.view)?;
            current = next;
        }
        Ok(())
    }

    /// Returns the directory from which a path is checked. Pushes the parts after it, the last one first.
    fn begin(&self, path: &Path, rest: &mut Vec<OsString>) -> Result<PathBuf, Distrust> {
        let below_home = self.home.and_then(|home| Some((home, path.strip_prefix(home).ok()?)));
        let (base, below) = below_home.unwrap_or((Path::new("/"), path));
        push_parts(below, rest);
        let metadata = base.metadata();
        let metadata = metadata.map_err(|source| Distrust::Unreadable { path: base.to_path_buf(), source })?;
        judge_at(base, Role::Parent, &metadata, self.view)?;
        let owner = metadata.uid();
        // A directory of root would do as a parent. But as a home it belongs to somebody else, unless root has prepared
        // it for us.
        let is_prepared = || match self.role {
            Role::Settings => true,
            _ => path.symlink_metadata().is_ok_and(|facts| facts.uid() == self.view.uid()),
        };
        if below_home.is_some() && owner != self.view.uid() && !is_prepared() {
            return Err(Distrust::Owner { path: base.to_path_buf(), owner, us: self.view.uid() });
        }
        Ok(base.to_path_buf())
    }

    /// Judges a symbolic link by its owner alone: it has no permissions.
    fn judge_link(&self, path: &Path, metadata: &Metadata) -> Result<(), Distrust> {
        let facts = FileFacts { mode: 0, ..FileFacts::of(metadata) };
        judge(Role::Parent, facts, self.view).map_err(|_| Distrust::Owner {
            path: path.to_path_buf(),
            owner: facts.owner,
            us: self.view.uid(),
        })
    }

    /// Creates a missing directory for state if others could create one there too. True if it exists now.
    fn claim(&self, parent: &Path, missing: &Path) -> Result<bool, Distrust> {
        let unreadable = |source| Distrust::Unreadable { path: missing.to_path_buf(), source };
        let mode = parent.metadata().map_err(unreadable)?.mode();
        if self.role != Role::State || mode & (GROUP_WRITES | OTHERS_WRITE) == 0 {
            return Ok(false);
        }
        match make_missing(missing) {
            Ok(()) => Ok(true),
            // Nobody can create it, and a later write reports the error.
            Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => Ok(false),
            Err(error) => Err(unreadable(error)),
        }
    }
}

/// Pushes the names and `..` of a path, the last one first.
fn push_parts(path: &Path, rest: &mut Vec<OsString>) {
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    rest.extend(parts.map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>().into_iter().rev());
}

/// This process, on this machine.
struct ThisSystem;

impl SystemView for ThisSystem {
    fn uid(&self) -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn is_private(&self, group: u32) -> bool {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        is_private_group(
            group,
            self.uid(),
            rustix::process::getegid().as_raw(),
            &text("/etc/passwd"),
            &text("/etc/group"),
        )
    }

    fn is_unmapped(&self, owner: u32) -> bool {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        text("/proc/sys/kernel/overflowuid").trim().parse() == Ok(owner) && !maps_everybody(&text("/proc/self/uid_map"))
    }
}

/// True if this user is the only one in this group, by the two files of the system. A group that they do not list may
/// have any members, unless it is this process's own, as in a container that runs by numbers.
fn is_private_group(group: u32, uid: u32, own_group: u32, passwd: &str, groups: &str) -> bool {
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u32>().ok());
    let mut name = None;
    for line in passwd.lines() {
        let mut fields = line.split(':');
        let user = fields.next();
        let (of_user, of_group) = (number(fields.nth(1)), number(fields.next()));
        if of_user == Some(uid) {
            name = name.or(user);
        } else if of_group == Some(group) {
            return false;
        }
    }
    let listed = groups.lines().find(|line| number(line.split(':').nth(2)) == Some(group));
    let Some(listed) = listed else { return group == own_group && group == uid };
    let members = listed.split(':').nth(3);
    members.is_some_and(|members| members.split(',').all(|member| member.is_empty() || Some(member) == name))
}

/// True for the first user namespace of a machine, in which every user has their own id.
fn maps_everybody(uid_map: &str) -> bool {
    uid_map.split_ascii_whitespace().eq(["0", "0", "4294967295"])
}

#[cfg(test)]
mod tests;
