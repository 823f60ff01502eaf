echo out; echo err >&2; echo out again
#---
for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done
#---
echo x >/dev/stderr; echo y >/dev/stdout; echo z >/dev/fd/1; echo w >/proc/self/fd/2
#---
exec 3<>file; echo written >&3; exec 3>&-; cat file
#---
printf '1\n2\n3\n' >f; exec 3<>f; read -r x <&3; echo two >&3; exec 3>&-; cat f; echo $x
#---
exec >file; echo to the file; echo err >&2; exec >/dev/stderr; cat file
#---
exec 2>&1; echo out; echo err >&2; ls nosuch
#---
exec >&-; echo lost; echo seen >&2
#---
exec 1>&- 2>&-; echo lost; exit 5
#---
exec {fd}>file; echo $fd; echo text >&$fd; exec {fd}>&-; cat file; echo again >&$fd; echo $?
#---
exec 3>&1 4>&2; echo three >&3; echo four >&4; exec 1>/dev/null; echo lost; echo still >&3
#---
{ echo out; echo err >&2; } >f 2>&1; cat f; { echo out; echo err >&2; } 2>&1 >g | sed 's/^/piped: /'; cat g
#---
echo both &>f; echo more &>>f; echo err >&2 2>>f; cat f
#---
echo a >f >g; cat f; cat g; echo b >>g; cat <f <g
#---
echo x >nosuch/file; echo $?; echo y >/; echo $?; cat <nosuch; echo $?; : >"" ; echo $?
#---
cat <&9; echo $?; echo x >&9; echo $?; exec 9>&-; echo $?
#---
exec <nosuch; echo never
#---
exec 3<nosuch; echo never
#---
ls -1 /proc/self/fd
#---
ls -l /proc/self/fd/0 | sed 's/.* -> /-> /'; [ /proc/self/fd/1 -ef /proc/self/fd/2 ] && echo one pipe; [ -p /proc/self/fd/1 ] && echo pipe
#---
bash -c 'ls -1 /proc/self/fd'; python3 -c 'import os; print(sorted(os.listdir("/proc/self/fd"))[:3])'
#---
for fd in 0 1 2 3 10 63 255; do [ -e /proc/$$/fd/$fd ] && echo $fd; done
#---
cat; echo $?; read x; echo $? "[$x]"; wc -c; head -1; sort
#---
cat | wc -l; cat - <<<dash; tee copy <<<teed; cat copy; while read x; do echo never; done; echo end
#---
echo input | { read x; echo "got $x"; cat; }; printf 'a\nb' | while read l; do echo $l; done; printf 'a\nb' | while read l || [ $l ]; do echo $l; done
#---
[ -t 0 ]; echo $?; [ -t 1 ]; echo $?; [ -t 2 ]; echo $?; tty; echo $?; stty -a; echo $?
#---
echo x >/dev/tty; echo $?; : </dev/tty; echo $?
#---
read -p 'prompt> ' x; echo $?; read -s x; read -e x; read -t 0; echo $?; read -t 0.01 x; echo $?; read -u 7 x; echo $?
#---
select x in a b; do echo $x; done; echo $?; select y in one two; do echo "chose $y"; break; done <<<2
#---
head -c 1000000 /dev/zero | tr '\0' x
#---
head -c 300000 /dev/zero | tr '\0' y; echo end >&2
#---
python3 -c 'import sys; sys.stdout.write("z" * 1000000)'; echo; echo done
#---
printf 'a\0b\0\0c\n'; head -c 10 /dev/zero; printf '\377\376\200'
#---
printf 'no newline'; printf ' at the end'
#---
printf 'a\r\nb\r\n'; printf 'progress 1\rprogress 2\r'; printf '\033[31mred\033[0m\b\a\f\v'
#---
seq 20000
#---
for i in {1..2000}; do echo line $i; echo error $i >&2; done
#---
(echo sub out; echo sub err >&2) 2>&1 | cat; (echo a; echo b >&2) 2>/dev/null; (echo a; echo b >&2) >/dev/null
#---
echo x | tee /dev/stderr | cat; echo y | tee >(cat >f) >/dev/null; until [ -s f ]; do sleep 0.01; done; cat f
#---
exec 7<<<"kept open"; cat <&7; cat <&7; exec 7<&-; exec 8< <(echo p); read -u 8 l; echo $l; exec 8<&-
#---
f() { echo in; } >f; f; cat f; while read l; do echo "[$l]"; done <f >g; cat g; if true; then echo c; fi >h; cat h
#---
dd if=/dev/zero bs=1k count=3 2>/dev/null | wc -c; cat /dev/null; : >f; [ -s f ] || echo empty; truncate -s 5 f; wc -c <f
#---
mkfifo p; echo through >p & cat p; wait; rm p; ls
#---
exec 3>&2 2>f; ls nosuch; exec 2>&3 3>&-; cat f; echo back >&2
#---
echo a >&2 >&1; echo b 1>&2; echo c 2>&1 1>&2; >f; cat f; <f; echo $?; 2>g ls nosuch; cat g
#---
ulimit -n 64; ulimit -n; exec 63>f; echo $?; exec 64>g; echo $?
#---
yes | head -c 100000 | wc -c; trap '' PIPE; (yes; echo $? >&2) 2>f | head -1; sed 's/.*: //' f
