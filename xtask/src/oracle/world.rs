//! The little world: copies of programs and their libraries, recorders, and stand-ins for missing programs.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::recorder::{ACTING, IDLE, REAL, RECORDER};
use crate::{Done, print};

/// Makes home, repositories and system directories, from the inside.
pub(super) const SCRIPT: &str = include_str!("world/world.sh");
/// Stand-ins for programs that run other programs: `sudo`, `ssh`, `npx` and so on. Each begins with a line `#: NAMES`.
const RUNNERS: &str = include_str!("world/runners.sh");
/// Programs that a script may call for and that matter for nothing. They succeed and do nothing.
const QUIET: &str = "cargo rustc rustup npm yarn pnpm bun deno docker docker-compose podman kubectl helm terraform systemctl service \
    apt apt-get dnf brew pip pip3 pytest ruff black mypy tsc eslint prettier jest vitest go gradle mvn cmake ninja gcc g++ cc clang curl wget gh glab \
    aws gcloud az rsync scp journalctl dpkg mount umount ping nc lsof ps free uptime psql mysql redis-cli sqlite3 code open xdg-open less more man \
    pre-commit tox nox alembic rails php composer dotnet";
/// Programs that are copied from this machine. The ones that it lacks are left out, and named.
const COPIED: &str = "bash dash sh cat cp mv ln ls mkdir rmdir touch head tail wc sort uniq cut paste tr tee tac rev nl fold fmt seq shuf split \
    comm join expand basename dirname readlink realpath mktemp date true false test [ expr env printenv echo printf yes nproc \
    pwd whoami id groups hostname uname stat du df sync truncate dd shred unlink install link mkfifo od hexdump xxd base64 base32 md5sum \
    sha1sum sha256sum cksum numfmt factor timeout nice nohup stdbuf setsid flock taskset ionice chrt find xargs grep egrep fgrep sed awk mawk gzip \
    gunzip zcat bzip2 xz tar diff cmp patch file which tty stty tput clear getopt column logger kill pgrep run-parts tempfile envsubst csplit tsort pathchk \
    perl python3 jq make ed tclsh node bc strings";
/// Prints the directories that the copied programs need. A program that is missing here has none.
const DIRECTORIES: &str = r#"
PATH=/usr/bin:/bin
printf '%s\n' /usr/libexec/coreutils /usr/lib/locale/C.utf8
python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))'
perl -MConfig -e 'print "$_\n" for @Config{qw(privlibexp archlibexp)}, grep /perl-base/, @INC'
echo 'puts $tcl_library' | tclsh
"#;
/// Copies one of them, without its tests and caches.
const COPY: &str = r#"tar -C "$0" --exclude=__pycache__ --exclude=test --exclude='config-3*' --exclude=unicore -cf - . | tar -C "$1" -xf - --no-same-owner"#;

/// Fills `STAGE/base` and `STAGE/dev`.
pub(super) fn build(stage: &Path) -> Done {
    let base = stage.join("base");
    for directory in [
        "usr/bin",
        "usr/sbin",
        "usr/lib",
        "usr/lib64",
        "usr/local/bin",
        "proc",
        "dev",
        "tmp",
        "usr/share/git-core/templates/hooks",
        "usr/share/git-core/templates/info",
        ".oracle/real",
        ".oracle/log",
    ] {
        fs::create_dir_all(base.join(directory))?;
    }
    fs::set_permissions(base.join("tmp"), fs::Permissions::from_mode(0o1777))?;
    for name in ["bin", "sbin", "lib", "lib64"] {
        symlink(format!("usr/{name}"), base.join(name))?;
    }
    devices(&stage.join("dev"))?;
    programs(&base)?;
    stand_ins(&base)
}

