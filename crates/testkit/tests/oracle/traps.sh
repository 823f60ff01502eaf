trap 'echo bye' EXIT; echo hi
#---
trap 'echo bye $?' EXIT; exit 7
#---
trap 'exit 9' EXIT; exit 7
#---
trap 'echo err at $LINENO: $BASH_COMMAND' ERR
true
false
(exit 3)
echo done
#---
trap 'echo "debug: $BASH_COMMAND"' DEBUG; x=1; echo $x; for i in 1 2; do :; done
#---
trap 'echo got TERM' TERM; kill -TERM $$; echo after
#---
trap 'echo got INT; exit 3' INT; kill -INT $$; echo never
#---
trap 'echo usr1' USR1; trap 'echo usr2' USR2; kill -USR1 $$; kill -USR2 $$; kill -s USR1 $$; trap -p
#---
trap '' TERM; kill -TERM $$; echo ignored; trap -p TERM; trap - TERM; trap -p
#---
trap '' PIPE; yes 2>/dev/null | head -1; echo "${PIPESTATUS[@]}"
#---
trap 'echo return trap' RETURN; f() { echo in f; }; f; declare -ft f; f
#---
f() { trap 'echo exit from f' EXIT; }; f; echo main
#---
(trap 'echo sub exit' EXIT; echo in sub); echo out
#---
trap 'echo outer' EXIT; (echo in sub); bash -c 'trap "echo inner" EXIT'; echo $(trap 'echo in subst' EXIT)
#---
trap 'echo $?; exit 5' ERR; set -e; false; echo never
#---
set -e; trap 'echo cleanup $?' EXIT; false; echo never
#---
set -E; trap 'echo ERR in ${FUNCNAME[0]:-main}' ERR; f() { false; true; }; f; echo $?
#---
set -T; trap 'echo "> $BASH_COMMAND"' DEBUG; f() { :; }; f
#---
trap 'echo a' EXIT; trap 'echo b' EXIT; trap
#---
trap 'echo bye' EXIT; kill -9 $$
#---
trap 'echo bye' EXIT; kill -TERM $$; echo after
#---
trap 'echo hup' HUP; kill -HUP $$; sleep 0.01; echo $?
#---
trap 'echo chld' CHLD; /bin/true; echo end
#---
trap nosuchcommand EXIT; echo x
#---
trap 'echo x' NOSUCHSIG; echo $?; trap 'x' 99; echo $?; trap -l | head -2; trap 'echo zero' 0
#---
trap 'echo first; trap "echo second" EXIT' EXIT; exit 2
#---
trap 'echo int' INT; (kill -INT $BASHPID; echo sub goes on); echo $?
#---
trap 'echo caught; wait' TERM; (sleep 0.2; kill -TERM $$; sleep 0.2) & wait $!; echo $?; wait; echo end
#---
trap 'kill $p; exit 1' ALRM; sleep 100 & p=$!; (kill -ALRM $$); wait; echo never
#---
trap 'echo exit; exec echo replaced' EXIT; exit 3
#---
trap "echo 'quoted \"text\"'" EXIT; trap -p EXIT
#---
trap 'echo "$BASH_COMMAND"' ERR; ! true; false || true; if false; then :; fi; false && true; while false; do :; done; [[ a == b ]]; ((0)); echo end
