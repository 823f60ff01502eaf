//! Opens bashful's own files and directories, in places where somebody else may have planted something.
//!
//! No call here follows a symbolic link in the last part of a path, and no call waits: a pipe, a socket or a device in
//! place of a file is an error. The permissions of a new entry do not depend on the umask.
//!
//! Invariant: a file opened here is a regular file of this user, and one opened for writing has no other name.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;

/// Permissions of a new file: for its owner alone.
const FILE_MODE: u32 = 0o600;

/// Opens a file for reading.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(File::options().read(true), path)
}

/// Opens a file with these options. They must not truncate, because the checks come after the system has opened the
/// file.
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // A pipe without a writer would make `open` wait. A terminal could become the controlling one of this process.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options.mode(FILE_MODE).custom_flags(flags.bits().cast_signed()).open(path)?;
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if facts.uid() != geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file belongs to another user"));
    }
    let flags = rustix::fs::fcntl_getfl(&file)?;
    if flags.intersects(OFlags::WRONLY | OFlags::RDWR) {
        if facts.nlink() > 1 {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file has a second name (a hard link)"));
        }
        if facts.mode() & FILE_MODE != FILE_MODE {
            // The file was made just now, under a umask that would lock out its owner.
            file.set_permissions(Permissions::from_mode(FILE_MODE))?;
        }
    }
    // Commands may inherit the descriptor.
    rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Creates a file for writing. Removes an older entry of that name first, but not the target of a link.
pub fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    open_with(File::options().write(true).create_new(true), path)
}

/// Reads a whole file of bytes.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a whole file as UTF-8 text.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Replaces a file, as [`create`] does, with these bytes.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create(path)?.write_all(bytes)
}

/// Opens a directory, as a handle for its entries.
pub fn open_directory(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    #[track_caller]
    fn check_refused(plant: impl FnOnce(&Path)) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        plant(&path);
        assert!(open(&path).is_err(), "for reading");
        assert!(open_with(File::options().read(true).append(true).create(true), &path).is_err(), "for writing");
        write(&path, b"new").expect("its name can be taken");
        assert_eq!(read(&path).expect("it is a file now"), b"new");
    }

    #[test]
    fn a_link_is_not_followed_and_its_target_stays() {
        let directory = tempfile::tempdir().expect("a directory");
        let victim = directory.path().join("victim");
        fs::write(&victim, "precious").expect("it is written");
        check_refused(|path| symlink(&victim, path).expect("a link"));
        check_refused(|path| symlink(directory.path().join("nothing"), path).expect("a link"));
        assert_eq!(fs::read(&victim).expect("it is there"), b"precious");
        assert!(!directory.path().join("nothing").exists());
    }

    #[test]
    fn a_pipe_or_a_socket_is_refused_at_once() {
        check_refused(|path| {
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, path, kind, rustix::fs::Mode::from(0o600), 0).expect("a pipe");
        });
        check_refused(|path| drop(UnixListener::bind(path).expect("a socket")));
    }

    #[test]
    fn a_second_name_is_read_and_never_written_to() {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, victim) = (directory.path().join("file"), directory.path().join("victim"));
        fs::write(&victim, "precious").expect("it is written");
        fs::hard_link(&victim, &path).expect("a second name");
        assert_eq!(read(&path).expect("readable"), b"precious");
        assert!(open_with(File::options().append(true), &path).is_err());
        write(&path, b"new").expect("its name can be taken");
        assert_eq!(fs::read(&victim).expect("it is there"), b"precious");
    }

    #[test]
    fn a_link_to_a_directory_is_not_opened() {
        let directory = tempfile::tempdir().expect("a directory");
        let link = directory.path().join("link");
        symlink(directory.path(), &link).expect("a link");
        open_directory(directory.path()).expect("a directory");
        assert!(open_directory(&link).is_err());
    }
}
