//! All that has to hold before a change goes in, in the order in which it fails soonest.

use bashful_sys::signal::{Signal, stop_ignoring};

use crate::{Done, cargo, licenses, print, rust_version, workflows};

/// One call of cargo that has to succeed.
struct Step {
    name: &'static str,
    arguments: &'static [&'static str],
    variable: Option<(&'static str, &'static str)>,
}

const STEPS: [Step; 5] = [
    Step { name: "format", arguments: &["fmt", "--all", "--check"], variable: None },
    Step {
        name: "lints",
        arguments: &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        variable: None,
    },
    Step { name: "tests", arguments: &["test", "--workspace"], variable: None },
    Step {
        name: "documentation",
        arguments: &["doc", "--workspace", "--no-deps"],
        variable: Some(("RUSTDOCFLAGS", "-D warnings")),
    },
    Step {
        name: "documentation of private items",
        arguments: &["doc", "--workspace", "--no-deps", "--document-private-items"],
        variable: Some(("RUSTDOCFLAGS", "-D warnings")),
    },
];

/// Goes through all steps and stops at the first that fails.
pub(crate) fn main() -> Done {
    // A shell that starts this in the background ignores them, and tests send them.
    for signal in [Signal::INT, Signal::QUIT, Signal::HUP] {
        stop_ignoring(signal);
    }
    workflows::main().map_err(|error| format!("xtask ci: workflows failed: {error}"))?;
    rust_version::main().map_err(|error| format!("xtask ci: Rust version failed: {error}"))?;
    for step in &STEPS {
        step.run()?;
    }
    licenses::main().map_err(|error| format!("xtask ci: licenses failed: {error}"))?;
    print::talk("xtask ci: all is well");
    Ok(())
}

impl Step {
    fn run(&self) -> Done {
        print::talk(&format!("xtask ci: {}: {}", self.name, self.line()));
        let status = cargo::command(self.arguments).envs(self.variable).status()?;
        if !status.success() {
            return Err(format!("xtask ci: {} failed ({status}): {}", self.name, self.line()).into());
        }
        Ok(())
    }

    /// The command line, as a person would type it.
    fn line(&self) -> String {
        let variable = self.variable.map_or_else(String::new, |(name, value)| format!("{name}=\"{value}\" "));
        format!("{variable}cargo {}", self.arguments.join(" "))
    }
}
