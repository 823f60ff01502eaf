//! The sandbox, attacked from inside, and ordinary work in it. Every test needs namespaces of users; without them all fail.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use bashful_testkit::{Home, eventually};
use serde_json::Value;

use crate::BASHFUL;

/// A home with a workspace, and something beside it that must stay as it is.
struct Fenced {
    home: Home,
}

impl Fenced {
    fn new() -> Self {
        let home = Home::new(BASHFUL);
        for directory in ["app", "outside"] {
            fs::create_dir(home.path().join(directory)).expect("a directory");
        }
        fs::write(home.path().join("outside/kept"), "as it was").expect("a file");
        Self { home }
    }

    fn app(&self) -> PathBuf {
        self.home.path().join("app")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        command.current_dir(self.app()).env("BASHFUL_SANDBOX_MODE", "workspace");
        command
    }

    fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("it runs")
    }

    /// Standard output of a script inside.
    #[track_caller]
    fn prints(&self, script: &str, expected: &str) {
        let output = self.output(&["run", script]);
        assert_eq!(text(&output.stdout), expected, "{script}: {}", text(&output.stderr));
    }

    /// Both streams of a script inside.
    fn says(&self, script: &str) -> String {
        let output = self.output(&["run", script]);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(!said.contains("nothing was run"), "{said}");
        said
    }

    /// Everything outside of the workspace and of our own state, with its contents.
    fn outside(&self) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        collect(self.home.path(), &mut found);
        found.retain(|(path, _)| !path.starts_with(self.app()) && !path.ends_with(".local"));
        found.sort();
        found
    }
}

