echo 'single $x `id` \n "double"'
#---
x=value; echo "double $x ${x} $(echo sub) `echo tick` \$x \`x\` \" \\ \a"
#---
echo $'tab\there\nnew\x41\u00e9\101\e[0m\cA' | od -c
#---
echo $"translated"
#---
x="a  b"; echo $x; echo "$x"; echo '$x'; echo "'$x'"; echo '"$x"'
#---
echo a\ b\	c\\d\'e\"f\$g\`h
#---
printf '[%s]' "" '' $nothing "$nothing" a""b ''; echo
#---
set -- "a b" '' c; printf '[%s]' $@; echo; printf '[%s]' "$@"; echo; printf '[%s]' $*; echo; printf '[%s]' "$*"; echo
#---
IFS=:; set -- a b c; echo "$*" $* "$@"; x=1:2::3:; printf '[%s]' $x; echo
#---
echo "nested $(echo "inner $(echo "deep 'er'")")"
#---
echo "`echo \`echo nested\``"
#---
printf '%q ' 'a b' "it's" '$x' $'nl\n' '' '*' '~' $'\x01' é; echo
#---
x="it's"; echo "${x@Q}" "${x@U}" "${x@u}" "${x@L}" "${x@A}" "${x@a}"; y='\t|\n'; printf '%s\n' "${y@E}"; z='\u \h'; echo "${z@P}" | wc -l
#---
echo "a\
b" 'c\
d' e\
f
#---
echo one \
  two \
  three
#---
echo "multi
line
text"; echo 'more
lines'
#---
x='*'; echo $x "$x" \* '*'; touch f1 f2; echo $x "$x"
#---
echo "!" '!!' !a "!$" \!
#---
echo "${x:-"quoted default"}" "${x:-'single'}" ${x:-'single gone'} "${x:-\}}"
#---
echo a'b'"c"$'d'\e
#---
echo "tilde ~" ~root ~ "~" | sed "s:$HOME:HOME:g"
#---
echo {a,b} "{a,b}" '{a,b}' \{a,b\} {a\,b,c}
#---
echo \
#---
echo "a" # a comment with 'quotes" and $(stuff
echo b#not # comment
echo '#' \# "#"
#---
echo 'a'\''b' "a"\""b"
#---
v=$'a\nb'; echo $v; echo "$v"; w=$v; echo "$w"
#---
echo -e 'a\tb\\c\x21\0101' ; echo -n no newline; echo -E '\t'; echo -ne '\\'
#---
printf '%s|%5s|%-5s|%05d|%x|%o|%e|%c|%%|%b|%.2f|%+d|%#x\n' s r l 42 255 8 1234.5 char 'b\tb' 3.14159 5 255
#---
printf '%s %s\n' a b c d e; printf '%d\n' "'A"; printf '%s'; printf '\n'; printf '%*d|%-*d|\n' 5 1 5 2; printf -- '-x\n'
#---
printf '%d\n' abc; echo $?; printf '%d\n' 0x1f 010 -5; printf '%z\n'; echo $?
#---
cat <<<'here "string"'; cat <<<"a $((1+1))"; cat <<< word; cat <<<""; x='  keep  spaces '; cat <<<$x
