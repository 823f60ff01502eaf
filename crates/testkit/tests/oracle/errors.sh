(
#---
)
#---
{ echo a
#---
}
#---
if true; then echo a
#---
if true
#---
fi
#---
then
#---
for i in 1 2 3; do echo $i
#---
for; do
#---
for 1x in a; do :; done; echo $?
#---
while
#---
case x in
#---
case x in a) echo; esac; esac
#---
echo "unclosed
#---
echo 'unclosed
#---
echo `unclosed
#---
echo $(unclosed
#---
echo ${unclosed
#---
echo $((1+2
#---
echo $((1+2)
#---
f() {
#---
f( {
#---
f() echo x
#---
;
#---
;;
#---
&
#---
| cat
#---
echo a |
#---
echo a ||
#---
&& echo
#---
echo a &&& echo b
#---
echo a ;; echo b
#---
echo >
#---
echo <
#---
echo a > > b
#---
cat <<
#---
echo (a)
#---
echo a(b)
#---
a=(1 2
#---
a=(1 (2))
#---
[[ a
#---
[[ a == ]]
echo n
#---
[[ -f ]]
#---
[[ a b c ]]
#---
((1+
#---
echo one
echo two
if; then
echo never
#---
echo one
echo two
echo "three
echo never
#---
echo one; (
#---
echo one
)
echo never
#---
echo one
done
#---
echo one

echo two | | cat
#---
eval 'echo a; ('; echo $?
#---
eval 'if'; echo still $?
#---
echo '(' >s; . ./s; echo $?
#---
echo 'echo a
fi' >s; source ./s; echo $?; bash s; echo $?
#---
bash -c '('; echo $?; sh -c '('; echo $?; bash -n -c 'if'; echo $?
#---
x=$(if); echo $?
#---
echo $(echo a; done)
#---
function { echo; }
#---
function f-g { echo dash; }; f-g; function if { echo; }
#---
select
#---
time
#---
time | cat
#---
!
#---
! !; echo $?
#---
coproc
#---
echo ${x!}; echo never
#---
echo ${x:}; echo never
#---
echo ${x:a:b}; echo $?
#---
echo ${1bad}; echo never
#---
echo $(( 1 2 )); echo $?
#---
((x=)); echo $?
#---
let; echo $?
#---
[ ( ]; echo
#---
declare -Z x; echo $?; local x; echo $?; unset -q; echo $?; read -q; echo $?; export -q; echo $?
#---
shift x; echo $?; shift -1; echo $?; umask 999; echo $?; cd a b; echo $?; type nosuch; echo $?; command nosuch; echo $?; builtin nosuch; echo $?
#---
alias x; echo $?; unalias y; echo $?; hash nosuch; echo $?; enable nosuch; echo $?; help nosuch; echo $?; bind -q; echo $?
#---
source nosuch; echo $?; . ; echo $?; eval; echo $?; exec -q; echo $?
#---
printf; echo $?; getopts; echo $?; trap -q; echo $?; ulimit -q; echo $?; wait -q; echo $?
#---
declare -r x=1; declare x=2; echo $?; f() { local x=3; }; f; echo $?; for x in a; do :; done; echo $?
#---
a=$b[; echo "$a"; echo a[b; echo [; ]; echo $?
#---
echo a; echo b > /dev/full; echo $?
#---
cp a b; mv a b; rm a; cat a; mkdir a/b; rmdir a; ln; touch /nosuch/x; echo $?
#---
in; do; echo
#---
echo <(
#---
cat <(exit 3; echo x) <(nosuchcommand); echo $?
#---
x() { x2; }; x2() { nosuch; }; x
echo done

y
#---
echo $'unclosed
#---
echo "a" "b