fn collect(directory: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(directory).expect("there").flatten() {
        let kind = entry.file_type().expect("known");
        let text = if kind.is_file() { fs::read_to_string(entry.path()).unwrap_or_default() } else { String::new() };
        found.push((entry.path(), text));
        // Our own state has directories that only the kernel reads.
        if kind.is_dir() && entry.file_name() != ".local" {
            collect(&entry.path(), found);
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The name of the first process inside, which the kernel tells, and no setting.
const IS_FENCED: &str = "read -r name </proc/1/comm; echo $name";

const INSIDE: &str = "bashful-init\n";

#[test]
fn a_command_changes_its_workspace_and_nothing_else() {
    let fenced = Fenced::new();
    let before = fenced.outside();
    let outside = fenced.home.path().join("outside").display().to_string();
    let link = fenced.app().join("link");
    std::os::unix::fs::symlink(&outside, &link).expect("a link");
    let mark = "/usr/bashful-was-here";
    for script in [
        format!("touch {mark}"),
        format!("touch /etc/../{mark}"),
        format!("touch {outside}/new; echo x >{outside}/kept; rm -r {outside}/kept"),
        "echo x >link/kept; touch link/new".to_owned(),
        "echo x >../outside/kept; mkdir -p ../outside/new".to_owned(),
        format!("ln {outside}/kept hard && echo x >hard"),
        format!("touch mine; mv mine {outside}/mine; mv {outside}/kept stolen"),
        format!("touch /proc/self/root{mark} /proc/1/root{mark} /proc/1/cwd{mark} /proc/$PPID/root{mark}"),
        "chmod 777 /usr /etc/passwd; touch -d yesterday /etc/passwd; chown 1 /etc/passwd".to_owned(),
        "umount -l /tmp /usr / /proc; mount -o remount,rw /; mount --bind . /usr; pivot_root . .".to_owned(),
        format!("unshare -Urm bash -c 'mount -o remount,rw /; umount -l /tmp; touch {mark}'"),
        format!("unshare -m true; nsenter -t 1 -m touch {mark}"),
        "echo x >/proc/sys/kernel/core_pattern; echo b >/proc/sysrq-trigger; echo 1 >/sys/kernel/mm/ksm/run".to_owned(),
        "mknod disk b 254 0 && cat disk".to_owned(),
    ] {
        fenced.says(&script);
        assert_eq!(fenced.outside(), before, "{script}");
        assert!(!Path::new(mark).exists(), "{script}");
    }
    fenced.prints("touch new && mkdir -p a/b && echo x >a/b/c && cat a/b/c", "x\n");
    assert_eq!(fs::read_to_string(fenced.app().join("a/b/c")).expect("it is there"), "x\n");
}

#[test]
fn the_workspace_has_not_one_file_more_than_the_command_made() {
    let fenced = Fenced::new();
    let before = fenced.outside();
    fenced.prints("mkdir ~/.claude; touch made; echo >/tmp/x", "");
    let names: Vec<_> = fs::read_dir(fenced.app()).expect("there").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["made"]);
    assert_eq!(fenced.outside(), before);
    // In the mode that writes nothing, only temporary files can be made.
    let read_only =
        fenced.output(&["run", "--sandbox", "read-only", "touch more 2>&-; touch /tmp/x && echo temporary"]);
    assert_eq!(text(&read_only.stdout), "temporary\n", "{read_only:?}");
    assert!(!fenced.app().join("more").exists());
}

#[test]
fn what_is_hidden_cannot_be_read_in_any_way() {
    let fenced = Fenced::new();
    let secret = fs::read_to_string("/etc/hostname").expect("Debian has it");
    let hide = ("BASHFUL_SANDBOX_HIDE", r#"["/etc/hostname", "/usr/share/doc"]"#);
    for script in [
        "cat /etc/hostname",
        "cat /proc/self/root/etc/hostname /proc/1/root/etc/hostname /etc/../etc/hostname",
        "ln -s /etc/hostname link; cat link; ln /etc/hostname hard; cat hard",
        "cp /etc/hostname copy; cat copy; dd if=/etc/hostname; tar cf - /etc/hostname",
        "unshare -Urm bash -c 'umount /etc/hostname; cat /etc/hostname'",
        "ls /usr/share/doc; cat /usr/share/doc/bash/copyright",
    ] {
        let output =
            fenced.command(&["run", &format!("{script}; echo over")]).env(hide.0, hide.1).output().expect("it runs");
        assert!(text(&output.stdout).ends_with("over\n"), "{output:?}");
        let shown = text(&output.stdout) + &text(&output.stderr);
        assert!(!shown.contains(secret.trim()) && !shown.contains("GNU General Public"), "{script}: {shown}");
    }
    // Our own records and settings, and the allowances of people.
    fs::create_dir_all(fenced.home.path().join(".config/bashful")).expect("a directory");
    fs::write(fenced.home.path().join(".config/bashful/config.toml"), "[mcp]\ntoken = \"a-token-of-mine\"\n")
        .expect("a file");
    let state = fenced.home.state();
    fenced.output(&["run", "-b", "echo secret-output-of-a-job"]);
    let shown = fenced
        .says(&format!("cat ~/.config/bashful/config.toml; find {0}; cat {0}/jobs/*/* {0}/log/*", state.display()));
    assert!(!shown.contains("a-token-of-mine") && !shown.contains("secret-output"), "{shown}");
    // What a reply names can be read.
    fenced.output(&["run", "seq 1 100000"]);
    fenced.prints("tail -n 1 artifact://1", "100000\n");
}

#[test]
fn what_programs_outside_run_or_obey_stays_as_it_is() {
    let fenced = Fenced::new();
    let git = |args: &[&str]| {
        let done = Command::new("git").args(args).current_dir(fenced.app()).env("HOME", fenced.home.path()).output();
        assert!(done.expect("it runs").status.success());
    };
    git(&["init", "-q"]);
    fs::write(fenced.app().join(".envrc"), "mine").expect("a file");
    fs::create_dir(fenced.app().join(".claude")).expect("a directory");
    let config = fs::read_to_string(fenced.app().join(".git/config")).expect("git made it");
    for script in [
        "echo evil >.git/hooks/pre-commit",
        "echo evil >.envrc; rm .envrc; mv .envrc x; echo evil >x && mv x .envrc",
        "echo evil >.claude/settings.json; rmdir .claude; mv .claude x",
        "git config core.fsmonitor evil; echo evil >>.git/config; rm -f .git/config",
        "mv .git .old; cp -r .git .copy && rm -rf .git; mkdir -p .git/hooks; echo evil >.git/hooks/pre-commit",
    ] {
        fenced.says(script);
        assert_eq!(fs::read_to_string(fenced.app().join(".envrc")).expect("it is there"), "mine", "{script}");
        assert_eq!(fs::read_to_string(fenced.app().join(".git/config")).expect("it is there"), config, "{script}");
        assert!(!fenced.app().join(".git/hooks/pre-commit").exists(), "{script}");
        assert_eq!(fs::read_dir(fenced.app().join(".claude")).expect("it is there").count(), 0, "{script}");
    }
}

#[test]
fn nobody_outside_is_reached() {
    let fenced = Fenced::new();
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = tcp.local_addr().expect("an address").port();
    let socket = fenced.home.path().join("outside/socket");
    let path = UnixListener::bind(&socket).expect("a socket");
    let name = format!("bashful-test-{}", std::process::id());
    let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).expect("a name")).expect("a socket");
    for listener in [tcp.set_nonblocking(true), path.set_nonblocking(true), hidden.set_nonblocking(true)] {
        listener.expect("it is possible");
    }
    let python = format!(
        "import socket
for family, address in [(socket.AF_INET, ('127.0.0.1', {port})), (socket.AF_INET, ('10.0.0.1', 80)), \
         (socket.AF_UNIX, '{}'), (socket.AF_UNIX, '\\0{name}')]:
    try:
        socket.socket(family).connect(address); print('connected', address)
    except OSError as error: print(type(error).__name__)
for family in [40, 17, 38]:
    try: socket.socket(family, socket.SOCK_DGRAM); print('opened', family)
    except OSError as error: print(type(error).__name__)
",
        socket.display()
    );
    fs::write(fenced.app().join("try.py"), python).expect("a script");
    let shown = fenced.says("python3 try.py");
    assert!(!shown.contains("connected") && !shown.contains("opened") && shown.contains("Error"), "{shown}");
    assert!(tcp.accept().is_err() && path.accept().is_err() && hidden.accept().is_err());
}

#[test]
fn processes_outside_are_neither_seen_nor_signaled() {
    let fenced = Fenced::new();
    let mut outside = Command::new("sleep").args(["100000.5"]).stdin(Stdio::null()).spawn().expect("it runs");
    let shown =
        fenced.says("pgrep -f 100000.5; cat /proc/[0-9]*/cmdline | tr '\\0' ' '; pkill -f 100000.5; kill -9 -1");
    assert!(!shown.contains("sleep 100000.5"), "{shown}");
    assert!(outside.try_wait().expect("ours").is_none(), "it lives");
    outside.kill().expect("ours");
    outside.wait().expect("ours");
}

#[test]
fn a_stop_ends_every_process_inside_and_leftovers_are_a_job() {
    let fenced = Fenced::new();
    let script = "(setsid sleep 7771 &); (setsid nohup setsid sleep 7772 &); trap '' TERM; sleep 7773";
    let output = fenced.output(&["run", "-t", "1", script]);
    assert_eq!(output.status.code(), Some(124), "{output:?}");
    fenced.home.check_nothing_survives();
    let left = fenced.output(&["run", "(setsid sleep 7774 >out 2>&1 &); echo begun"]);
    assert_eq!(text(&left.stdout), "begun\n");
    assert!(text(&left.stderr).contains("sleep 7774"), "{left:?}");
    let job = serde_json::from_slice::<Value>(&fenced.output(&["jobs", "list", "--json"]).stdout).expect("JSON");
    assert_eq!(job[0]["leftover"][0]["command"], "sleep 7774", "{job}");
    assert!(fenced.output(&["jobs", "kill", "1"]).status.success());
    fenced.home.check_nothing_survives();
    // A leftover that ends by itself ends its job, although the keeper is not its parent.
    fenced.output(&["run", "(setsid bash -c 'until [ -e go ]; do sleep 0.01; done' &); echo begun"]);
    fs::write(fenced.app().join("go"), "").expect("it may go on");
    assert!(fenced.output(&["jobs", "wait", "2"]).status.success());
}

#[test]
fn a_killed_keeper_takes_everything_inside_along() {
    let fenced = Fenced::new();
    let job = fenced.output(&["run", "-b", "(setsid sleep 7775 &); touch begun; sleep 7776"]);
    assert!(job.status.success(), "{job:?}");
    assert!(eventually(|| fenced.app().join("begun").exists()));
    let shown = serde_json::from_slice::<Value>(&fenced.output(&["jobs", "show", "1", "--json"]).stdout).expect("JSON");
    let shell = i32::try_from(shown["pid"].as_i64().expect("a number")).expect("a process id");
    let stat = fs::read_to_string(format!("/proc/{shell}/stat")).expect("it runs");
    let keeper =
        stat.rsplit(") ").next().expect("fields").split(' ').nth(1).expect("a parent").parse().expect("a number");
    let keeper = rustix::process::Pid::from_raw(keeper).expect("a process id");
    rustix::process::kill_process(keeper, rustix::process::Signal::KILL).expect("ours");
    assert!(eventually(|| !Path::new(&format!("/proc/{shell}")).exists()));
    fenced.home.check_nothing_survives();
}

#[test]
fn every_way_to_run_a_command_is_fenced() {
    let fenced = Fenced::new();
    for args in [
        &["run"][..],
        &["run", "-s", "s"],
        &["run", "-s", "s"],
        &["run", "--split"],
        &["run", "--dialect", "native"],
        &["run", "--dialect", "pi"],
        &["run", "--patience", "60"],
    ] {
        let output = fenced.output(&[args, &[IS_FENCED]].concat());
        // pi tells the time, too.
        assert!(text(&output.stdout).starts_with(INSIDE), "{args:?}: {output:?}");
    }
    let events = fenced.output(&["run", "--events", IS_FENCED]);
    assert!(text(&events.stdout).contains("bashful-init"), "{events:?}");
    let plain = fenced.output(&["run", "--dialect", "plain", IS_FENCED]);
    assert!(text(&plain.stdout).contains("bashful-init"), "{plain:?}");
    fenced.output(&["run", "-b", IS_FENCED]);
    fenced.output(&["jobs", "wait", "1"]);
    assert!(text(&fenced.output(&["jobs", "show", "1"]).stdout).starts_with(INSIDE));
    // A command that its caller does not wait for any more, and a script that is too long for an argument.
    fenced.output(&["run", "--patience", "0.1", &format!("until [ -e go ]; do sleep 0.01; done; {IS_FENCED}")]);
    fs::write(fenced.app().join("go"), "").expect("it may go on");
    fenced.output(&["jobs", "wait", "2"]);
    assert!(text(&fenced.output(&["jobs", "show", "2"]).stdout).contains(INSIDE.trim()));
    fenced.prints(&format!("{IS_FENCED} #{}", "x".repeat(100_000)), INSIDE);
    assert!(fenced.output(&["sessions", "end", "s"]).status.success());
    // A session without a fence is another one.
    fenced.output(&["run", "-s", "s", "x=inside"]);
    let open = fenced.output(&["run", "-s", "s", "--sandbox", "off", "echo \"$x\""]);
    assert_eq!(text(&open.stdout), "\n");
    fenced.output(&["sessions", "end", "s"]);
    let other = fenced.output(&["run", "--sandbox", "off", IS_FENCED]);
    assert_ne!(text(&other.stdout), INSIDE);
    fenced.home.check_nothing_survives();
}

#[test]
fn a_failed_command_is_told_what_the_sandbox_denied_and_the_facts_have_its_fence() {
    let fenced = Fenced::new();
    let said = fenced.says("touch /etc/bashful-was-here");
    let app = fenced.app().display().to_string();
    let told = format!("[changing /etc/bashful-was-here is outside of the sandbox (writable: {app}, /tmp)]");
    assert!(said.contains(&told), "{said}");
    let facts: Value = serde_json::from_slice(&fenced.output(&["run", "--json", "true"]).stdout).expect("JSON");
    assert_eq!(
        (&facts["sandbox"]["mode"], &facts["sandbox"]["writes"][0]),
        (&"workspace".into(), &app.as_str().into())
    );
    assert!(!said.contains("no network"), "{said}");
    let explained = text(&fenced.output(&["explain", "true"]).stdout);
    assert!(explained.contains(&format!("sandbox:     workspace; writes: {app}; hidden:")), "{explained}");
    assert!(!fenced.says("true").contains("sandbox"), "nothing was denied");
    let refused = fenced.command(&["run", "true"]).current_dir("/").output().expect("it runs");
    assert!(text(&refused.stderr).contains("the whole machine cannot be the workspace"), "{refused:?}");
}

#[test]
fn temporary_files_and_caches_last_from_one_command_to_the_next_and_stay_inside() {
    let fenced = Fenced::new();
    fs::create_dir(fenced.home.path().join(".cache")).expect("a directory");
    fs::write(fenced.home.path().join(".cache/old"), "from outside").expect("a file");
    let before = fenced.outside();
    fenced.prints(
        "cat ~/.cache/old; echo; echo new >~/.cache/new; echo changed >~/.cache/old; echo t >/tmp/t",
        "from outside\n",
    );
    fenced.prints("cat ~/.cache/new ~/.cache/old /tmp/t", "new\nchanged\nt\n");
    assert_eq!(fenced.outside(), before);
    let shared = fenced.command(&["run", "echo x >~/.cache/shared"]).env("BASHFUL_SANDBOX_CACHES", "shared").output();
    assert!(shared.expect("it runs").status.success());
    assert!(fenced.home.path().join(".cache/shared").exists());
}

#[test]
fn ordinary_work_goes_on_inside() {
    let fenced = Fenced::new();
    let git = "git -c user.name=a -c user.email=a@b";
    for (script, expected) in [
        (format!("git init -q -b main && echo x >f && git add f && {git} commit -qm one && git log --format=%s"), "one\n"),
        (format!("git worktree add -q ../app/tree && cd tree && echo y >g && git add g && {git} commit -qm two && git log -1 --format=%s"), "two\n"),
        ("git status --short --untracked-files=no; git stash list".to_owned(), ""),
        ("printf 'all: a b c\\n\\na b c:\\n\\t@touch $@\\n' >Makefile && make -sj4 && ls a b c | tr '\\n' ' '".to_owned(), "a b c "),
        ("python3 -c 'import multiprocessing as m\nwith m.Pool(2) as p: print(sum(p.map(abs, [-1, -2])))'".to_owned(), "3\n"),
        ("python3 -m venv --without-pip env && env/bin/python -c 'print(1)'".to_owned(), "1\n"),
        ("sqlite3 t.db 'create table a(b); insert into a values(7); select b from a'".to_owned(), "7\n"),
        ("ps -o comm= -p $$; date >/dev/null; LC_ALL=C.UTF-8 locale >/dev/null && id -u >/dev/null && mktemp >/dev/null && echo ok".to_owned(), "bash\nok\n"),
        ("python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & until curl -s -o /dev/null 127.0.0.1:8123; do sleep 0.05; done; curl -s 127.0.0.1:8123/f; kill %1".to_owned(), "x\n"),
        // An ordinary user may have no shell for it.
        ("export SHELL=/bin/bash; tmux -L t new-session -d 'sleep 100' && tmux -L t list-sessions -F '#{session_windows}'; tmux -L t kill-server".to_owned(), "1\n"),
        ("printf 'int main(){return 0;}' >a.c && gcc a.c -o a.out && ./a.out && echo built".to_owned(), "built\n"),
    ] {
        fenced.prints(&script, expected);
    }
    fenced.home.check_nothing_survives();
}

/// Answers each connection with a line, on a port of this machine.
fn answering() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = std::io::Read::read(&mut client, &mut [0; 4096]);
            let _ = std::io::Write::write_all(&mut client, b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nanswered");
        }
    });
    port
}

