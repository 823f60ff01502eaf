x=hello; echo ${#x} ${x:1} ${x:1:3} ${x: -2} ${x::2} ${x:(-3):2} ${x:1:-1}
#---
f=/a/b.tar.gz; echo ${f##*/} ${f#*/} ${f%.*} ${f%%.*} ${f%/*}
#---
x=banana; echo ${x/an/AN} ${x//an/AN} ${x/#b/B} ${x/%a/A} ${x//a} ${x/n*/!}
#---
x=hello; echo ${x^} ${x^^} ${x^^[el]} ${x~}; y=HELLO; echo ${y,} ${y,,} ${y,,[EL]} ${y~~}
#---
echo ${u-unset} ${u:-empty} ${u+set} ${u:=assigned} $u ${u+set} ${u:+nonempty}; e=; echo "[${e-unset}][${e:-empty}][${e+set}][${e:+nonempty}]"
#---
echo ${u?is not set}; echo never
#---
echo ${u:?}; echo never
#---
name=x; x=indirect; echo ${!name}; xa=1 xb=2; echo ${!xa*} ${!x@}
#---
echo {1..5} {5..1} {a..e} {01..10} {1..10..3} {a,b{1,2},c}{x,y} {1..3}{a,b} {} {a} {a..} pre{,fix}
#---
echo $((1+2*3)) $((2**10)) $((7/2)) $((-7/2)) $((7%3)) $((-7%3)) $((1<<4)) $((0xff)) $((010)) $((2#1010)) $((36#zz)) $((1?2:3)) $((1,2,3))
#---
x=5; echo $((x++)) $x $((++x)) $((x--)) $((x+=10)) $((x<<=1)) $((!x)) $((~x)) $((x>3&&x<100)) $((x==32||0))
#---
echo $((9223372036854775807+1)) $((-9223372036854775808)) $((9223372036854775807*2))
#---
echo $((1/0)); echo after $?
#---
echo $((1 +)); echo after $?
#---
echo $((08)); echo after $?
#---
((0)); echo $?; ((1)); echo $?; ((x=5, y=x*2)); echo $x $y; let z=x+y 'w = z * 2'; echo $z $w $?; let 0; echo $?
#---
for ((i=0, j=10; i<j; i+=3, j-=2)); do echo $i $j; done
#---
x='a b c'; for w in $x; do echo "<$w>"; done; for w in "$x"; do echo "<$w>"; done
#---
touch a.txt b.txt c.md .hidden; echo *.txt *.md * .* ?.md [ab].txt [!a]*.txt *.none [[:alpha:]].md
#---
touch a b; shopt -s nullglob; echo none: *.x; shopt -u nullglob; shopt -s failglob; echo *.x; echo $?
#---
shopt -s extglob; touch a1 a2 b1 c.d
echo !(a*) @(a|b)1 +(a|1) ?(a)1 *(b)1; x=aaabbb; echo ${x##+(a)}
#---
shopt -s extglob
case foobar in foo@(bar|baz)) echo yes;; *) echo no;; esac
#---
mkdir -p d/e/f; touch d/x d/e/y d/e/f/z; shopt -s globstar; printf '%s\n' ** d/**/z
#---
touch .a b; shopt -s dotglob; echo *; GLOBIGNORE='b*'; echo *
#---
touch A b C; shopt -s nocaseglob; echo a* c*; shopt -s nocasematch; [[ ABC == abc ]] && echo matches; case X in x) echo too;; esac
#---
set -f; touch a b; echo * ?; set +f; echo * ?
#---
echo $(echo a; echo b) "$(echo a; echo b)" "$(printf 'trail\n\n\n')"; x=$(exit 3); echo $?
#---
echo "$(<nosuch)"; echo content >f; echo "$(<f)" `<f`
#---
x=$(printf 'a\0b'); echo "$x"; echo ${#x}
#---
x=é日本😀; echo ${#x} ${x:1:2} ${x^^} ${x: -1}; LC_ALL=C; echo ${#x}
#---
x=1; x+=2; echo $x; declare -i n=1; n+=2; echo $n; n=5*3; echo $n; declare -u up=abc; echo $up; declare -l low=ABC; echo $low; declare -c cap=abc 2>&1; echo $cap
#---
IFS=, read -r a b c <<<"1,2,3,4"; echo "$a|$b|$c"; IFS= read -r line <<<"  spaces  "; echo "[$line]"; read -a arr <<<"x y z"; echo ${#arr[@]} ${arr[1]}
#---
read -d : x <<<"a:b"; echo $x $?; read -n 2 x <<<abcdef; echo $x; read -N 3 x <<<"a
bcd"; echo "$x"; read x y <<<'back\ slash here'; echo "$x|$y"; read -r x y <<<'back\ slash'; echo "$x|$y"
#---
x=abc; [[ $x == a* ]] && echo glob; [[ $x == "a*" ]] || echo literal; [[ $x =~ ^(a)(.*)$ ]] && echo "${BASH_REMATCH[@]}"; [[ $x < abd && ! -e $x ]] && echo less
#---
[[ 'a.c' =~ a\.c ]]; echo $?; re='^[0-9]+$'; [[ 123 =~ $re ]]; echo $?; [[ x =~ [ ]]; echo $?; [[ -v x ]]; echo $?; x=; [[ -v x ]]; echo $?
#---
[ 1 -lt 2 ] && [ a = a ] && [ -n x ] && [ -z "" ] && test ! -e nosuch && echo all; [ a -eq 1 ]; echo $?; [ ; echo $?; [ a b ]; echo $?; test; echo $?; test a = ; echo $?
#---
touch f; mkdir d; ln -s f l; chmod 000 f; [ -e f -a -f f ] && echo f; [ -d d ] && echo d; [ -L l ] && echo l; [ -s f ] || echo empty; [ f -nt nosuch ] && echo newer; [ f -ef l ] && echo same
#---
echo ~nosuchuser ~+ | sed "s:$PWD:HERE:"; cd /; echo ~+ ~- | sed "s:$OLDPWD:OLD:"; x=~; echo ${x/$HOME/HOME}
#---
echo ${BASH_VERSINFO[0]} ${BASH_VERSION%%.*} $BASH $MACHTYPE $HOSTTYPE $OSTYPE $EUID $UID
#---
x=y; declare -n ref=x; ref=changed; echo $x ${!ref}; declare -p ref; unset -n ref; declare -p ref
#---
f() { local -n out=$1; out=result; }; f answer; echo $answer; declare -n a=b; declare -n b=a; echo $a; echo $?
#---
printf -v x '%03d' 7; echo $x; printf -v arr[2] z; declare -p arr; printf -v 1bad x; echo $?
#---
echo ${x@nope}; echo after
#---
echo ${}; echo after
#---
echo ${a-b c} "${a-b c}" ${a-"b c"}; echo ${#} ${#@} ${##} ${#-}
#---
set -- one two three four; echo $1 ${2} ${@:2} ${@:2:2} ${@: -1} $# ${!#} "${*:1:2}"; shift 2; echo $@; shift 5; echo $? $@; set --; echo $#
#---
echo $(( $(echo 2) + ${#HOME} - ${#HOME} )) $[1+1] $((a[3]=4)) ${a[3]} $(( a[3]++ )) ${a[@]}
#---
x='$(echo not run)'; echo $x "$x"; eval echo $x; y=x; eval "echo \$$y"
