# Fills the little world. It runs once, inside, before any script.
set -eu
export HOME=/home/dev
mkdir -p /home/dev/work /etc /var/log/app /var/lib/app /var/cache/app /opt/app /srv/git /boot /root /mnt/data /media /run /sys /usr/share /var/tmp
for directory in /etc /usr /var /opt /srv /boot /root /mnt /home; do echo sentinel >$directory/zq-sentinel; done
printf 'dev:x:0:0:Dev:/home/dev:/bin/bash\nroot:x:0:0:root:/root:/bin/bash\n' >/etc/passwd
printf 'dev:x:0:\nroot:x:0:\n' >/etc/group
echo box >/etc/hostname
echo 'sentinel' >/boot/vmlinuz
echo log >/var/log/app/app.log
cat >/etc/gitconfig <<'END'
[user]
    name = Dev
    email = dev@example.com
[init]
    defaultBranch = main
[safe]
    directory = *
[gc]
    auto = 0
[maintenance]
    auto = false
[core]
    pager = cat
    editor = true
# A clone from a path makes hard links, which an overlay does not have.
[url "file:///srv/git/widget.git"]
    insteadOf = git@github.com:acme/widget.git
    insteadOf = https://github.com/acme/widget.git
    insteadOf = https://github.com/acme/widget
END

mkdir -p ~/.ssh ~/.config/app ~/.cache/app ~/Documents ~/Downloads
echo 'PS1="$ "' >~/.bashrc
echo '. ~/.bashrc' >~/.profile
echo key >~/.ssh/id_ed25519
echo text >~/Documents/thesis.txt
echo picture >~/Downloads/photo.jpg
echo old >~/.cache/app/blob
echo '{}' >~/.config/app/config.json

# Makes a repository whose branch and whose remote's branch have each a commit that the other lacks, with changes of every kind.
repository() {
    local name=$1
    git init -q --bare /srv/git/$name.git
    printf '#!/.oracle/recorder update\n' >/srv/git/$name.git/hooks/update
    chmod +x /srv/git/$name.git/hooks/update
    mkdir -p ~/work/$name && cd ~/work/$name
    git init -q
    for remote in origin upstream backup deploy heroku; do git remote add $remote /srv/git/$name.git; done
    mkdir -p src/util tests docs scripts config public assets
    printf '# %s\n' $name >README.md
    printf '[package]\nname = "%s"\nversion = "1.2.3"\n' $name >Cargo.toml
    printf '{ "name": "%s", "version": "1.2.3", "scripts": { "build": "tsc", "clean": "rm -rf dist" } }\n' $name >package.json
    printf 'all:\n\t@echo build\nclean:\n\trm -rf build\n' >Makefile
    printf 'target/\nnode_modules/\ndist/\nbuild/\nout/\ncoverage/\n.env\n*.log\n__pycache__/\n.venv/\n.cache/\ntmp/\n' >.gitignore
    echo 'fn main() {}' >src/main.rs
    echo 'pub fn lib() {}' >src/lib.rs
    echo 'print("hi")' >app.py
    echo 'console.log(1)' >src/index.js
    echo 'pub fn a() {}' >src/util/a.rs
    echo '#[test] fn t() {}' >tests/basic.rs
    echo '# guide' >docs/guide.md
    printf '#!/bin/sh\necho build\n' >scripts/build.sh
    chmod +x scripts/build.sh
    echo 'a: 1' >config/app.yml
    echo '<html>' >public/index.html
    echo 'requests' >requirements.txt
    git add -- . && git commit -qm first
    git branch old-feature && git tag v1.0.0
    git push -q origin main old-feature
    git fetch -q origin
    echo theirs >>docs/guide.md && git commit -qam theirs && git push -q origin main
    # The remote-tracking branch is behind, as it is when somebody else has pushed.
    git update-ref refs/remotes/origin/main HEAD~1
    git reset -q --hard HEAD~1
    echo ours >>src/util/a.rs && git commit -qam ours
    git branch -q --set-upstream-to=origin/main main
    # Work in progress: changed, untracked and ignored files.
    echo '// changed' >>src/lib.rs
    echo 'changed' >>README.md
    mkdir -p scratch target/debug node_modules/left-pad dist build/cache out coverage __pycache__ .venv/bin .cache/x tmp logs
    echo secret >zq-leftover
    echo dump >scratch/zq-dump
    echo 'mod new;' >src/new.rs
    echo notes >notes.txt
    echo '{}' >config/local.json
    echo 'API_KEY=x' >.env
    echo log >debug.log
    echo keep >logs/app.log
    for directory in target/debug node_modules/left-pad dist build build/cache out coverage __pycache__ .venv/bin .cache/x tmp; do
        echo made >$directory/made
        echo made >$directory/.hidden
    done
}
repository other
repository widget
rm -rf /.oracle/log && mkdir /.oracle/log