#[test]
fn hosts_of_the_list_are_reached_by_name_and_port_and_others_are_told() {
    let fenced = Fenced::new();
    let (port, other) = (answering(), answering());
    let through = |options: &str, port: u16| format!("curl -sS --noproxy '' {options} http://127.0.0.1:{port}/; echo");
    let run = |script: &str| {
        let listed = format!("127.0.0.1:{port}");
        let output = fenced.output(&["run", "--domains", &listed, script]);
        text(&output.stdout) + &text(&output.stderr)
    };
    for options in ["-x $HTTP_PROXY", "-p -x $https_proxy", "-x $ALL_PROXY"] {
        assert_eq!(run(&through(options, port)), "answered\n", "{options}");
        let refused = run(&format!("{} exit 1", through(options, other).replace("; echo", " | grep answered;")));
        let told = format!("[127.0.0.1:{other} is not on the list of hosts that this command may reach]");
        assert!(refused.contains(&told) && !refused.contains("answered\n"), "{options}: {refused}");
    }
    assert!(!run(&format!("curl -s --noproxy '*' http://127.0.0.1:{port}/")).contains("answered"), "past the proxy");
    let wrong = fenced.output(&["run", "--domains", "exa mple", "true"]);
    assert!(text(&wrong.stderr).contains("`exa mple` names no host"), "{wrong:?}");
}

