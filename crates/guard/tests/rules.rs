//! Every rule with examples that hold it to its word.

use std::collections::BTreeSet;

use bashful_guard::{BUILT_IN, Guard, Policy, Prelude, Setting};

/// The examples of one rule.
struct Examples {
    rule: &'static str,
    /// Scripts in which it finds something.
    refuses: &'static [&'static str],
    /// Scripts in which it finds nothing, near misses among them.
    allows: &'static [&'static str],
}

const EXAMPLES: [Examples; 18] = [
    Examples {
        rule: "git/blind-add",
        refuses: &[
            "git add -A",
            "git add --all",
            "git add .",
            "git add *",
            "git add '*'",
            "git add :/",
            "git add -Av",
            "git stage .",
            "git add src/..",
            "git add -- ./",
            "git -C sub add .",
            "git add \"$PWD\"",
            "find . -type f | xargs git add",
        ],
        allows: &[
            "git add src/main.rs",
            "git add -u",
            "git add -A docs",
            "git add -n .",
            "git add -p",
            "git add -- -A",
            "git add *.md",
            "git commit -m 'git add .'",
            "git log --grep add .",
            "git worktree add ../x",
        ],
    },
    Examples {
        rule: "git/force-push",
        refuses: &[
            "git push -f",
            "git push origin main --force",
            "git push origin +main",
            "git push --mirror",
            "git push -uf origin x",
            "git push --force-with-lease --force",
            "git -c alias.p='push -f' p",
            "git send-pack --force origin",
        ],
        allows: &[
            "git push",
            "git push --force-with-lease",
            "git push origin fix-f",
            "git push -o force=1",
            "git fetch -f",
            "echo 'git push -f'",
            "git push --force --dry-run",
            "git push origin v1+2",
        ],
    },
    Examples {
        rule: "rm/critical",
        refuses: &[
            "rm -rf /",
            "rm -r ~",
            "rm -rf .git",
            "rm -rf *",
            "rm -rf .",
            "rm -rf ..",
            "rm -rf /etc",
            "rm -rf \"$HOME\"/*",
            "cd / && rm -rf *",
            "find . -delete",
            "ls | xargs rm -rf",
            "rm -rf .gi[t]",
            "rm / -fr",
            "python3 -c 'import shutil; shutil.rmtree(\"/\")'",
        ],
        allows: &[
            "rm -rf build",
            "rm -rf /tmp/x",
            "rm -rf '~'",
            "rm -rf \"*\"",
            "rm -rf build/*",
            "rm -f .git/index.lock",
            "find . -name '*.pyc' -delete",
            "git rm -r --cached .",
            "echo rm -rf /",
            "cd build && rm -rf *",
        ],
    },
    Examples {
        rule: "rm/below-home",
        refuses: &["rm -rf ~/Documents", "rm -r $HOME/.cache", "rm -rf ~/work/*", "rm -rf ~other/x"],
        allows: &[
            "rm -rf ~/work/old",
            "rm -rf '~/Documents'",
            "cd ~/project && rm -rf build",
            "rm ~/notes.txt",
            "rm -rf $HOMEBREW_CACHE/x",
        ],
    },
    Examples {
        rule: "rm/named-below-home",
        refuses: &["rm -rf ~/work/old", "rm -r $HOME/.cache/x"],
        allows: &["rm -rf ~/work", "rm -rf ~/work/*", "rm -rf ./old"],
    },
    Examples {
        rule: "rm/unknown-directory",
        refuses: &["rm -rf \"$DIR\"/*", "rm -rf $DIR/", "rm -rf /$DIR"],
        allows: &["rm -rf \"${DIR:?}\"/*", "rm -rf \"$DIR/build\"", "rm -rf \"$DIR\"", "DIR=x; rm -rf \"$DIR\"/*"],
    },
    Examples {
        rule: "rm/failed-cd",
        refuses: &["cd build; rm -rf *", "cd build; rm -rf \"$(pwd)\"", "cd out; find . -delete"],
        allows: &[
            "cd build && rm -rf *",
            "cd build || exit; rm -rf *",
            "set -e; cd build; rm -rf *",
            "mkdir -p build; cd build; rm -rf *",
            "cd build; rm -rf out",
            "cd build; rm -f *.o",
        ],
    },
    Examples {
        rule: "git/delete-remote",
        refuses: &[
            "git push --delete origin x",
            "git push origin :x",
            "git push -d origin x",
            "git push --prune origin",
        ],
        allows: &["git push origin x:y", "git branch -d x", "git fetch --prune"],
    },
    Examples {
        rule: "process/kill-host",
        refuses: &[
            "kill -9 -1",
            "kill -- -1",
            "kill -s KILL -1",
            "kill $PPID",
            "kill -9 \"$PPID\"",
            "pkill -f .",
            "killall node",
            "pkill bash",
            "pkill -9 -u me",
            "sudo killall -9 node",
        ],
        allows: &[
            "kill 123",
            "kill -1 123",
            "kill -9 -12345",
            "kill -TERM -- -\"$pgid\"",
            "kill %1",
            "kill 0",
            "kill -l",
            "pkill -f 'node server.js'",
            "pkill -P $$",
            "pkill -CONT bash",
            "killall -0 node",
            "echo 'kill -9 -1'",
        ],
    },
    Examples {
        rule: "process/kill-by-name",
        refuses: &["pkill -f vite", "killall myserver", "pkill -9 python3"],
        allows: &["kill 123", "pgrep -f vite", "pkill -P 123 vite", "killall -l"],
    },
    Examples {
        rule: "disk/write-image",
        refuses: &[
            "dd if=x.img of=/dev/sdb",
            "xzcat x.img.xz | dd of=/dev/mmcblk0",
            "cp x.img /dev/nvme1n1",
            "cat x.img > /dev/sdc",
        ],
        allows: &["dd if=/dev/sdb of=x.img", "dd if=x.img of=y.img", "dd if=x.img of=/dev/sda"],
    },
    Examples {
        rule: "disk/overwrite",
        refuses: &[
            "dd if=/dev/zero of=/dev/sda",
            "sudo mkfs.ext4 /dev/nvme0n1p2",
            "wipefs -a /dev/sdb",
            "cat image > /dev/sda",
            "echo x | sudo tee /dev/vda",
            "shred -n 1 /dev/sdc",
            "dd if=image of=/dev/sdb1",
            "blkdiscard /dev/nvme0n1",
        ],
        allows: &[
            "dd if=/dev/sda of=disk.img",
            "dd if=a of=/dev/null",
            "mkfs.ext4 disk.img",
            "wipefs /dev/sdb",
            "echo x > /dev/null",
            "cat /dev/sda | head -c 512",
            "mkfs.ext4 /dev/loop0",
            "echo x > /dev/stderr",
        ],
    },
    Examples {
        rule: "permissions/system",
        refuses: &[
            "chmod -R 777 /srv",
            "sudo chown -R me /",
            "chmod -R 755 /etc /usr",
            "chown -R me:me /*",
            "cd / && chmod -R 777 var",
        ],
        allows: &[
            "chmod 755 /usr/local/bin/x",
            "chown -R me /usr/local",
            "chmod -R 755 build",
            "chown -R me ~/x",
            "chmod 1777 /tmp",
        ],
    },
    Examples {
        rule: "guard/allow",
        refuses: &[
            "bashful allow 'make'",
            "script -qc \"bashful --config x allow 'make'\" /dev/null",
            "sudo bashful allow x",
            "BASHFUL_GUARD_ENABLED=false bashful run 'make'",
            "bashful --config x run 'make'",
        ],
        allows: &["bashful run 'make'", "bashful check allow", "echo bashful allow x"],
    },
    Examples {
        rule: "guard/hidden-code",
        refuses: &[
            "python3 -c 'import zlib, base64; exec(zlib.decompress(base64.b64decode(open(\"x\").read())))'",
            "openssl enc -d -aes-256-cbc -k x -a <<< U2FsdGVkX1 | bash",
            "node -e 'eval(atob(process.env.X))'",
        ],
        allows: &[
            "python3 -c 'import zlib; print(zlib.decompress(open(\"x\", \"rb\").read()))'",
            "python3 -c 'exec(open(\"x.py\").read())'",
            "python3 -c 'import os; os.system(\"ls\")'",
        ],
    },
    Examples {
        rule: "guard/too-complex",
        refuses: &[
            "{ { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { { {",
        ],
        allows: &["for f in a b c; do echo \"$f\"; done"],
    },
    Examples {
        rule: "guard/not-understood",
        refuses: &["echo 'open", "make\nif true; then )", "echo a; fi", "bash -c 'echo )'"],
        allows: &[
            "echo ${a.b} \"${{ github.ref }}\"",
            "echo \"explain `if` and `for`\"",
            "((echo a) && (echo b))",
            "[[ $x =~ (^| )a( |$) ]]",
            "cat <<E\na ` b $( c ${\nE",
        ],
    },
    Examples {
        rule: "shell/interactive",
        refuses: &[
            "bash",
            "sh -i",
            "cd src && exec /bin/bash --norc",
            "env -i bash",
            "python3",
            "python3 -i",
            "sudo bash -l",
            "cat | sh",
            "node",
        ],
        allows: &[
            "bash -c 'make test'",
            "bash build.sh",
            "echo ls | bash",
            "curl -s example.com | sh",
            "bash <<< ls",
            "bash < build.sh",
            "bash --version",
            "python3 -m pytest",
            "python3 -V",
            "python3 script.py",
            "node -e 1",
            "echo bash",
        ],
    },
];

