//! Programs that run another program: a table, and one way to read it.

use crate::marks::HOME;
use crate::run::Run;
use crate::state::Value;

/// How a program takes the command that it runs.
#[derive(Debug, Clone, Copy)]
struct Wrapper {
    /// Its name, and the subcommand that has to follow (`bundle exec`).
    names: &'static [&'static str],
    subcommand: Option<&'static [&'static str]>,
    /// Short options that take another word.
    short: &'static str,
    /// Long options that take another word.
    long: &'static [&'static str],
    /// Words between the options and the command.
    operands: usize,
    /// `NAME=value` may stand before the command.
    assigns: bool,
    /// Options whose value is a script: letters, and long names.
    script: &'static str,
    script_long: &'static [&'static str],
    /// The words of the command are put together and given to a shell.
    joined: bool,
    /// It runs on another machine, in the home directory there.
    remote: bool,
}

const PLAIN: Wrapper = Wrapper {
    names: &[],
    subcommand: None,
    short: "",
    long: &[],
    operands: 0,
    assigns: false,
    script: "",
    script_long: &[],
    joined: false,
    remote: false,
};

/// Everything that is known to run its arguments.
const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &[
            "nohup",
            "setsid",
            "unbuffer",
            "eatmydata",
            "chronic",
            "dumb-init",
            "catatonit",
            "linux32",
            "linux64",
            "i386",
            "x86_64",
            "uname26",
            "tsocks",
            "fakechroot",
            "valgrind",
            "firejail",
            "prlimit",
            "ifne",
            "dbus-launch",
            "then",
            "catchsegv",
            "proot",
            "choom",
            "aoss",
            "padsp",
            "optirun",
            "primusrun",
            "gamemoderun",
            "wine",
            "snice",
        ],
        ..PLAIN
    },
    Wrapper {
        names: &["sudo"],
        short: "aCcDghpRrTtUu",
        long: &[
            "--user",
            "--group",
            "--chdir",
            "--host",
            "--prompt",
            "--close-from",
            "--role",
            "--type",
            "--chroot",
            "--command-timeout",
            "--other-user",
            "--login-class",
            "--auth-type",
        ],
        assigns: true,
        ..PLAIN
    },
    Wrapper { names: &["ltrace"], short: "eopsSunAaDFlwx", ..PLAIN },
    Wrapper { names: &["doas"], short: "Cu", ..PLAIN },
    Wrapper { names: &["pkexec"], short: "u", long: &["--user"], ..PLAIN },
    Wrapper { names: &["nice", "gnice"], short: "n", long: &["--adjustment"], ..PLAIN },
    Wrapper { names: &["ionice"], short: "cnpPu", long: &["--class", "--classdata", "--pid"], ..PLAIN },
    Wrapper { names: &["chrt"], short: "TPDp", long: &["--sched-runtime", "--sched-period"], operands: 1, ..PLAIN },
    Wrapper { names: &["taskset"], operands: 1, ..PLAIN },
    Wrapper { names: &["timeout", "gtimeout"], short: "ks", long: &["--kill-after", "--signal"], operands: 1, ..PLAIN },
    Wrapper { names: &["time", "gtime"], short: "fo", long: &["--format", "--output"], ..PLAIN },
    Wrapper { names: &["stdbuf", "gstdbuf"], short: "ioe", long: &["--input", "--output", "--error"], ..PLAIN },
    Wrapper { names: &["strace", "truss", "dtruss"], short: "abeEIoOpPsSuUX", long: &["--trace", "--output"], ..PLAIN },
    Wrapper {
        names: &["flock"],
        short: "wE",
        long: &["--timeout", "--wait", "--conflict-exit-code"],
        operands: 1,
        script: "c",
        script_long: &["--command"],
        ..PLAIN
    },
    Wrapper { names: &["unshare"], short: "RwSGl", long: &["--root", "--wd", "--setuid", "--setgid"], ..PLAIN },
    Wrapper { names: &["nsenter"], short: "tSGN", long: &["--target", "--setuid", "--setgid"], ..PLAIN },
    Wrapper {
        names: &["setpriv"],
        long: &[
            "--reuid",
            "--regid",
            "--euid",
            "--egid",
            "--ruid",
            "--rgid",
            "--groups",
            "--inh-caps",
            "--ambient-caps",
            "--bounding-set",
            "--securebits",
            "--pdeathsig",
            "--selinux-label",
            "--apparmor-profile",
        ],
        ..PLAIN
    },
    Wrapper { names: &["chroot"], long: &["--userspec", "--groups"], operands: 1, ..PLAIN },
    Wrapper {
        names: &["systemd-run"],
        short: "pEuHMCt",
        long: &["--unit", "--property", "--slice", "--uid", "--gid", "--nice", "--working-directory", "--setenv"],
        ..PLAIN
    },
    Wrapper { names: &["systemd-inhibit"], long: &["--what", "--who", "--why", "--mode"], ..PLAIN },
    Wrapper { names: &["fakeroot"], short: "lsib", long: &["--lib", "--faked"], ..PLAIN },
    Wrapper { names: &["caffeinate"], short: "tw", ..PLAIN },
    Wrapper { names: &["xvfb-run"], short: "nespfw", long: &["--server-args", "--server-num", "--auth-file"], ..PLAIN },
    Wrapper { names: &["gosu", "su-exec", "setuidgid", "setarch", "envdir", "cgexec-sticky"], operands: 1, ..PLAIN },
    Wrapper { names: &["chpst"], short: "uUeomdfcrtbn/", ..PLAIN },
    Wrapper { names: &["softlimit"], short: "adflmoprst", ..PLAIN },
    Wrapper { names: &["dbus-run-session"], long: &["--config-file", "--dbus-daemon"], ..PLAIN },
    Wrapper { names: &["proxychains", "proxychains4"], short: "f", ..PLAIN },
    Wrapper { names: &["torsocks", "torify"], short: "uaP", ..PLAIN },
    Wrapper { names: &["rlwrap"], short: "abcfgHlMOpPqsSTtwz", ..PLAIN },
    Wrapper { names: &["numactl"], short: "iCmNpP", long: &["--interleave", "--membind", "--cpunodebind"], ..PLAIN },
    Wrapper { names: &["cgexec"], short: "g", ..PLAIN },
    Wrapper { names: &["cpulimit"], short: "lpec", long: &["--limit"], ..PLAIN },
    Wrapper { names: &["trickle"], short: "udwtlLnN", ..PLAIN },
    Wrapper { names: &["tini"], short: "pe", ..PLAIN },
    Wrapper { names: &["ssh-agent"], short: "aEtPO", ..PLAIN },
    Wrapper { names: &["entr"], ..PLAIN },
    Wrapper {
        names: &["start-stop-daemon"],
        short: "xanpucgrdNPIkt",
        long: &["--exec", "--startas", "--pidfile"],
        ..PLAIN
    },
    Wrapper { names: &["daemonize", "daemon"], short: "acepolu", ..PLAIN },
    Wrapper { names: &["sshpass"], short: "pfdP", ..PLAIN },
    Wrapper { names: &["perf"], subcommand: Some(&["stat", "record", "trace"]), short: "eoprFCtI", ..PLAIN },
    Wrapper {
        names: &[
            "bundle", "rbenv", "pyenv", "nodenv", "asdf", "mise", "rtx", "npm", "pnpm", "yarn", "opam", "stack",
            "cabal",
        ],
        subcommand: Some(&["exec", "x"]),
        ..PLAIN
    },
    Wrapper {
        names: &["poetry", "pipenv", "uv", "pdm", "hatch", "rye", "pixi", "op", "doppler", "dotenv", "conda", "mamba"],
        subcommand: Some(&["run"]),
        short: "npf",
        long: &["--name", "--prefix", "--with", "--python", "--env-file", "--project", "--config"],
        ..PLAIN
    },
    Wrapper { names: &["npx", "bunx", "pnpx", "uvx"], short: "p", long: &["--package"], ..PLAIN },
    Wrapper { names: &["direnv", "aws-vault"], subcommand: Some(&["exec"]), operands: 1, ..PLAIN },
    Wrapper {
        names: &["nix-shell"],
        short: "pIA",
        script: "",
        script_long: &["--run", "--command"],
        operands: 99,
        ..PLAIN
    },
    Wrapper {
        names: &["su"],
        short: "gGsw",
        long: &["--group", "--shell", "--whitelist-environment"],
        operands: 99,
        script: "c",
        script_long: &["--command", "--session-command"],
        ..PLAIN
    },
    Wrapper {
        names: &["runuser"],
        short: "ugGsw",
        long: &["--user", "--group", "--shell"],
        script: "c",
        script_long: &["--command", "--session-command"],
        ..PLAIN
    },
    Wrapper { names: &["sg"], operands: 1, script: "c", joined: true, ..PLAIN },
    Wrapper { names: &["newgrp"], operands: 99, script: "c", ..PLAIN },
    Wrapper {
        names: &["script"],
        short: "EIoOBTtm",
        long: &["--log-out", "--log-in", "--log-io", "--log-timing", "--timing", "--echo"],
        operands: 1,
        script: "c",
        script_long: &["--command"],
        ..PLAIN
    },
    Wrapper { names: &["watch", "gwatch"], short: "nq", long: &["--interval", "--equexit"], joined: true, ..PLAIN },
    Wrapper {
        names: &["hyperfine"],
        short: "wmMrpcsnu",
        long: &["--warmup", "--runs", "--min-runs"],
        joined: true,
        ..PLAIN
    },
    Wrapper { names: &["screen"], short: "cehpsStTX", ..PLAIN },
    Wrapper {
        names: &["tmux"],
        subcommand: Some(&["new", "new-session", "neww", "new-window", "splitw", "split-window", "run", "run-shell"]),
        short: "cefFnstxyl",
        joined: true,
        ..PLAIN
    },
    Wrapper { names: &["xterm", "gnome-terminal", "konsole", "urxvt", "alacritty"], short: "gT", script: "", ..PLAIN },
    Wrapper {
        names: &["ssh", "autossh", "slogin"],
        short: "BbcDEeFIiJLlMmOopQRSWw",
        operands: 1,
        joined: true,
        remote: true,
        ..PLAIN
    },
    Wrapper { names: &["mosh"], short: "p", operands: 1, joined: true, remote: true, ..PLAIN },
];