fn devices(dev: &Path) -> Done {
    fs::create_dir(dev)?;
    rustix::mount::mount("tmpfs", dev, "tmpfs", rustix::mount::MountFlags::NOSUID, c"size=64k,mode=755")?;
    for name in ["null", "zero", "full", "random", "urandom"] {
        fs::write(dev.join(name), "")?;
        rustix::mount::mount_bind(Path::new("/dev").join(name), dev.join(name))?;
    }
    symlink("/proc/self/fd", dev.join("fd"))?;
    for (number, name) in ["stdin", "stdout", "stderr"].iter().enumerate() {
        symlink(format!("/proc/self/fd/{number}"), dev.join(name))?;
    }
    Ok(())
}

/// Copies programs, under the names by which they are called, with their libraries.
fn programs(base: &Path) -> Done {
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    let put = |name: &str, to: PathBuf, files: &mut BTreeSet<PathBuf>| -> Done {
        // A shim in front of the real program needs its whole installation; the directories of the system have none.
        let places = ["/usr/bin", "/bin", "/usr/sbin", "/usr/local/bin"].map(|place| Path::new(place).join(name));
        let Some(real) = places.iter().find_map(|path| fs::canonicalize(path).ok()) else {
            print::talk(&format!("this machine has no {name}: scripts that call it do nothing"));
            return Ok(());
        };
        fs::copy(&real, to)?;
        files.insert(real);
        Ok(())
    };
    for name in COPIED.split_whitespace() {
        put(name, base.join("usr/bin").join(name), &mut files)?;
    }
    for name in ACTING {
        put(name, base.join(REAL.trim_start_matches('/')).join(name), &mut files)?;
    }
    for name in ["zsh", "ksh"] {
        symlink("bash", base.join("usr/bin").join(name))?;
    }
    let listed = Command::new("ldd").args(&files).output()?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let libraries: BTreeSet<&str> =
        listed.split_whitespace().filter(|word| word.starts_with('/') && !word.ends_with(':')).collect();
    for library in libraries {
        let to = base.join(library.trim_start_matches('/'));
        fs::create_dir_all(to.parent().ok_or("a library without a directory")?)?;
        fs::copy(library, to)?;
    }
    let asked = Command::new("bash").args(["-c", DIRECTORIES]).output()?;
    let asked = String::from_utf8_lossy(&asked.stdout).into_owned();
    for directory in asked.lines().map(Path::new).filter(|directory| directory.is_absolute() && directory.exists()) {
        let to = base.join(directory.strip_prefix("/")?);
        fs::create_dir_all(&to)?;
        Command::new("bash").args(["-c", COPY]).arg(directory).arg(&to).status()?;
    }
    exec_path(base)
}

/// Gives git its own directory of programs. `git` itself is not there, so that commands that git starts are recorded, too.
fn exec_path(base: &Path) -> Done {
    let path = Command::new(base.join(REAL.trim_start_matches('/')).join("git")).arg("--exec-path").output()?;
    let path = String::from_utf8_lossy(&path.stdout).trim().to_owned();
    let to = base.join(path.trim_start_matches('/'));
    fs::create_dir_all(&to)?;
    for name in ["git-receive-pack", "git-upload-pack", "git-upload-archive"] {
        symlink(format!("{REAL}/git"), to.join(name))?;
    }
    for name in ["git-sh-setup", "git-sh-i18n", "git-submodule", "git-filter-branch", "git-bisect", "git-subtree"] {
        let _ = fs::copy(Path::new(&path).join(name), to.join(name));
    }
    Ok(())
}

/// Writes recorders and stand-ins.
fn stand_ins(base: &Path) -> Done {
    fs::copy(std::env::current_exe()?, base.join(RECORDER.trim_start_matches('/')))?;
    let write = |name: &str, text: &str| -> Done {
        let path = base.join("usr/bin").join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(())
    };
    for name in ACTING.into_iter().chain(IDLE) {
        write(name, &format!("#!{RECORDER} {name}\n"))?;
    }
    for name in QUIET.split_whitespace() {
        write(name, "#!/bin/bash\nexit 0\n")?;
    }
    for text in RUNNERS.split("\n#: ").skip(1) {
        let (names, body) = text.split_once('\n').ok_or("a stand-in without a body")?;
        for name in names.split_whitespace() {
            write(name, &format!("#!/bin/bash\n{body}\n"))?;
        }
    }
    Ok(())
}
