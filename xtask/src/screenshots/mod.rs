//! Screenshots of the program for the documents: SVG in which text stays text.
//!
//! A scene types at the prompt of a shell in a terminal, waits for texts on the screen, and ends with a picture of it. The
//! shell does not run below a keeper, because bashful gives its users less there.

mod stage;
mod svg;

use std::time::Duration;

use bashful_screen::Size;

use crate::{Done, cargo, print};
use stage::Stage;

/// Longest time for a text to appear.
const PATIENCE: Duration = Duration::from_mins(1);

/// One picture.
struct Scene {
    /// The name of its file, without `.svg`.
    name: &'static str,
    /// Shown above the screen, and read to those who cannot see it.
    title: &'static str,
    columns: u16,
    rows: u16,
    /// Files in the shell's directory, by name and text.
    files: &'static [(&'static str, &'static str)],
    steps: &'static [Step],
}

enum Step {
    /// Types text.
    Types(&'static str),
    /// Presses keys, by the names that `bashful jobs send --key` has for them.
    Presses(&'static [&'static str]),
    /// Waits until the screen shows a text.
    Waits(&'static str),
}

/// A build that prints colors and takes its time.
const BUILD: &str = r"
for crate in sys keeper guard screen render engine dialect mcp console acp cli; do
    printf '\033[1;32m   Compiling\033[0m bashful-%s v0.2.0\n' $crate
done
printf '\033[1;33mwarning\033[0m\033[1m: unused variable: `x`\033[0m\n  \033[1;34m-->\033[0m src/main.rs:2:9\n'
sleep 1000
";

/// Tests of which one fails.
const TESTS: &str = r"
for test in parses_quotes keeps_order ends_children; do printf 'test %s ... \033[32mok\033[0m\n' $test; done
printf 'test withholds_keys ... \033[31mFAILED\033[0m\n'
exit 101
";

const SCENES: &[Scene] = &[
    Scene {
        name: "run",
        title: "bashful run",
        columns: 80,
        rows: 15,
        files: &[("build", BUILD)],
        steps: &[Step::Types("bashful run -t 10m 'bash build'"), Step::Presses(&["Enter"]), Step::Waits("13 lines")],
    },
    Scene {
        name: "console",
        title: "bashful console",
        columns: 100,
        rows: 32,
        files: &[("build", BUILD), ("tests", TESTS)],
        steps: &[
            Step::Types("clear; bashful console"),
            Step::Presses(&["Enter"]),
            Step::Waits("Enter run"),
            Step::Types("bash tests"),
            Step::Presses(&["Enter"]),
            Step::Waits("exit 101"),
            Step::Types("git add -A && git commit -m 'work'"),
            Step::Presses(&["Enter"]),
            Step::Waits("refused"),
            Step::Types("bash build"),
            Step::Presses(&["Enter"]),
            Step::Waits("unused variable"),
        ],
    },
];

/// Makes the pictures of these names, or of all scenes, in `docs/screenshots`.
pub(crate) fn main(names: &[&str]) -> Done {
    if let Some(unknown) = names.iter().find(|name| !SCENES.iter().any(|scene| scene.name == **name)) {
        let known: Vec<&str> = SCENES.iter().map(|scene| scene.name).collect();
        return Err(format!("no scene {unknown}; there are: {}", known.join(", ")).into());
    }
    let program = cargo::build("bashful", &[])?;
    let directory = cargo::root().join("docs/screenshots");
    std::fs::create_dir_all(&directory)?;
    for scene in SCENES.iter().filter(|scene| names.is_empty() || names.contains(&scene.name)) {
        let mut stage = Stage::new(&program, Size::new(scene.columns, scene.rows))?;
        for (name, text) in scene.files {
            std::fs::write(stage.home().join(name), text)?;
        }
        stage.wait_for("$", PATIENCE)?;
        for step in scene.steps {
            match step {
                Step::Types(text) => stage.write(text.as_bytes())?,
                Step::Presses(keys) => stage.press(keys)?,
                Step::Waits(text) => stage.wait_for(text, PATIENCE)?,
            }
        }
        let file = directory.join(scene.name).with_extension("svg");
        std::fs::write(&file, svg::picture(stage.screen(), scene.title))?;
        print::talk(&format!("xtask: wrote {}", file.display()));
    }
    Ok(())
}
