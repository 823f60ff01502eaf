//! Built-in values of settings.
//!
//! `defaults.toml` has the same values, and a test compares both. Parsing the file at every start would take too
//! long.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bashful_engine::EnvironmentPolicy;

use super::value::Variable;
use super::{
    Artifacts, Async, Bytes, ClientRows, Condense, ConsoleSettings, Count, Days, DialectLevels, DialectName,
    Environment, EscapeKey, GuardSettings, InterceptorSettings, Intercepts, Jobs, LargeBytes, Leftovers, Levels,
    Lifetime, Log, Mcp, MoreNames, Names, Number, Output, Ports, Rewrite, RuleLevel, SandboxCaches, SandboxModeName,
    SandboxNetwork, SandboxSettings, Seconds, Secret, Sessions, Settings, Shell, Snapshots, Stop, Terminal, Variables,
};

/// Variables that are set for unattended work.
pub(super) const SET: &[(&str, &str)] = &[
    ("AGENT", "1"),
    ("AWS_PAGER", ""),
    ("BAT_PAGER", "cat"),
    ("CARGO_TERM_PROGRESS_WHEN", "never"),
    ("CI", "1"),
    ("CLOUDSDK_CORE_DISABLE_PROMPTS", "1"),
    ("COMPOSER_NO_INTERACTION", "1"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("DELTA_PAGER", "cat"),
    ("EDITOR", "true"),
    ("GH_PAGER", "cat"),
    ("GH_PROMPT_DISABLED", "1"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GLAB_PAGER", "cat"),
    ("HOMEBREW_PAGER", "cat"),
    ("LESS", "FRX"),
    ("MANPAGER", "cat"),
    ("MYSQL_PAGER", "cat"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("PIP_NO_INPUT", "1"),
    ("PNPM_DISABLE_SELF_UPDATE_CHECK", "true"),
    ("PNPM_UPDATE_NOTIFIER", "false"),
    ("PSQL_PAGER", "cat"),
    ("PYTHONUNBUFFERED", "1"),
    ("SSH_ASKPASS", "/bin/false"),
    ("SSH_ASKPASS_REQUIRE", "force"),
    ("SYSTEMD_PAGER", "cat"),
    ("TERM", "dumb"),
    ("TF_INPUT", "0"),
    ("TF_IN_AUTOMATION", "1"),
    ("VISUAL", "true"),
    ("YARN_ENABLE_PROGRESS_BARS", "0"),
    ("YARN_ENABLE_TELEMETRY", "0"),
    ("npm_config_audit", "false"),
    ("npm_config_fund", "false"),
    ("npm_config_progress", "false"),
    ("npm_config_update_notifier", "false"),
    ("npm_config_yes", "true"),
];

/// Variables of commands with a terminal: set, or removed where the setting for unattended work makes no sense there.
pub(super) const TERMINAL: &[(&str, Option<&str>)] = &[
    ("AWS_PAGER", None),
    ("BAT_PAGER", None),
    ("CARGO_TERM_PROGRESS_WHEN", None),
    ("CI", None),
    ("CLOUDSDK_CORE_DISABLE_PROMPTS", None),
    ("COMPOSER_NO_INTERACTION", None),
    ("DEBIAN_FRONTEND", None),
    ("DELTA_PAGER", None),
    ("EDITOR", None),
    ("GH_PAGER", None),
    ("GH_PROMPT_DISABLED", None),
    ("GIT_EDITOR", None),
    ("GIT_PAGER", None),
    ("GIT_TERMINAL_PROMPT", None),
    ("GLAB_PAGER", None),
    ("HOMEBREW_PAGER", None),
    ("LESS", None),
    ("MANPAGER", None),
    ("MYSQL_PAGER", None),
    ("NO_COLOR", None),
    ("PAGER", None),
    ("PIP_NO_INPUT", None),
    ("PSQL_PAGER", None),
    ("SSH_ASKPASS", None),
    ("SSH_ASKPASS_REQUIRE", None),
    ("SYSTEMD_PAGER", None),
    ("TERM", Some("xterm-256color")),
    ("TF_INPUT", None),
    ("TF_IN_AUTOMATION", None),
    ("VISUAL", None),
    ("YARN_ENABLE_PROGRESS_BARS", None),
    ("npm_config_progress", None),
    ("npm_config_yes", None),
];

impl Settings {
    /// The settings without any file or variable.
    pub(super) fn built_in() -> Self {
        Self {
            shell: Shell {
                path: String::new(),
                snapshot: Snapshots::Auto,
                snapshot_seconds: Seconds(2.0),
                prefix: String::new(),
            },
            rewrite: Rewrite {
                cd: true,
                head_and_tail: true,
                urls: true,
                unsupported: names(&["agent", "memory", "plan", "rule"]),
                skills: names(&[]),
            },
            lifetime: Lifetime {
                default_seconds: Seconds(30.0),
                slow_seconds: Seconds(900.0),
                background_seconds: Seconds(86_400.0),
            },
            stop: Stop { grace_seconds: Seconds(15.0), leftovers: Leftovers::Keep },
            sandbox: sandbox(),
            output: output(),
            condense: Condense { enabled: false, pi_enabled: true, only: names(&[]), except: names(&[]) },
            artifacts: Artifacts {
                one_bytes: LargeBytes(1 << 30),
                store_bytes: LargeBytes(8 << 30),
                age_days: Days(7.0),
            },
            jobs: Jobs {
                live: Count(100),
                kept: Count(500),
                age_days: Days(7.0),
                auto: false,
                auto_after_seconds: Seconds(60.0),
            },
            sessions: Sessions { idle_seconds: Seconds(1800.0), at_most: Count(16), overlap: false },
            r#async: Async { enabled: true },
            terminal: Terminal { virtual_terminal: true },
            console: ConsoleSettings { dialect: DialectName::Native, escape: EscapeKey::Kill },
            guard: guard(),
            interceptor: InterceptorSettings { enabled: false, tools: names(&[]), rules: Intercepts(Vec::new()) },
            mcp: mcp(),
            log: Log { enabled: true, bytes: LargeBytes(8 << 20) },
            environment: environment(),
        }
    }
}

/// Files with secrets that programs keep below the home directory.
pub(super) const HIDDEN: &[&str] = &[
    "~/.ssh",
    "~/.gnupg",
    "~/.aws",
    "~/.azure",
    "~/.config/gcloud",
    "~/.config/gh",
    "~/.kube",
    "~/.docker",
    "~/.netrc",
    "~/.git-credentials",
    "~/.npmrc",
    "~/.pypirc",
    "~/.cargo/credentials.toml",
    "~/.password-store",
];

/// Files that programs outside of the sandbox run or obey.
pub(super) const PROTECTED: &[&str] = &[
    ".git/hooks",
    ".git/config",
    ".gitmodules",
    ".claude",
    ".codex",
    ".gemini",
    ".cursor",
    ".vscode",
    ".idea",
    ".mcp.json",
    ".envrc",
    ".bashrc",
    ".profile",
    ".zshrc",
    ".gitconfig",
];

fn sandbox() -> SandboxSettings {
    SandboxSettings {
        mode: SandboxModeName::Off,
        write: names(&[]),
        caches: SandboxCaches::Private,
        hide: names(HIDDEN),
        protect: names(PROTECTED),
        network: SandboxNetwork::Off,
        domains: names(&[]),
        ports: Ports(Vec::new()),
    }
}

fn guard() -> GuardSettings {
    let off = |rule: &str| (rule.to_owned(), RuleLevel::Off);
    let plain = ["git/blind-add", "git/force-push", "git/delete-remote"].map(off);
    GuardSettings {
        enabled: true,
        levels: Levels(BTreeMap::new()),
        dialects: DialectLevels(BTreeMap::from([("plain".to_owned(), Levels(BTreeMap::from(plain)))])),
        rules_file: String::new(),
        console_answers: false,
    }
}

fn output() -> Output {
    Output { whole_bytes: Bytes(128 << 10), head_bytes: Bytes(4096), tail_bytes: Bytes(4096), clean: true }
}

fn mcp() -> Mcp {
    Mcp {
        patience_seconds: Seconds(50.0),
        structured: false,
        clients: ClientRows::built_in(),
        ready: Number(2),
        token: Secret(String::new()),
        token_file: String::new(),
        hosts: names(&[]),
        sessions: Count(100),
        session_idle_seconds: Seconds(3600.0),
    }
}

fn environment() -> Environment {
    let variable =
        |name: &'static str, value: Option<&'static str>| (Cow::Borrowed(name), Variable(value.map(Cow::Borrowed)));
    Environment {
        withhold: names(EnvironmentPolicy::WITHHELD),
        allow: MoreNames(names(EnvironmentPolicy::ALLOWED).0),
        set: Variables(SET.iter().map(|(name, value)| variable(name, Some(value))).collect()),
        terminal: Variables(TERMINAL.iter().map(|(name, value)| variable(name, *value)).collect()),
    }
}

fn names(names: &[&'static str]) -> Names {
    Names(names.iter().map(|name| Cow::Borrowed(*name)).collect())
}
