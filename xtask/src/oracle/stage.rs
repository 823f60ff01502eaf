//! The namespaces in which the little world is built and scripts are run in cells.
//!
//! A root user becomes `nobody` first, so that even an escape from every namespace would find nothing to write to. The stage
//! is root of its own user namespace alone: no network, no processes of the host, and a tmpfs for all that is written.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::mount::MountFlags;
use serde_json::{Value, json};

use super::{CELL, STAGE, world};
use crate::{Done, print};

/// Runs its words without the descriptors that the caller of this program may have left open.
const CLOSED: &str = r#"for fd in /proc/self/fd/*; do ((${fd##*/} > 2)) && eval "exec ${fd##*/}>&-"; done; exec "$@""#;

/// Runs scripts, each in a fresh world, and returns their outcomes, in the order of the scripts.
pub(super) fn run(scripts: &[&str]) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let program = place.path().join("xtask");
    fs::copy(std::env::current_exe()?, &program)?;
    for path in [place.path(), &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    fs::create_dir(place.path().join("stage"))?;
    let mut stage = Command::new("bash");
    stage.args(["-c", CLOSED, "bash"]).current_dir("/");
    if rustix::process::getuid().is_root() {
        stage.args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    stage.args([
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "--net",
        "--ipc",
        "--uts",
        "--pid",
        "--fork",
        "--kill-child",
    ]);
    stage.arg(&program).args(["guard", STAGE]).arg(place.path().join("stage"));
    let mut stage = stage.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = stage.stdin.take().ok_or("no standard input")?;
    input.write_all(serde_json::to_string(scripts)?.as_bytes())?;
    drop(input);
    let mut results = vec![Value::Null; scripts.len()];
    for line in BufReader::new(stage.stdout.take().ok_or("no standard output")?).lines() {
        let line: Value = serde_json::from_str(&line?)?;
        let at = line["at"].as_u64().and_then(|at| usize::try_from(at).ok()).ok_or("a result without a number")?;
        *results.get_mut(at).ok_or("a result for no script")? = line["result"].clone();
    }
    let status = stage.wait()?;
    match results.iter().position(Value::is_null) {
        _ if !status.success() => Err(format!("the stage ended with {status}").into()),
        Some(at) => Err(format!("script {at} has no result").into()),
        None => Ok(results),
    }
}

/// Builds the world and runs the scripts that come in, one at a time for each processor and one more.
pub(super) fn main(stage: &str) -> Done {
    let stage = Path::new(stage);
    rustix::mount::mount("tmpfs", stage, "tmpfs", MountFlags::NOSUID, c"size=3g,mode=755")?;
    world::build(stage)?;
    let built = cell(stage, "build", world::SCRIPT, true)?;
    if built["code"] != 0 {
        return Err(format!("the little world could not be built: {built}").into());
    }
    let scripts: Vec<String> = serde_json::from_reader(std::io::stdin().lock())?;
    let next = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(2, usize::from) + 1;
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((at, script)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, scripts.get(at)?)))
                {
                    let result = cell(stage, &format!("cell{at}"), script, false);
                    let result = result.unwrap_or_else(|error| json!({ "failed": error.to_string() }));
                    print::data(&format!("{}\n", json!({ "at": at, "result": result })));
                }
            });
        }
    });
    Ok(())
}

/// Runs one script in namespaces of its own and removes its world.
fn cell(stage: &Path, name: &str, script: &str, build: bool) -> Result<Value, Box<dyn std::error::Error>> {
    let directory: PathBuf = stage.join(name);
    for part in ["root", "upper", "work"] {
        fs::create_dir_all(directory.join(part))?;
    }
    fs::write(directory.join("script"), script)?;
    let mut cell = Command::new("unshare");
    // A user namespace of its own has its own count of processes: a fork bomb in one cell does not starve another.
    cell.args(["--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--"])
        .arg(std::env::current_exe()?);
    cell.args(["guard", CELL]).arg(&directory).args(build.then_some("build"));
    let output = cell.stdin(Stdio::null()).stderr(Stdio::piped()).output()?;
    fs::remove_dir_all(&directory)?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("a cell failed: {}", String::from_utf8_lossy(&output.stderr)).into())
}
