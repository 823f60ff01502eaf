echo "$0|$-|$#|$?|$_|$*|$@|$1"
#---
echo $_; echo a b c; echo $_; x=1; echo "[$_]"; : last; echo $_
#---
((SECONDS < 60)) && echo young; SECONDS=100; ((SECONDS >= 100 && SECONDS < 160)) && echo set
#---
echo $LINENO
echo $LINENO; echo $LINENO

echo $LINENO
f() {
  echo $LINENO
}
f
eval 'echo $LINENO
echo $LINENO'
#---
printf '%s' "$BASH_EXECUTION_STRING"
#---
printf '%s\n' "$BASH_EXECUTION_STRING" '$(quotes)' "it's" `echo tick` # é "
#---
echo $BASH_SUBSHELL; (echo $BASH_SUBSHELL; (echo $BASH_SUBSHELL)); echo $(echo $BASH_SUBSHELL); { echo $BASH_SUBSHELL; } | cat
#---
echo "[${BASH_SOURCE[*]}][${FUNCNAME[*]}][${BASH_LINENO[*]}]"; f() { echo "[${BASH_SOURCE[*]}][${FUNCNAME[*]}][${BASH_LINENO[*]}]"; g; }; g() { echo "[${FUNCNAME[*]}][${BASH_LINENO[*]}]"; }
f
#---
declare -p BASH_SOURCE FUNCNAME BASH_LINENO; f() { declare -p BASH_SOURCE FUNCNAME BASH_LINENO; }; f
#---
echo 'echo "${BASH_SOURCE[0]}|$0|${FUNCNAME[*]}|$LINENO"; return 3; echo never' >s; source ./s; echo $?; . ./s arg; bash s
#---
caller; echo $?; f() { caller; caller 0; caller 1; echo $?; }; f; g() { f; }
g
#---
echo ${PIPESTATUS[@]}; true | false; echo ${PIPESTATUS[@]}
#---
PIPESTATUS
#---
echo "${BASH_ARGC[@]}|${BASH_ARGV[@]}"; shopt -s extdebug; f() { echo "${BASH_ARGC[@]}|${BASH_ARGV[@]}"; }; f a b c
#---
echo $SHLVL; bash -c 'echo $SHLVL'; (echo $SHLVL); sh -c 'echo $SHLVL'
#---
[[ $PPID =~ ^[0-9]+$ && $$ =~ ^[0-9]+$ && $BASHPID == $$ && $PPID != $$ ]] && echo numbers
#---
echo $BASH_COMMAND; echo ${BASH_COMMAND:0:4} x
#---
echo $IFS | od -c; printf %q "$IFS"; echo; echo "$PS4|${PS1-unset}|${PS2-unset}|$OPTIND|$OPTERR"
#---
echo $PWD | sed "s:$HOME:H:"; echo ${OLDPWD-unset}; cd /tmp; echo $PWD $OLDPWD | sed "s:$HOME:H:"; cd - | sed "s:$HOME:H:"; pwd -P | wc -l
#---
env | sort | grep -v '^TEST_MARK='
#---
env | cut -d= -f1
#---
bash -c 'env' | sort; sh -c 'env' | sort; python3 -c 'import os; print(sorted(os.environ))'
#---
declare -p HOME LANG PATH PWD SHLVL _ BASH_EXECUTION_STRING IFS OPTIND PPID 2>&1 | sed -E 's/PPID="[0-9]+"/PPID/'
#---
echo "${SECONDS@a}"; declare -p LINENO BASH_SUBSHELL BASH_COMMAND HISTCMD 2>&1; declare -p BASH_ENV
#---
export -p; readonly -p | sed -E 's/PPID=.*/PPID/'; declare -F; declare -f; alias; declare -x
#---
set -o; shopt; shopt -p; set +o
#---
echo $SHELLOPTS $BASHOPTS
#---
RANDOM=42; echo $RANDOM $RANDOM; [[ $SRANDOM =~ ^[0-9]+$ ]] && echo number; ((EPOCHSECONDS > 1700000000)) && echo recent
#---
printf '%(%s)T\n' -2 >a; printf '%(%s)T\n' -1 >b; echo $(( $(<b) - $(<a) < 3 )); [[ $EPOCHREALTIME == *.* ]] && echo point
#---
x=before; x=during env | grep ^x=; echo $x; x=during eval 'echo $x'; x=during :; echo $x; a=1 b=$a; echo $b
#---
export X=exported; bash -c 'echo $X'; export -n X; bash -c 'echo "[$X]"'; declare -x Y=2; env | grep ^Y; unset Y; env | grep ^Y; echo $?
#---
readonly r=1; r=2; echo never
#---
readonly r=1; unset r; echo $?; declare r=3; echo $?; (r=4; echo never); echo $?
#---
unset HOME; cd; echo $?; echo ~ | wc -l; unset PATH; ls; echo $?; type echo
#---
PATH=/nosuch; ls; echo $?; PATH=; cat; echo $?; /bin/echo absolute
#---
PATH=$PWD:$PATH; printf '#!/bin/sh\necho mine $0\n' >ls; chmod +x ls; ls | sed "s:$HOME:H:"; hash -r; rm ls; ls; echo $?
#---
1x=5; echo $?; x y=3; echo $?; x =5; echo $?; declare 1=2; echo $?; export a-b=1; echo $?
#---
HISTFILE=f; history; echo $?; fc -l; echo $?; set -o history; echo a; history | wc -l
#---
COLUMNS=40; LINES=5; echo $COLUMNS $LINES; shopt checkwinsize; /bin/true; echo $COLUMNS
#---
BASH_ENV=s; echo 'echo sourced' >s; bash -c 'echo run'; unset BASH_ENV; bash -c 'echo run'; ENV=s sh -c 'echo sh'
#---
BASH_COMPAT=4.4; echo $BASH_COMPAT; BASH_COMPAT=99; echo $?; POSIXLY_CORRECT=1; echo $SHELLOPTS
#---
LC_ALL=nosuch_XX; echo $?; LC_ALL=C; printf '\xe9' | od -c; LANG=C.UTF-8; x=é; echo ${#x}
#---
TMOUT=1; read x; echo $?; IGNOREEOF=5; FUNCNEST=3; f() { f; }; f; echo $?
#---
compgen -b | wc -l; compgen -k | head -3; compgen -A function; compgen -W 'one two three' t; complete; echo $?
#---
dirs | wc -l; pushd / >/dev/null; dirs | sed "s:$HOME:H:;s:~/work:W:"; popd >/dev/null; popd; echo $?
#---
echo $BASH_VERSION $BASH_LOADABLES_PATH ${BASH_ALIASES[@]} ${BASH_CMDS[@]} $COMP_WORDBREAKS | wc -w; echo ${#BASH_REMATCH[@]} ${#DIRSTACK[@]}
