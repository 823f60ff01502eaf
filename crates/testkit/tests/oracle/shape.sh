#!/bin/bash
echo after a shebang
#---
#!/usr/bin/env python3
echo still bash $0
#---
# only a comment
#---
:
#---


echo after blank lines at the start, on line $LINENO


#---
   	echo leading white space   	
#---
echo a;
#---
echo a & wait;
#---
# comment
echo after; # trailing
# last
#---
é() { echo unicode function; }; é; echo 日本語 😀 "ünï" $'\u65e5'; x=ñ; echo ${x}
#---
é=1; echo $?
#---
日本=1
#---
echo a

	echo tabbed
  echo spaced
#---
echo one \
two; echo $LINENO
#---
ec\
ho split word; echo "$LINENO"
#---
if true
then
  echo multi
  for i in a b
  do
    echo "  $i"
  done
fi
#---
true && \
  echo continued ||
  echo not
#---
echo a |
  tr a b |
  # a comment inside
  cat
#---
case x in
  x)
    echo matched
    ;;
esac
#---
f()
{
  echo brace on its own line
}
f
#---
echo "$(
  echo inside
  echo lines
)"
#---
a=(
  one   # first
  two
)
echo ${#a[@]}
#---
echo ${x:-
multi line default}
#---
echo $((
  1 +
  2
))
#---
[[ a == a &&
   b == b ]] && echo both
#---
echo -- -n -e; echo -x; echo - --; -x; --help
#---
echo *nothing* ?nothing [nothing]; echo '%s %d\n'; echo $HOME/nothing* | sed "s:$HOME:H:"
#---
exit 125 #................
#---
BASH_ENV
#---
unset BASH_ENV; echo ${BASH_ENV-unset}
#---
echo a; exit 0
syntax error ( here is never read
#---
exec true
) never read either
