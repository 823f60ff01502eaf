set -e; echo before; false; echo never
#---
set -e; false || echo rescued; if false; then :; fi; false && true; ! false; echo here; (false); echo never
#---
set -e; f() { false; echo in f; }; f || echo not reached; f; echo never
#---
set -e; x=$(false); echo never
#---
set -e; local_() { local x=$(false); echo survives; }; local_; echo $(false; echo sub goes on)
#---
set -e; false | true; echo pipes pass; set -o pipefail; false | true; echo never
#---
set -u; echo "${x-default}"; echo $x; echo never
#---
set -u; a=(); echo "${a[@]}" ok; echo ${a[0]}; echo never
#---
set -u; echo $1; echo never
#---
set -u; (echo $x); echo $?; echo ${#x}; echo never
#---
set -euo pipefail; echo start; cat nosuch | sort; echo never
#---
set -euo pipefail; IFS=$'\n\t'; for f in a b; do echo $f; done; grep -q nothing </dev/null; echo never
#---
set -eu -o pipefail; echo $-; echo $SHELLOPTS
#---
set -o pipefail; true | false | true; echo $?; set +o pipefail; true | false | true; echo $?
#---
set -x; echo a; x=1; y=$(echo b); [[ $x == 1 ]]; for i in 1 2; do :; done; ((x++)); set +x; echo quiet
#---
PS4='+${LINENO}: '; set -x
echo a
f() { echo b; }
f
#---
exec 5>trace; BASH_XTRACEFD=5; set -x; echo a; set +x; cat trace
#---
set -v; echo a
echo b
set +v
echo c
#---
set -n; echo never
#---
set -C; echo a >f; echo b >f; echo $?; echo c >|f; cat f
#---
set -a; exported=1; set +a; not=2; bash -c 'echo ${exported-no} ${not-no}'
#---
set -k; echo a=1 b; set -t; echo last; echo never
#---
set -b -h -B +H; echo $-; set +B; echo {a,b}; set +h; hash
#---
set -P; ln -s . link; cd link; pwd | sed "s:$HOME:H:"; set +P; cd link; pwd | sed "s:$HOME:H:"
#---
set -o posix; echo $SHELLOPTS; set -o nosuch; echo $?
#---
set -Q; echo $?
#---
set -e; set -- a b; shift 3; echo never
#---
set -e; readonly r=1; r=2; echo never
#---
set -e; cd nosuch; echo never
#---
set -e; ((0)); echo never
#---
set -e; let x=0; echo never
#---
set -e; [ 1 = 2 ]; echo never
#---
set -e; read x; echo never
#---
set -e; while read l; do echo $l; false || true; done <<<line; echo $?; until true; do :; done; false; echo never
#---
shopt -s inherit_errexit; set -e; echo $(false; echo no) yes; x=$(false; echo no); echo never
#---
set -o errexit -o nounset; set +o | head -3; set -o | grep -E 'errexit|nounset|xtrace'
#---
bash -e -c 'false; echo never'; echo $?; bash -u -c 'echo $x'; echo $?; bash -c 'echo $0 $@' name a b