/// Options that take two words each.
const BUBBLEWRAP_PAIRS: [&str; 9] = [
    "--bind",
    "--ro-bind",
    "--dev-bind",
    "--bind-try",
    "--ro-bind-try",
    "--dev-bind-try",
    "--symlink",
    "--setenv",
    "--file",
];
/// Options that take one word each.
const BUBBLEWRAP_SINGLES: [&str; 13] = [
    "--dev",
    "--proc",
    "--tmpfs",
    "--dir",
    "--chdir",
    "--unsetenv",
    "--uid",
    "--gid",
    "--hostname",
    "--lock-file",
    "--perms",
    "--args",
    "--remount-ro",
];

impl Run<'_> {
    /// Runs what a wrapper runs, if this is one.
    pub(crate) fn wrapper(&mut self, name: &str, words: &[String]) -> bool {
        let arguments = words.get(1..).unwrap_or(&[]);
        match name {
            "env" | "genv" => {
                self.env(arguments);
                return true;
            }
            "bwrap" => {
                self.call(after_bubblewrap(arguments).to_vec());
                return true;
            }
            // What follows `--` is for the shell that it starts.
            "capsh" => {
                if let Some(at) = arguments.iter().position(|word| word == "--" || word == "==") {
                    let mut shell = vec!["bash".to_owned()];
                    shell.extend_from_slice(arguments.get(at + 1..).unwrap_or(&[]));
                    self.call(shell);
                }
                return true;
            }
            _ => {}
        }
        let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name)) else { return false };
        let arguments = match wrapper.subcommand {
            Some(wanted) => match arguments.iter().position(|word| !word.starts_with('-')) {
                Some(at) if arguments.get(at).is_some_and(|word| wanted.contains(&word.as_str())) => {
                    arguments.get(at + 1..).unwrap_or(&[])
                }
                _ => return false,
            },
            None => arguments,
        };
        self.unwrap(*wrapper, arguments);
        true
    }

    fn unwrap(&mut self, wrapper: Wrapper, arguments: &[String]) {
        let mut operands = wrapper.operands;
        // Without a user by option it is `su`.
        if wrapper.names == ["runuser"]
            && !arguments.iter().any(|word| word.starts_with("-u") || word.starts_with("--user"))
        {
            operands = 99;
        }
        let mut rest = arguments;
        let mut options = true;
        let mut scripts = Vec::new();
        let mut remembered = Vec::new();
        while let Some((word, after)) = rest.split_first() {
            if options && word == "--" {
                options = false;
                rest = after;
                // `su user -- -c …` and `script -- …`: what follows is for the shell.
                if wrapper.operands < 99 {
                    continue;
                }
                options = true;
                continue;
            }
            if options && word.len() > 1 && word.starts_with('-') {
                let (script, taken) = option(wrapper, word, after);
                scripts.extend(script);
                rest = after.get(taken..).unwrap_or(&[]);
                continue;
            }
            if word == "-" && options {
                rest = after;
                continue;
            }
            if wrapper.assigns
                && let Some((name, value)) = word.split_once('=')
                && !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            {
                remembered.push(self.remember(name));
                self.assign(name, Value::Scalar(value.to_owned()), None);
                self.state.variable_mut(name).exported = true;
                rest = after;
                continue;
            }
            if operands == 0 {
                break;
            }
            operands -= 1;
            rest = after;
            // An option of these may also stand after the operand: `flock file -c …`.
            options = options && !wrapper.script.is_empty();
        }
        if rest.first().is_some_and(|word| word == "--") {
            rest = rest.get(1..).unwrap_or(&[]);
        }
        for script in &scripts {
            self.run_text(script, Vec::new(), wrapper.remote);
        }
        if scripts.is_empty() && wrapper.joined && !rest.is_empty() {
            self.run_text(&rest.join(" "), Vec::new(), wrapper.remote);
        } else if scripts.is_empty() && !rest.is_empty() {
            self.call(rest.to_vec());
        } else if rest.is_empty() && (wrapper.remote || matches!(wrapper.names, ["su" | "sudo"])) && scripts.is_empty()
        {
            // A login shell without a command reads one.
            let input = std::mem::replace(&mut self.state.input, "".into());
            self.run_text(&input, Vec::new(), wrapper.remote);
        }
        for (name, variable) in remembered.into_iter().rev() {
            self.state.restore(&name, variable);
        }
    }

    /// Runs a script in a new shell, perhaps on another machine.
    fn run_text(&mut self, script: &str, arguments: Vec<String>, remote: bool) {
        self.nested += 1;
        self.new_shell("bash".to_owned(), arguments, |run| {
            if remote {
                run.state.set_directory(HOME.to_string());
            }
            run.derived(script);
        });
        self.nested -= 1;
    }

    /// `env`, which splits strings by itself and changes directory.
    fn env(&mut self, arguments: &[String]) {
        let mut words: Vec<String> = arguments.to_vec();
        let mut remembered = Vec::new();
        let mut directory = None;
        // Every round takes at least one word away; strings that are split may add some.
        for _ in 0..1024 {
            let Some(word) = words.first().cloned() else { break };
            let value = |words: &mut Vec<String>, attached: &str| {
                if attached.is_empty() && words.len() > 1 { words.remove(1) } else { attached.to_owned() }
            };
            if word == "--" {
                words.remove(0);
                break;
            }
            if let Some((name, text)) =
                word.split_once('=').filter(|(name, _)| !name.starts_with('-') && !name.is_empty())
            {
                remembered.push(self.remember(name));
                self.assign(name, Value::Scalar(text.to_owned()), None);
                self.state.variable_mut(name).exported = true;
                words.remove(0);
                continue;
            }
            let string = word.strip_prefix("--split-string=").map(str::to_owned);
            let cluster = word.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
            let in_cluster = cluster.and_then(|flags| flags.split_once('S')).map(|(_, attached)| attached.to_owned());
            if let Some(text) = string.or(in_cluster) {
                let text = if text.is_empty() { value(&mut words, "") } else { text };
                words.remove(0);
                let split = self.split_string(&text);
                words.splice(0..0, split);
                continue;
            }
            match word.as_str() {
                "-u" | "--unset" => {
                    let name = value(&mut words, "");
                    remembered.push(self.remember(&name));
                    self.assign(&name, Value::Unset, None);
                }
                "-C" | "--chdir" => directory = Some(value(&mut words, "")),
                "-S" | "--split-string" => {}
                _ if word.starts_with("--chdir=") => directory = word.strip_prefix("--chdir=").map(str::to_owned),
                _ if word.starts_with("-C") => directory = word.strip_prefix("-C").map(str::to_owned),
                _ if word.starts_with('-') => {}
                _ => break,
            }
            words.remove(0);
        }
        let before = self.state.clone();
        if let Some(directory) = directory {
            let path = self.absolute(&directory);
            self.state.set_directory(path);
        }
        if words.is_empty() {
            self.write(&crate::marks::UNKNOWN.to_string());
        } else {
            self.call_ignoring(words);
        }
        self.state = before;
        for (name, variable) in remembered.into_iter().rev() {
            self.state.restore(&name, variable);
        }
    }

    fn call_ignoring(&mut self, words: Vec<String>) {
        let before = std::mem::take(&mut self.state.functions);
        self.call(words);
        self.state.functions = before;
    }

    /// Splits as `env -S` does: quotes, backslashes and `${NAME}`, but no tilde and no globs.
    fn split_string(&mut self, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut quote = None;
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match (quote, letter) {
                (Some(mark), _) if mark == letter => quote = None,
                (Some('\''), _) => word.get_or_insert_default().push(letter),
                (_, '\\') => match letters.next() {
                    Some('_') => words.extend(word.take()),
                    Some(next) => word.get_or_insert_default().push(next),
                    None => {}
                },
                (_, '$') if letters.peek() == Some(&'{') => {
                    let name: String = letters.by_ref().skip(1).take_while(|letter| *letter != '}').collect();
                    let value = self.scalar(&name).unwrap_or_else(|| crate::marks::UNKNOWN.to_string());
                    word.get_or_insert_default().push_str(&value);
                }
                (None, '"' | '\'') => {
                    quote = Some(letter);
                    word.get_or_insert_default();
                }
                (None, ' ' | '\t' | '\n') => words.extend(word.take()),
                _ => word.get_or_insert_default().push(letter),
            }
        }
        words.extend(word);
        words
    }
}