#[test]
fn a_port_of_this_machine_that_is_named_is_reached_and_no_other() {
    let fenced = Fenced::new();
    let (port, other) = (answering(), answering());
    let get = |port| format!("curl -s http://127.0.0.1:{port}/");
    let run = |script: String| {
        let ports = ("BASHFUL_SANDBOX_PORTS", format!("[{port}]"));
        text(&fenced.command(&["run", &script]).env(ports.0, ports.1).output().expect("it runs").stdout)
    };
    assert_eq!(run(get(port)), "answered");
    assert_eq!(run(get(other)), "");
}

#[test]
fn where_no_sandbox_can_be_made_nothing_runs() {
    let fenced = Fenced::new();
    let forbid = format!("echo 0 >/proc/sys/user/max_user_namespaces; exec {BASHFUL} \"$@\"");
    let args = ["-Ur", "bash", "-c", &forbid, "bash"];
    let run = |more: &[&str]| {
        let mut command = fenced.home.wrapped("unshare", &[args.as_slice(), more].concat());
        command.current_dir(fenced.app()).output().expect("it runs")
    };
    let refused = run(&["run", "--sandbox", "workspace", "touch ran"]);
    assert_eq!(refused.status.code(), Some(125), "{refused:?}");
    assert!(
        text(&refused.stderr).contains("the sandbox cannot be made, so nothing was run; see `bashful doctor`"),
        "{refused:?}"
    );
    assert!(!fenced.app().join("ran").exists());
    assert!(run(&["run", "touch ran"]).status.success(), "without one it does");
    let doctor = text(&run(&["doctor"]).stdout);
    assert!(doctor.contains("the sandbox (`off` by the settings) cannot be had here:"), "{doctor}");
}

