exit
#---
exit 256
#---
exit 257
#---
exit -1
#---
exit 1000000
#---
exit abc
#---
exit 1 2; echo $?
#---
false
#---
true; exit $?
#---
(exit 42)
#---
exit 5 | exit 6
#---
set -o pipefail; exit 5 | true
#---
for i in {0..300}; do (exit $i); echo -n "$? "; done
#---
nosuchcommand
#---
nosuchcommand arg; echo $?; ./nosuch; echo $?; /nosuch/path; echo $?; /; echo $?; .; echo $?; ''; echo $?
#---
touch f; ./f; echo $?; chmod +x f; ./f; echo $?; printf '\177ELF' >g; chmod +x g; ./g; echo $?; printf '#!/nosuch\n' >h; chmod +x h; ./h; echo $?; mkdir d; ./d
#---
exec nosuchcommand; echo never
#---
exec ./nosuch; echo never
#---
touch f; exec ./f; echo never
#---
shopt -s execfail; exec nosuch; echo $?; exec ./nosuch; echo still
#---
exec echo replaced; echo never
#---
exec sh -c 'echo $0; exit 3'
#---
exec -a name bash -c 'echo $0'
#---
exec -c env; echo never
#---
exec -l sh -c 'echo $0'
#---
(exec true); echo $?; (exec false); echo $?; exec; echo $?; exec 3</dev/null; echo $?
#---
kill -9 $$
#---
kill $$; sleep 10
#---
kill -SEGV $$
#---
kill -PIPE $$; sleep 10
#---
echo before; kill -ABRT $$; echo never
#---
sh -c 'kill -9 $$'
#---
bash -c 'kill -TERM $$; sleep 10'
#---
bash -c 'exit 300'
#---
sh -c 'exit 3'; echo $?
#---
exec 2>/dev/null; (kill -9 $BASHPID); echo $?
#---
exec sh -c 'kill -USR1 $$'
#---
python3 -c 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)'
#---
python3 -c 'import sys; sys.exit(77)'
#---
python3 -c 'raise ValueError("text")' 2>&1 | tail -1
#---
return 5; echo $?
#---
return; echo $?
#---
f() { return 5; }; f; echo $?; f() { return 256; }; f; echo $?; f() { return -1; }; f; echo $?; f() { return x; }; f; echo $?; f() { false; return; }; f
#---
break; echo $?; continue 2; echo $?; for i in 1 2; do break 9; done; echo $i; for i in 1; do continue x; done; echo $?
#---
logout; echo $?
#---
f() { exit 4; }; f; echo never
#---
eval 'exit 6'; echo never
#---
echo 'exit 8' >s; . ./s; echo never
#---
x=$(exit 9)
#---
x=$(exit 9) true; echo $?; readonly y=$(exit 3); echo $?; export z=$(exit 3); echo $?
#---
trap 'exit 10' EXIT; kill -TERM $$
#---
true && false || (exit 11)
#---
if false; then :; fi
#---
while false; do :; done; for i in; do :; done
#---
! true
#---
echo x | grep -q y
#---
test 1 -eq 2
#---
: "${x?message}"
#---
set -u; : $x
#---
readonly x=1; x=2
#---
readonly x=1; f() { x=2; echo never; }; f; echo never
#---
cd /nosuch
#---
sleep abc; echo $?; sleep 0 0; sleep; echo $?
#---
ulimit -c 0; kill -QUIT $$; kill -FPE $$
