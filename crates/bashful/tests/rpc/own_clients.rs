//! The clients in `clients/`: built, installed into a clean environment, and tested there by their own tests.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use bashful_testkit::{Home, clients};

use crate::BASHFUL;

/// A directory of `clients/`.
fn source(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients").join(name);
    path.canonicalize().expect("the sources of the client")
}

/// A program that `.ci/setup` installed.
fn installed(path: &str) -> PathBuf {
    let path = clients().join(path);
    assert!(path.exists(), "nothing at {}: run .ci/setup", path.display());
    path
}

/// Runs a program to its end in this home; its standard output.
#[track_caller]
fn check(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(output.status.success(), "{command:?}: {}\n{}{}", output.status, said[0], said[1]);
    said[0].clone()
}

/// The files of a directory whose names end like this.
fn files(directory: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("a directory").flatten().map(|entry| entry.path());
    entries.filter(|path| path.to_string_lossy().ends_with(end)).collect()
}

/// The version of the program, which is that of its clients.
#[track_caller]
fn check_version(manifest: &Path, line: &str) {
    let text = std::fs::read_to_string(manifest).expect("a manifest");
    let line = line.replace("VERSION", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&line), "{} does not have `{line}`", manifest.display());
}

#[test]
fn the_python_client_works_where_only_its_wheel_is_installed() {
    let home = Home::new(BASHFUL);
    let source = source("python");
    check_version(&source.join("pyproject.toml"), "version = \"VERSION\"");
    check(&mut home.wrapped("python3", &["-m", "venv", "venv"]));
    let python = home.path().join("venv/bin/python");
    let pip = |arguments: &[&OsStr]| {
        let options = ["-m", "pip", "--disable-pip-version-check", "--no-input"].map(OsStr::new);
        let mut command = home.wrapped(&python, &[&options[..], arguments].concat());
        command.env("BASHFUL_PROGRAM", BASHFUL).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    };
    let offline = ["--quiet", "--no-index", "--no-deps"].map(OsStr::new);
    let build = [&["wheel", "--wheel-dir", "dist"].map(OsStr::new)[..], &offline, &[source.as_os_str()]].concat();
    check(&mut pip(&build));
    let wheels = files(&home.path().join("dist"), ".whl");
    let [wheel] = &wheels[..] else { panic!("one wheel: {wheels:?}") };
    let name = wheel.file_name().expect("a name").to_string_lossy();
    assert!(name.contains("-py3-none-manylinux_2_17_") && name.contains(std::env::consts::ARCH), "{name}");
    check(&mut pip(&[&["install"].map(OsStr::new)[..], &offline, &[wheel.as_os_str()]].concat()));

    let mypy = installed("mypy/bin/mypy");
    let checked = [OsStr::new("--strict"), OsStr::new("--cache-dir=mypy"), OsStr::new("--python-executable")];
    let sources = ["src", "backend", "tests"].map(|part| source.join(part));
    let sources = sources.each_ref().map(|path| path.as_os_str());
    check(&mut home.wrapped(&mypy, &[&checked[..], &[python.as_os_str()], &sources].concat()));

    let tests = source.join("tests");
    let arguments = ["-B", "-m", "unittest", "discover", "-s"].map(OsStr::new);
    check(&mut home.wrapped(&python, &[&arguments[..], &[tests.as_os_str()]].concat()));
    home.check_nothing_survives();
}

#[test]
fn the_typescript_client_works_where_only_its_packages_are_installed() {
    let home = Home::new(BASHFUL);
    let source = source("typescript");
    check_version(&source.join("package.json"), "\"version\": \"VERSION\"");
    check_version(&source.join("package.json"), "\"bashful-client-linux-x64\": \"VERSION\"");
    check_version(&source.join("package.json"), "\"bashful-client-linux-arm64\": \"VERSION\"");
    // npm is a script that looks for Node on the PATH.
    let tools = installed("python/bin");
    let path = std::env::var_os("PATH").expect("tests have a PATH");
    let path = std::env::join_paths(std::iter::once(tools).chain(std::env::split_paths(&path))).expect("a PATH");
    let run = |program: &OsStr, arguments: &[&OsStr]| {
        let mut command = home.wrapped(program, arguments);
        command.env("PATH", &path);
        command
    };
    let node = installed("node/node");
    let tsc = installed("typescript/node_modules/.bin/tsc");
    let packed = home.path().join("packed");
    let pack = source.join("scripts/pack.mjs");
    check(&mut run(node.as_ref(), &[pack.as_ref(), tsc.as_ref(), BASHFUL.as_ref(), packed.as_ref()]));
    let packages = files(&packed, ".tgz");
    assert_eq!(packages.len(), 2, "{packages:?}");

    let app = home.path().join("app");
    std::fs::create_dir_all(app.join("test")).expect("a directory");
    std::fs::write(app.join("package.json"), "{\"private\":true,\"type\":\"module\"}").expect("it is written");
    let options = ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    let options = options.map(OsStr::new);
    let archives: Vec<_> = packages.iter().map(|package| package.as_os_str()).collect();
    check(run("npm".as_ref(), &[&options[..], &archives].concat()).current_dir(&app));

    for file in [files(&source.join("test"), ".ts"), files(&source.join("test"), ".json")].concat() {
        let name = file.file_name().expect("a name");
        std::fs::copy(&file, app.join("test").join(name)).expect("it is copied");
    }
    // The tests are checked against the types of the installed package.
    let types = installed("typescript/node_modules/@types");
    let arguments = ["-p", "test", "--typeRoots"].map(OsStr::new);
    check(run(tsc.as_ref(), &[&arguments[..], &[types.as_os_str()]].concat()).current_dir(&app));
    let mut tests = files(&app.join("test"), ".test.ts");
    tests.sort();
    let tests: Vec<_> = tests.iter().map(|test| test.as_os_str()).collect();
    check(run(node.as_ref(), &[&[OsStr::new("--test")][..], &tests].concat()).current_dir(&app));
    home.check_nothing_survives();
}
