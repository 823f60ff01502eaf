//! The table of programs that run another one.

/// A program that runs another command, and the place of that command among its words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wrapper {
    /// Its name, and the subcommand that has to follow (`bundle exec`).
    pub(super) names: &'static [&'static str],
    pub(super) subcommand: Option<&'static [&'static str]>,
    /// Short options that take another word.
    pub(super) short: &'static str,
    /// Long options that take another word.
    pub(super) long: &'static [&'static str],
    /// Words between the options and the command.
    pub(super) operands: usize,
    /// `NAME=value` may stand before the command.
    pub(super) assigns: bool,
    /// Options whose value is a script: letters, and long names.
    pub(super) script: &'static str,
    pub(super) script_long: &'static [&'static str],
    /// The words of the command are put together and given to a shell.
    pub(super) joined: bool,
    /// Options whose value is the directory to run in.
    pub(super) directory: &'static [&'static str],
    /// It runs on another machine, in the home directory there.
    pub(super) remote: bool,
}

/// The operands of a wrapper that takes any number of them.
pub(super) const ANY_OPERANDS: usize = 99;

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
    directory: &[],
    remote: false,
};

/// Everything that is known to run its arguments.
pub(super) const WRAPPERS: &[Wrapper] = &[
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
            "catchsegv",
            "proot",
            "aoss",
            "padsp",
            "optirun",
            "primusrun",
            "gamemoderun",
            "ccache",
            "sccache",
            "distcc",
            "please",
            "run0",
            "run-one",
            "run-this-one",
            "keep-one-running",
            "systemd-cat",
            "nq",
            "tsp",
            "flatpak-spawn",
            "cross-env",
            "rr",
            "with-contenv",
        ],
        ..PLAIN
    },
    Wrapper {
        names: &["sudo", "sudo-rs"],
        directory: &["-D", "--chdir"],
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
    Wrapper { names: &["choom"], short: "np", long: &["--adjust", "--pid"], ..PLAIN },
    Wrapper { names: &["aa-exec"], short: "pn", long: &["--profile", "--namespace"], ..PLAIN },
    Wrapper { names: &["runcon"], short: "turl", operands: 1, ..PLAIN },
    Wrapper { names: &["timelimit"], short: "pqSsTt", ..PLAIN },
    Wrapper { names: &["dtach", "abduco"], short: "AacneErzl", ..PLAIN },
    Wrapper { names: &["mpirun", "mpiexec", "srun"], short: "nNptc", long: &["--np", "--ntasks"], ..PLAIN },
    Wrapper { names: &["sbatch"], operands: ANY_OPERANDS, script_long: &["--wrap"], ..PLAIN },
    Wrapper { names: &["zellij"], subcommand: Some(&["run"]), short: "dn", long: &["--cwd", "--name"], ..PLAIN },
    Wrapper { names: &["wezterm"], subcommand: Some(&["start"]), long: &["--cwd"], ..PLAIN },
    Wrapper { names: &["pueue"], subcommand: Some(&["add"]), short: "wadgl", joined: true, ..PLAIN },
    Wrapper { names: &["lerna"], subcommand: Some(&["exec"]), long: &["--scope", "--concurrency"], ..PLAIN },
    Wrapper {
        names: &["foreman", "honcho", "pipx"],
        subcommand: Some(&["run"]),
        short: "e",
        long: &["--env"],
        ..PLAIN
    },
    Wrapper { names: &["watchexec"], short: "wefdso", long: &["--watch", "--exts", "--filter"], joined: true, ..PLAIN },
    Wrapper { names: &["nodemon"], operands: ANY_OPERANDS, script: "x", script_long: &["--exec"], ..PLAIN },
    Wrapper {
        names: &["ansible"],
        short: "miluefTBPtM",
        operands: ANY_OPERANDS,
        script: "a",
        script_long: &["--args"],
        ..PLAIN
    },
    Wrapper {
        names: &["ncat", "nc", "netcat"],
        operands: ANY_OPERANDS,
        script: "ce",
        script_long: &["--sh-exec", "--exec"],
        ..PLAIN
    },
    Wrapper { names: &["tcpdump"], short: "iwrCGWs", operands: ANY_OPERANDS, script: "z", ..PLAIN },
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
    Wrapper { names: &["gosu", "su-exec", "setuidgid", "s6-setuidgid", "setarch", "envdir"], operands: 1, ..PLAIN },
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
    Wrapper { names: &["entr"], script: "s", ..PLAIN },
    Wrapper { names: &["multitime"], short: "Iinoqsr", ..PLAIN },
    Wrapper { names: &["sem"], short: "jP", long: &["--jobs", "--id", "--timeout"], joined: true, ..PLAIN },
    Wrapper { names: &["retry"], short: "tdmx", operands: 0, long: &["--times", "--delay"], ..PLAIN },
    Wrapper { names: &["with-lock-ex", "lockrun"], short: "L", operands: 0, ..PLAIN },
    Wrapper { names: &["faketime"], operands: 1, ..PLAIN },
    Wrapper { names: &["systemd-nspawn"], short: "DMuUi", long: &["--directory", "--machine", "--user"], ..PLAIN },
    Wrapper { names: &["machinectl"], subcommand: Some(&["shell"]), operands: 1, ..PLAIN },
    Wrapper { names: &["nvm"], subcommand: Some(&["exec", "run"]), operands: 1, ..PLAIN },
    Wrapper { names: &["guix"], subcommand: Some(&["shell", "environment"]), operands: ANY_OPERANDS, ..PLAIN },
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
        names: &["bundle", "rbenv", "pyenv", "nodenv", "asdf", "npm", "pnpm", "yarn", "opam", "stack", "cabal"],
        subcommand: Some(&["exec", "x", "dlx"]),
        script: "c",
        script_long: &["--call"],
        ..PLAIN
    },
    Wrapper {
        names: &["poetry", "pipenv", "uv", "pdm", "hatch", "rye", "pixi", "op", "doppler", "dotenv", "conda", "mamba"],
        subcommand: Some(&["run"]),
        short: "npf",
        long: &["--name", "--prefix", "--with", "--python", "--env-file", "--project", "--config"],
        ..PLAIN
    },
    Wrapper {
        names: &["npx", "bunx", "pnpx", "uvx"],
        short: "p",
        long: &["--package"],
        script: "c",
        script_long: &["--call"],
        ..PLAIN
    },
    Wrapper { names: &["devbox"], subcommand: Some(&["run"]), short: "ce", long: &["--config", "--env"], ..PLAIN },
    Wrapper { names: &["flox"], subcommand: Some(&["activate"]), operands: ANY_OPERANDS, ..PLAIN },
    Wrapper {
        names: &["mise", "rtx"],
        subcommand: Some(&["exec", "x"]),
        operands: ANY_OPERANDS,
        script: "c",
        script_long: &["--command"],
        ..PLAIN
    },
    Wrapper { names: &["direnv", "aws-vault"], subcommand: Some(&["exec"]), operands: 1, ..PLAIN },
    Wrapper {
        names: &["nix-shell"],
        short: "pIA",
        script: "",
        script_long: &["--run", "--command"],
        operands: ANY_OPERANDS,
        ..PLAIN
    },
    Wrapper {
        names: &["su"],
        short: "gGsw",
        long: &["--group", "--shell", "--whitelist-environment"],
        operands: ANY_OPERANDS,
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
    Wrapper { names: &["newgrp"], operands: ANY_OPERANDS, script: "c", ..PLAIN },
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
    // Programs for something else that have an option whose value a shell runs.
    Wrapper {
        names: &["tar", "gtar", "bsdtar"],
        short: "fCTX",
        operands: ANY_OPERANDS,
        script: "I",
        script_long: &["--to-command", "--checkpoint-action", "--use-compress-program"],
        ..PLAIN
    },
    Wrapper {
        names: &["split", "gsplit"],
        short: "abClnt",
        operands: ANY_OPERANDS,
        script_long: &["--filter"],
        ..PLAIN
    },
    Wrapper { names: &["rsync"], operands: ANY_OPERANDS, script: "e", script_long: &["--rsh"], ..PLAIN },
    Wrapper { names: &["man"], operands: ANY_OPERANDS, script: "P", script_long: &["--pager"], ..PLAIN },
    Wrapper {
        names: &["vi", "vim", "nvim", "ex", "emacs"],
        operands: ANY_OPERANDS,
        script: "c",
        script_long: &["--cmd"],
        ..PLAIN
    },
];
