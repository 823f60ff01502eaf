//! Checks the workflow files: their syntax, and the few rules whose breaking shows only after a push.

use std::error::Error;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use yaml_rust2::{Yaml, YamlLoader};

use crate::{Done, cargo, print};

/// Checks every workflow of the repository.
pub(crate) fn main() -> Done {
    print::talk("xtask: workflows in .github/workflows");
    for (name, text) in texts()? {
        let steps = steps(&text).map_err(|error| format!("{name}: {error}"))?;
        for script in steps.iter().flat_map(|run| run.split_whitespace()).filter(|word| word.starts_with(".ci/")) {
            check_executable(&cargo::root().join(script)).map_err(|error| format!("{name}: {script}: {error}"))?;
        }
    }
    Ok(())
}

/// The commands of all steps of all workflows, each with the name of its file.
pub(crate) fn commands() -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let mut commands = Vec::new();
    for (name, text) in texts()? {
        let steps = steps(&text).map_err(|error| format!("{name}: {error}"))?;
        commands.extend(steps.into_iter().map(|run| (name.clone(), run)));
    }
    Ok(commands)
}

/// Names and texts of the files.
fn texts() -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(cargo::root().join(".github/workflows"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        texts.push((name, std::fs::read_to_string(&path)?));
    }
    Ok(texts)
}

/// The commands that a workflow runs. Fails for a file that is no workflow.
fn steps(text: &str) -> Result<Vec<String>, String> {
    let documents = YamlLoader::load_from_str(text).map_err(|error| error.to_string())?;
    let [workflow] = documents.as_slice() else { return Err("not one document".to_owned()) };
    if workflow["on"].is_badvalue() {
        return Err("no `on`".to_owned());
    }
    let jobs = workflow["jobs"].as_hash().ok_or("no `jobs`")?;
    let mut commands = Vec::new();
    for (name, job) in jobs {
        let name = name.as_str().unwrap_or("?");
        if job["runs-on"].is_badvalue() {
            return Err(format!("job {name} has no `runs-on`"));
        }
        if let Some(needed) = job["needs"].as_str().filter(|needed| workflow["jobs"][*needed].is_badvalue()) {
            return Err(format!("job {name} needs {needed}, which is missing"));
        }
        for step in job["steps"].as_vec().ok_or_else(|| format!("job {name} has no `steps`"))? {
            match (&step["run"], &step["uses"]) {
                (Yaml::String(run), Yaml::BadValue) => commands.push(run.clone()),
                (Yaml::BadValue, Yaml::String(action)) if is_pinned(action) => {}
                (Yaml::BadValue, Yaml::String(action)) => {
                    return Err(format!("job {name} uses {action}, which is not pinned by the full hash of a commit"));
                }
                _ => return Err(format!("a step of job {name} has not one of `run` and `uses`")),
            }
        }
    }
    Ok(commands)
}

/// True for an action whose code cannot change. Owners can move a tag or a branch.
fn is_pinned(action: &str) -> bool {
    let hash = action.rsplit_once('@').map_or("", |(_, version)| version);
    hash.len() == 40 && hash.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Requires that a file is there and may be executed.
fn check_executable(path: &Path) -> Result<(), Box<dyn Error>> {
    if std::fs::metadata(path)?.permissions().mode() & 0o111 == 0 {
        return Err("not executable".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "on: push\njobs:\n  test:\n    runs-on: x\n    steps:\n      \
                        - uses: a/b@0123456789abcdef0123456789abcdef01234567 # v1\n      - run: .ci/run\n";

    #[track_caller]
    fn check(text: &str, error: &str) {
        let found = steps(text).expect_err("it is wrong");
        assert!(found.contains(error), "{found}");
    }

    #[test]
    fn the_commands_of_a_workflow_are_found() {
        assert_eq!(steps(GOOD).expect("it is a workflow"), [".ci/run"]);
    }

    #[test]
    fn a_file_that_is_no_workflow_is_refused() {
        check("on: [push", "while parsing");
        check("jobs: {}", "no `on`");
        check("on: push", "no `jobs`");
        check(&GOOD.replace("runs-on", "run-on"), "no `runs-on`");
        check(&GOOD.replace("    steps", "    needs: draft\n    steps"), "needs draft");
        check(&GOOD.replace("uses", "use"), "`run` and `uses`");
    }

    #[test]
    fn an_action_whose_code_can_change_is_refused() {
        for version in ["@v1", "@main", "@0123456", ""] {
            check(&GOOD.replace("@0123456789abcdef0123456789abcdef01234567", version), "not pinned");
        }
    }
}
