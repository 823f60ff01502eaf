while getopts ':ab:c' o -a -b value -c rest; do echo "$o ${OPTARG-}"; done; echo $OPTIND
#---
f() { local OPTIND o; while getopts 'x:y' o; do case $o in x) echo x=$OPTARG;; y) echo y;; ?) echo bad;; esac; done; shift $((OPTIND-1)); echo rest "$@"; }; f -x 1 -y -z more args
#---
type echo cd if ls f 2>&1; f() { :; }; type f; type -t echo if f ls nosuch; type -a echo | head -1; type -p ls
#---
command -v echo ls if nosuch; echo $?; command -V cd; command echo plain; ls() { echo fake; }; ls; command ls -d .
#---
hash; hash ls; hash -t ls; hash -d ls; hash -r; hash -p /bin/true fake; fake; echo $?
#---
ls >/dev/null; cat /dev/null; hash | sed 's:/.*/::'
#---
alias ll='echo alias'; ll; echo $?; alias; shopt -s expand_aliases; alias hi='echo hello'
hi there; unalias hi; hi 2>&1
#---
umask; umask -S; umask 027; umask; touch f; stat -c %a f; umask u=rwx,g=,o=; umask
#---
ulimit -a
#---
ulimit -Ha; ulimit -Sn; ulimit -c; ulimit -s; ulimit -u
#---
trap -p; jobs; dirs | wc -l; times >/dev/null; echo $?
#---
help : | head -1; enable | head -3; enable -n echo; type -t echo; enable echo; type -t echo; builtin echo b
#---
eval echo one two; eval 'x=5; echo $x'; eval "for i in 1 2; do echo \$i; done"; eval ''; echo $?; eval false; echo $?
#---
cat >lib.sh <<'X'
lib() { echo "lib $1 ${BASH_SOURCE[0]} $LINENO"; }
echo "loaded with $# args: $*"
X
source ./lib.sh a b; lib x; . ./lib.sh; PATH=.:$PATH; source lib.sh
#---
f() { local x=1 y; echo $x ${y-unset}; local -r z=2; g; }; g() { echo "sees $x"; x=changed; }; x=global; f; echo $x
#---
fact() { (( $1 <= 1 )) && echo 1 || echo $(( $1 * $(fact $(($1-1))) )); }; fact 10
#---
f() { [ $1 -gt 0 ] && { echo $1; f $(($1-1)); }; }; f 5; echo $?
#---
f() { f; }; FUNCNEST=100; f; echo $?
#---
f() { echo old; }; f() { echo new; }; f; unset -f f; f; declare -f f; echo $?; function g { echo kw; }; g; h() ( echo sub; exit 3 ); h; echo $?
#---
f() { echo "$# $*"; set -- changed; echo $1; }; f a b; echo $#; f; export -f f; bash -c 'f from child'
#---
declare -f nosuch; f () { echo a; if true; then echo b; fi; cat <<E
doc
E
}; declare -f f; type f
#---
declare -i x=3+4; echo $x; declare -r y=1; declare -p x y; declare -g z=5; f() { declare -g gg=1; declare ll=2; }; f; echo $gg ${ll-none}; typeset -x e=1; env | grep ^e=
#---
true; echo $?; false; echo $?; :; echo $?; test -n a; echo $?; [ ]; echo $?
#---
pwd | sed "s:$HOME:H:"; mkdir -p a/b; cd a/b; pwd | sed "s:$HOME:H:"; cd ../..; cd -P a; cd nosuch; echo $?; CDPATH=..; cd a | sed "s:$HOME:H:"; cd ''; echo $?
#---
mkdir gone; cd gone; rmdir ../gone; pwd | sed "s:$HOME:H:"; ls; echo $?; cd .; echo $?; cd ..; basename $PWD
#---
mkdir gone; cd gone; rm -r ../gone; touch x; echo $?; bash -c 'echo child'; echo $?
#---
x=1; unset x; echo ${x-gone}; unset nosuch; echo $?; f() { :; }; unset f; f; unset -v PATH; ls
#---
let x=1+1 y=x*2; echo $x $y; let 'z = 1 << 3'; echo $z; ((a = b = 3)); echo $a $b
#---
case abc in a*) echo first;; abc) echo second;; esac; case x in y) ;; *) echo default; esac; case a in a) echo a;& b) echo fall;;& c) echo no;; *) echo star; esac
#---
for i; do echo never; done; set -- p q; for i; do echo $i; done; for i in "$@" r; do echo $i; done; for x in a b; do for y in 1 2; do [ $y = 2 ] && continue 2; echo $x$y; done; done
#---
i=0; while true; do ((++i > 3)) && break; echo $i; done; until [ $i -le 0 ]; do ((i--)); done; echo $i; while :; do while :; do break 2; done; done; echo out
#---
if [ a = b ]; then echo 1; elif [ a = a ]; then echo 2; else echo 3; fi; [ a = b ] || echo or; true && echo and; { false; } || { echo brace; }
#---
shopt nullglob; echo $?; shopt -s nosuch; echo $?; shopt -q extglob; echo $?; shopt -o errexit; shopt -s -o errexit; false; echo never
#---
echo a; command exit 3; echo never
#---
builtin cd /; pwd; command cd /tmp && pwd; command -p ls -d /; command eval 'echo e'
#---
printf '%s\n' a b | { mapfile -t x; echo ${#x[@]}; }; read -r a b <<<'1 2'; echo $b $a; read <<<'in reply'; echo $REPLY
#---
bind -l >/dev/null; echo $?; complete -W x y; complete -p; compopt; echo $?; bind 'x' 2>&1 | wc -l
#---
bash -c 'echo nested $0 $1' zero one; bash -c 'bash -c "bash -c \"echo deep \\\$SHLVL\""'; bash --norc -i -c 'echo interactive $-' 2>/dev/null
#---
bash --version | head -1; bash -o pipefail -c 'false | true'; echo $?; bash --posix -c 'echo $SHELLOPTS'; bash --nosuch; echo $?
#---
bash -s arg <<<'echo "stdin script $1 $-"'; bash --rcfile /dev/null -c 'echo rc'; bash -l -c 'shopt login_shell' | tail -1
#---
sh -c 'echo $0 $#; x=1; echo ${x}; [ a = a ] && echo yes'; sh -c 'nosuch'; echo $?; sh -c 'echo $-' | wc -l; dash -c 'echo dash' 2>&1 | head -1
#---
exec 3<&0; exec 0<f 2>/dev/null; echo still; ulimit -n unlimited 2>/dev/null; echo done
#---
history -c; set -H; echo "!!"; set +H; echo "!!"; echo 'a!b' a!b
#---
sleep 0.01; usleep 2>/dev/null; echo ${?#0}; date -d @0 -u +%Y; TZ=UTC printf '%(%F %T)T\n' 0
