mkdir d; echo needle >d/f; echo hay >g; rg needle
#---
echo needle >f; rg -n needle; rg -c needle; rg nothing; echo $?; rg -l needle | cat; rg needle f; echo piped needle | rg needle
#---
echo a >f; grep a; echo $?; grep a f; grep -rn a .; grep -c x f; grep a nosuch; echo $?
#---
printf 'a 1\nb 2\n' | awk '{s+=$2; print $1} END {print s}'; awk 'BEGIN {print "x"; exit 3}'; echo $?; awk '{'; echo $?
#---
printf 'a\nb\nc\n' | sed -n '2p;s/c/C/p'; echo abc | sed 's/\(b\)/[\1]/;y/ac/AC/'; sed 'bad'; echo $?; echo x >f; sed -i s/x/y/ f; cat f
#---
python3 -c 'print("hi"); import sys; print("err", file=sys.stderr)'
#---
python3 -c 'import sys; print(sys.stdin.read() == "", sys.stdin.isatty(), sys.stdout.isatty())'
#---
python3 -c 'import os; print(os.getppid() > 1, os.getsid(0) == os.getppid() or True, os.getpgid(0) == os.getsid(0))'
#---
python3 -c 'import signal; print([s.name for s in signal.Signals if signal.getsignal(s) == signal.SIG_IGN])'
#---
grep -E '^Sig(Blk|Ign|Cgt|Pnd)' /proc/self/status
#---
grep -E '^(Sig[PBIC]|Umask|Groups|Uid|Gid|NoNewPrivs|Seccomp|Cap|Cpus_allowed:)' /proc/self/status; cat /proc/self/oom_score_adj /proc/self/limits
#---
grep -E '^(SigBlk|SigIgn|SigCgt|Umask|TracerPid|Threads|CoreDumping|Dumpable)' /proc/$$/status; cat /proc/$$/comm; readlink /proc/$$/exe /proc/$$/root
#---
readlink /proc/$$/cwd /proc/self/cwd | sed "s:$HOME:H:"; nice; cat /proc/self/personality; cut -d' ' -f18,19,41 /proc/self/stat
#---
read -r _ _ _ _ pgrp session tty tpgid _ < <(sed 's/.*)/x x/' /proc/$$/stat); [ $pgrp = $$ ] && [ $session = $$ ] && echo leads; echo $tty $tpgid
#---
cat /proc/self/cmdline | tr '\0' '|'; cat /proc/self/environ | tr '\0' '\n' | grep -v TEST_MARK | sort
#---
exec cat /proc/self/cmdline
#---
cat /proc/self/cmdline
#---
ls -l | tail -n +2; ls nosuch; ls -a; echo x >f; wc -lc f; cat f f; rm f; ls
#---
seq 5 | sort -rn | head -2 | tr '\n' ,; seq 3 | paste -sd+ | bc 2>/dev/null || echo; seq 10 | tail -1; printf 'b\na\nb\n' | sort | uniq -c
#---
printf '%s\n' c a b | sort >f; printf 'a\n' | comm -23 f -; cut -c1 f; rev f; tac f; nl f; fold -w1 f; cmp f f; echo $?
#---
find . -maxdepth 1; touch a b; find . -name a -exec echo found {} \; ; find . -name 'b' -print0 | xargs -0 ls; find nosuch; echo $?
#---
mkdir -p x/y; cp /dev/null x/y/z; tar cf - x | tar tf -; ln -s x l; readlink l; realpath l | sed "s:$HOME:H:"; basename /a/b.c .c; dirname /a/b; mktemp -u XXXXXX | wc -c
#---
echo hello | md5sum; printf abc | sha1sum | cut -c1-8; echo aGk= | base64 -d; echo; printf hi | xxd 2>/dev/null | head -1; printf hi | od -An -tx1
#---
perl -e 'print "perl $$\n" =~ /\d/ ? "yes\n" : "no\n"; exit 5'; echo $?; exec 2>/dev/null; perl -e 'kill 9, $$'; echo $?
#---
git init -q . 2>&1; git status --short; git log 2>&1 | head -1; git nosuch 2>&1 | head -1; git --no-pager branch
#---
git init -q .; git -c user.name=a -c user.email=b@c commit -q --allow-empty -m 'message here'; git log --format=%s; git show --stat --format=%an | cat; git diff; echo $?
#---
test -t 0 || echo no terminal; id -u; whoami; uname -s; hostname >/dev/null; echo $?; tput cols 2>/dev/null; echo $?
#---
less </dev/null; more /dev/null; man nosuch >/dev/null 2>&1; vi --version >/dev/null 2>&1; sudo -n true >/dev/null 2>&1; echo end
#---
env -i /bin/echo clean; env -i bash -c 'echo ${PATH:+has path} ${PWD:+has pwd} $SHLVL'; env A=1 sh -c 'echo $A'; env nosuch; echo $?
#---
printf '#!/bin/bash\necho "script $0 $# $-"\n' >s; chmod +x s; ./s a b; bash s; bash ./s x; sh s; printf 'echo no shebang $0\n' >t; chmod +x t; ./t
#---
printf '#!/usr/bin/env python3\nprint("py")\n' >p; chmod +x p; ./p; printf '#!/bin/sh -e\nfalse\necho no\n' >q; chmod +x q; ./q; echo $?
#---
jq -n 1 2>/dev/null || echo; node -e 'console.log(1)' 2>/dev/null; make -v >/dev/null 2>&1; printf 'all:\n\t@echo made\n' >Makefile; make 2>&1 | head -1
#---
dd if=/dev/zero of=f bs=1 count=3 status=none; stat -c '%s %a' f; chmod 600 f; stat -c %A f; touch -d @0 f; date -u -r f +%F; df . >/dev/null; echo $?
#---
cat nosuch <<<x - 2>&1; tee a b <<<t; tee /nosuch/x <<<u; echo $?; split -l1 <<<$'1\n2'; ls x??
