//! Settings: one commented file of defaults, and layers on top of it.
//!
//! Later layers win: the defaults, the user's file, the file named on the command line, `BASHFUL_*` variables. The
//! type of a key defines its values; an invalid value is an error that names its source. A file in the working
//! directory is never read: whoever runs commands there could write it.

mod built_in;
mod clients;
mod load;
mod value;

use bashful_engine::EnvironmentPolicy;
use serde::{Deserialize, Serialize};

pub(crate) use clients::ClientRows;
pub(crate) use load::{Sources, load, may_be_there, read};
pub(crate) use value::RuleLevel;
pub(crate) use value::{
    Bytes, Count, Days, DialectLevels, DialectName, EscapeKey, Intercepts, LargeBytes, Leftovers, Levels, MoreNames,
    Names, Number, Ports, SandboxCaches, SandboxModeName, SandboxNetwork, Seconds, Secret, Snapshots, Variables,
};

/// The defaults, and the documentation of every key. The lists of names and variables are filled in.
pub(crate) fn defaults() -> String {
    let set: Vec<_> = built_in::SET.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
    let terminal = |(name, value): &(&str, Option<&str>)| match value {
        Some(value) => format!("{name} = {value:?}"),
        None => format!("{name} = false"),
    };
    let terminal: Vec<_> = built_in::TERMINAL.iter().map(terminal).collect();
    include_str!("defaults.toml")
        .replace("{withhold}", &list(EnvironmentPolicy::WITHHELD))
        .replace("{hide}", &list(built_in::HIDDEN))
        .replace("{protect}", &list(built_in::PROTECTED))
        .replace("{allow}", &list(EnvironmentPolicy::ALLOWED))
        .replace("{set}", &set.join("\n"))
        .replace("{terminal}", &terminal.join("\n"))
}

/// A list in TOML, in lines of at most this width.
fn list(names: &[&str]) -> String {
    const WIDTH: usize = 120;
    let mut text = String::from("[");
    let mut column = WIDTH;
    for name in names {
        if column + name.len() + 4 > WIDTH {
            text.push_str("\n   ");
            column = 3;
        }
        let item = format!(" \"{name}\",");
        column += item.len();
        text.push_str(&item);
    }
    text + "\n]"
}

/// Makes, for every section, the settings in force and a layer that may hold any of them.
macro_rules! settings {
    ($($(#[$about:meta])* $section:ident: $Section:ident, $Layer:ident { $($key:ident: $Type:ty,)* })*) => {
        /// All settings, each with a value.
        #[derive(Debug, Clone, Serialize)]
        #[cfg_attr(test, derive(Deserialize), serde(deny_unknown_fields))]
        pub(crate) struct Settings { $($(#[$about])* pub(crate) $section: $Section,)* }

        /// The settings that one layer has.
        #[derive(Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Layer { $($section: Option<$Layer>,)* }

        impl Settings {
            /// Puts a layer on top.
            fn apply(&mut self, layer: Layer) {
                $(if let Some(section) = layer.$section { self.$section.apply(section); })*
            }
        }

        /// Every key, as section and name. A section may be called by a word of the language (`r#async`).
        const KEYS: &[(&str, &str)] = &[$($((stringify!($section), stringify!($key)),)*)*];

        $(
            $(#[$about])*
            #[allow(clippy::struct_field_names, reason = "the unit in a key's name is no repetition")]
            #[derive(Debug, Clone, Serialize)]
            #[cfg_attr(test, derive(Deserialize), serde(deny_unknown_fields))]
            pub(crate) struct $Section { $(pub(crate) $key: $Type,)* }

            #[allow(clippy::struct_field_names, reason = "the unit in a key's name is no repetition")]
            #[derive(Debug, Default, Deserialize)]
            #[serde(deny_unknown_fields)]
            struct $Layer { $($key: Option<$Type>,)* }

            impl $Section {
                fn apply(&mut self, layer: $Layer) {
                    $(if let Some(value) = layer.$key { value::Merge::merge(&mut self.$key, value); })*
                }
            }
        )*
    };
}

settings! {
    /// The shell that runs commands.
    shell: Shell, ShellLayer { path: String, snapshot: Snapshots, snapshot_seconds: Seconds, prefix: String, }
    /// Rewriting of commands before they run.
    rewrite: Rewrite, RewriteLayer { cd: bool, head_and_tail: bool, urls: bool, unsupported: Names, skills: Names, }
    /// Timeouts of commands in each mode.
    lifetime: Lifetime, LifetimeLayer {
        default_seconds: Seconds,
        slow_seconds: Seconds,
        background_seconds: Seconds,
    }
    /// The grace between SIGTERM and SIGKILL.
    stop: Stop, StopLayer { grace_seconds: Seconds, leftovers: Leftovers, }
    /// The fence around commands.
    sandbox: SandboxSettings, SandboxLayer {
        mode: SandboxModeName,
        write: Names,
        caches: SandboxCaches,
        hide: Names,
        protect: Names,
        network: SandboxNetwork,
        domains: Names,
        ports: Ports,
    }
    /// Size of shown output.
    output: Output, OutputLayer {
        whole_bytes: Bytes,
        head_bytes: Bytes,
        tail_bytes: Bytes,
        clean: bool,
    }
    /// Condensing of output.
    condense: Condense, CondenseLayer { enabled: bool, pi_enabled: bool, only: Names, except: Names, }
    /// Size and age limits of artifacts.
    artifacts: Artifacts, ArtifactsLayer { one_bytes: LargeBytes, store_bytes: LargeBytes, age_days: Days, }
    /// Limits on background jobs.
    jobs: Jobs, JobsLayer { live: Count, kept: Count, age_days: Days, auto: bool, auto_after_seconds: Seconds, }
    /// Sessions: persistent shells.
    sessions: Sessions, SessionsLayer { idle_seconds: Seconds, at_most: Count, overlap: bool, }
    /// `async` of the pi dialect.
    r#async: Async, AsyncLayer { enabled: bool, }
    /// Terminals of commands.
    terminal: Terminal, TerminalLayer { virtual_terminal: bool, }
    /// `bashful console`.
    console: ConsoleSettings, ConsoleLayer { dialect: DialectName, escape: EscapeKey, }
    /// Levels and rules of the guard.
    guard: GuardSettings, GuardLayer { enabled: bool, levels: Levels, dialects: DialectLevels, rules_file: String, console_answers: bool, }
    /// The interceptor, which points to better tools.
    interceptor: InterceptorSettings, InterceptorLayer { enabled: bool, tools: Names, rules: Intercepts, }
    /// The MCP server and its clients.
    mcp: Mcp, McpLayer {
        patience_seconds: Seconds,
        structured: bool,
        clients: ClientRows,
        ready: Number,
        token: Secret,
        token_file: String,
        hosts: Names,
        sessions: Count,
        session_idle_seconds: Seconds,
    }
    /// The log of commands.
    log: Log, LogLayer { enabled: bool, bytes: LargeBytes, }
    /// Environment variables of commands.
    environment: Environment, EnvironmentLayer { withhold: Names, allow: MoreNames, set: Variables, terminal: Variables, }
}