/// The script that an option carries, and how many more words it takes.
fn option(wrapper: Wrapper, word: &str, after: &[String]) -> (Option<String>, usize) {
    if word.starts_with("--") {
        let (name, attached) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        if wrapper.script_long.contains(&name) {
            return match attached {
                Some(script) => (Some(script.to_owned()), 0),
                None => (after.first().cloned(), 1),
            };
        }
        return (None, usize::from(attached.is_none() && wrapper.long.contains(&name)));
    }
    for (at, flag) in word.char_indices().skip(1) {
        let attached = word.get(at + flag.len_utf8()..).unwrap_or("");
        if wrapper.script.contains(flag) {
            return if attached.is_empty() { (after.first().cloned(), 1) } else { (Some(attached.to_owned()), 0) };
        }
        if wrapper.short.contains(flag) {
            return (None, usize::from(attached.is_empty()));
        }
    }
    (None, 0)
}

fn after_bubblewrap(arguments: &[String]) -> &[String] {
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        let taken = match word.as_str() {
            "--" => return after,
            word if BUBBLEWRAP_PAIRS.contains(&word) => 2,
            word if BUBBLEWRAP_SINGLES.contains(&word) => 1,
            word if word.starts_with('-') => 0,
            _ => return rest,
        };
        rest = after.get(taken..).unwrap_or(&[]);
    }
    rest
}