/// A guard with every rule turned on.
fn strict_guard() -> Guard {
    let levels = BUILT_IN.iter().map(|rule| (rule.name.to_owned(), Setting::At(rule.level))).collect();
    Guard::new(Policy { levels, ..Policy::default() }).expect("the names are those of rules")
}

#[test]
fn every_rule_has_examples_of_both_kinds() {
    let with_examples: BTreeSet<&str> = EXAMPLES.iter().map(|examples| examples.rule).collect();
    assert_eq!(with_examples, BUILT_IN.iter().map(|rule| rule.name).collect());
    for Examples { rule, refuses, allows } in EXAMPLES {
        assert!(!refuses.is_empty() && !allows.is_empty(), "{rule}");
    }
}

#[test]
fn every_rule_keeps_its_word() {
    let guard = strict_guard();
    let finds = |name: &str, script: &str| {
        guard.judge(script, &Prelude::default()).findings.iter().any(|finding| finding.rule == name)
    };
    for Examples { rule, refuses, allows } in EXAMPLES {
        for script in refuses {
            assert!(finds(rule, script), "{rule} finds {script}");
        }
        for script in allows {
            assert!(!finds(rule, script), "{rule} finds nothing in {script}");
        }
    }
}

#[test]
fn the_alternative_of_every_rule_passes() {
    for rule in BUILT_IN {
        assert!(!Guard::default().judge(rule.alternative, &Prelude::default()).refuses(), "{}", rule.name);
    }
}

#[test]
fn a_rule_that_is_off_finds_nothing() {
    for rule in BUILT_IN.iter().filter(|rule| !rule.is_on) {
        let examples = EXAMPLES.iter().find(|examples| examples.rule == rule.name).expect("every rule has examples");
        for script in examples.refuses {
            assert!(Guard::default().judge(script, &Prelude::default()).findings.is_empty(), "{script}");
        }
    }
}
