//! The examples in the README and the documents: each prints what it shows.

use std::path::{Path, PathBuf};

use bashful_testkit::Home;

use crate::BASHFUL;

/// One command line of a document, and what it prints.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    command: String,
    output: String,
}

/// The examples of a document: in its `console` blocks, a line after `$` is typed, and the others are printed.
fn examples(document: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut is_console = false;
    for line in document.lines() {
        match (line.strip_prefix("```"), line.strip_prefix("$ ")) {
            (Some(language), _) => is_console = language == "console",
            (None, Some(command)) if is_console => {
                examples.push(Example { command: command.to_owned(), output: String::new() });
            }
            (None, _) if is_console => {
                let example = examples.last_mut().expect("a block begins with a command");
                example.output.push_str(line);
                example.output.push('\n');
            }
            _ => {}
        }
    }
    examples
}

/// The same text whoever runs it: process ids and the home directory differ.
fn settled(text: &str, home: &Path) -> String {
    let text = text.replace(&home.display().to_string(), "/home/you");
    let is_process = |line: &str| {
        let mut words = line.split_whitespace();
        line.starts_with("  ") && words.next().is_some_and(|word| word.parse::<u32>().is_ok()) && words.next().is_some()
    };
    text.lines()
        .map(|line| match line.trim_start().split_once(' ') {
            Some((_, command)) if is_process(line) => format!("  PID {command}\n"),
            _ => format!("{line}\n"),
        })
        .collect()
}

#[track_caller]
fn check(document: &Path, at_least: usize) {
    let text = std::fs::read_to_string(document).expect("it can be read");
    let examples = examples(&text);
    assert!(examples.len() >= at_least, "{} has lost its examples", document.display());
    for example in examples {
        let home = Home::new(BASHFUL);
        let path = Path::new(BASHFUL).parent().expect("a directory").display();
        let script = format!("PATH={path}:$PATH\n{}", example.command);
        let output = home.wrapped("/bin/bash", &["-c", &format!("{{ {script}\n}} 2>&1")]).output().expect("it runs");
        let printed = settled(&String::from_utf8_lossy(&output.stdout), home.path());
        assert_eq!(
            printed,
            settled(&example.output, Path::new("/home/you")),
            "{}: {}",
            document.display(),
            example.command
        );
        home.run(&["jobs", "kill", "1"]);
        home.check_nothing_survives();
    }
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

#[test]
fn the_readme_shows_what_is_printed() {
    check(&in_repository("README.md"), 1);
}

#[test]
fn the_documents_show_what_is_printed() {
    for page in ["cli", "hooks", "mcp", "security"] {
        check(&in_repository(&format!("docs/{page}.md")), 1);
    }
    for page in documents() {
        check(&page, 0);
    }
}

/// The documents, without their pictures.
fn documents() -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(in_repository("docs")).expect("it is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md"))
}

#[test]
fn the_readme_is_short_and_its_links_lead_somewhere() {
    let readme = std::fs::read_to_string(in_repository("README.md")).expect("it can be read");
    assert!(readme.chars().count() <= 9000, "{} characters", readme.chars().count());
    let pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"].map(in_repository);
    for page in documents().chain(pages) {
        let text = std::fs::read_to_string(&page).expect("it can be read");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let is_elsewhere = link.contains("://") || file.is_empty();
            let target = page.parent().expect("a directory").join(file);
            assert!(is_elsewhere || target.exists(), "{}: {link}", page.display());
        }
    }
}

#[test]
fn the_map_of_the_code_is_short_and_names_files_that_exist() {
    let map = std::fs::read_to_string(in_repository("ARCHITECTURE.md")).expect("it can be read");
    assert!(map.lines().count() <= 260, "{} lines", map.lines().count());
    let named: Vec<&str> = map.split('`').skip(1).step_by(2).filter(|name| name.contains("/src/")).collect();
    assert!(named.len() > 20, "the walks name their files: {named:?}");
    for name in named {
        assert!(in_repository("crates").join(name).exists(), "{name}");
    }
}

#[test]
fn the_readme_quotes_the_compiled_example_of_the_library() {
    let read = |path| std::fs::read_to_string(in_repository(path)).expect("it can be read");
    let (readme, page) = (read("README.md"), read("docs/library.md"));
    let block = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    for line in block.lines().map(str::trim) {
        assert!(page.lines().any(|compiled| compiled.trim() == line), "{line}");
    }
}
