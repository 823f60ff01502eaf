sleep 0.01 & wait; echo $?
#---
(exit 7) & wait $!; echo $?
#---
true & p=$!; wait $p; echo $?; wait $p; echo $?; wait 999999; echo $?
#---
(until [ -e go ]; do sleep 0.01; done; exit 1) & (exit 2) & wait -n; echo $?; (sleep 0.2; touch go) & disown; wait -n; echo $?; wait -n; echo $?
#---
touch 0; for i in 3 1 2; do (until [ -e $((i-1)) ]; do sleep 0.01; done; echo $i; touch $i) & done; wait; echo all
#---
coproc cat; echo hello >&${COPROC[1]}; read -r x <&${COPROC[0]}; echo $x; eval "exec ${COPROC[1]}>&-"; wait $COPROC_PID; echo $?
#---
coproc up { tr a-z A-Z; }; echo text >&${up[1]}; exec 5<&${up[0]} {up[1]}>&-; cat <&5; wait; echo end
#---
exec 2>/dev/null; sleep 100 & jobs; jobs %1; kill %1; wait; echo none
#---
sleep 100 & kill $!; wait $! 2>/dev/null; echo $?
#---
sleep 100 & disown; kill $!; jobs; echo no jobs
#---
sleep 100 & kill -9 %1; wait %1 2>/dev/null; echo $?
#---
set -m; sleep 0.01 & wait; echo $?; set +m; echo $-
#---
set -m; (exit 3) & wait %1; echo $?; jobs
#---
set -m; sleep 100 & kill %1; wait %1; echo $? 2>/dev/null
#---
fg; echo $?; bg; echo $?; jobs %9; echo $?; disown %3; echo $?
#---
{ until [ -e go ]; do sleep 0.01; done; echo late; } & echo early; touch go; wait
#---
echo a & wait; echo b & wait; echo c
#---
f() { echo f $1; sleep 0.01; return $1; }; f 3 & f1=$!; wait $f1; echo $?
#---
x=1; (x=2; echo $x) & wait; echo $x; { x=3; } & wait; echo $x
#---
wait; echo $?; wait %1; echo $?; wait -n; echo $?; wait -n -p who; echo $? ${who-unset}
#---
sleep 0.2 & a=$!; wait -n -p who $a; [ $a = $who ] && echo same
#---
sleep 0.05 | sleep 0.01 & wait $!; echo $?; time -p true 2>/dev/null; echo $?
#---
TIMEFORMAT='took'; time true; TIMEFORMAT='%%'; time sleep 0.01; TIMEFORMAT=; time true; echo end
#---
echo $$ >a; (echo $$ >b; echo $BASHPID >c); cmp a b && ! cmp -s a c && echo right
#---
[ $! ] || echo no background; true & [ $! ] && echo one; wait
#---
nohup echo hi; nohup true </dev/null >/dev/null 2>&1; echo $?
#---
timeout 0.05 sleep 10; echo $?; exec 2>/dev/null; timeout -s KILL 0.05 sleep 10; echo $?; timeout 5 true; echo $?
#---
xargs -n1 echo item <<<"a b c"; seq 4 | xargs -P2 -n1 true; echo $?; printf 'a\0b\0' | xargs -0 -n1 echo
#---
(sleep 0.03; echo grandchild) | cat; (echo first; (sleep 0.02; echo second) & wait)
#---
kill -0 $$; echo $?; kill -0 999999999; echo $?; kill; echo $?; kill -NOSUCH $$; echo $?; kill abc; echo $?
#---
kill -l 9 15 137 TERM; kill -l | head -3; kill -l 999; echo $?
#---
setsid echo in a session; setsid -w sh -c 'exit 4'; echo $?