#[test]
fn nothing_that_a_command_writes_or_a_call_says_opens_more() {
    let fenced = Fenced::new();
    let outside = fenced.home.path().join("outside").display().to_string();
    for trap in [format!("ln -s {outside} .git"), format!("echo 'gitdir: {outside}' >.git")] {
        fenced.says(&format!("rm -rf .git; {trap}"));
        fenced.says(&format!("echo x >{outside}/kept; touch {outside}/new"));
        assert_eq!(fs::read_to_string(fenced.home.path().join("outside/kept")).expect("it is there"), "as it was");
        assert!(!fenced.home.path().join("outside/new").exists(), "{trap}");
    }
    let hide = ("BASHFUL_SANDBOX_HIDE", r#"["~/secrets"]"#);
    let app = fenced.app();
    fs::create_dir(app.join("secrets")).expect("a directory");
    fs::write(app.join("secrets/key"), "a key of mine").expect("a file");
    let mut command =
        fenced.command(&["run", "--env", "HOME=/nowhere", &format!("cat {}/secrets/key; echo over", app.display())]);
    let output = command.env(hide.0, hide.1).env("HOME", &app).output().expect("it runs");
    assert!(text(&output.stdout).ends_with("over\n") && !text(&output.stdout).contains("a key of mine"), "{output:?}");
}
