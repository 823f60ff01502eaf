cat <(echo a) <(echo b)
#---
diff <(printf '1\n2\n') <(printf '1\n3\n'); echo $?
#---
while read -r x; do n=$((n+1)); last=$x; done < <(seq 5); echo $n $last
#---
seq 3 | while read -r x; do n=$x; done; echo "[$n]"; shopt -s lastpipe; seq 3 | while read -r x; do n=$x; done; echo "[$n]"
#---
paste <(seq 3) <(seq 4 6) <(echo x)
#---
echo text > >(cat >f; echo done >g); until [ -s g ]; do sleep 0.01; done; cat f g
#---
x=$(cat <(cat <(echo deep))); echo $x
#---
comm -12 <(printf 'a\nb\n' | sort) <(printf 'b\nc\n' | sort)
#---
echo $(echo $(echo $(echo $(echo five))))
#---
echo "$(cat <<X
in a here-document $((1+1))
X
)"
#---
x=$(echo out; echo err >&2); echo "[$x]"; y=$(echo out; echo err >&2) 2>/dev/null; z=$( (echo both; echo err >&2) 2>&1); echo "[$z]"
#---
f() { echo from f; return 3; }; x=$(f); echo $? $x; local_test() { local y=$(false); echo $?; }; local_test
#---
x=`echo a; exit 4`; echo $? $x; echo `exit 5` $?; $(echo echo run); $(exit 6); echo $?
#---
(echo sub; exit 9); echo $?; (x=inner; cd /); echo "[$x]"; [ "$PWD" != / ] && echo same place
#---
{ echo group; false; }; echo $?; { echo a; echo b; } | tac
#---
echo a | cat - <(echo b) | tr a-z A-Z; ! true; echo $?; ! false | false; echo $?
#---
false | true; echo "${PIPESTATUS[@]}"; true | false | (exit 3); echo "${PIPESTATUS[@]}" $?
#---
exit 3 | exit 4; echo "${PIPESTATUS[*]}"; set -o pipefail; exit 3 | exit 4 | true; echo $? "${PIPESTATUS[*]}"
#---
echo err >&2 |& cat; ls nosuch |& sed 's/^/got: /'
#---
yes | head -1; echo $?; set -o pipefail; yes | head -1; echo $?
#---
seq 100000 | head -2 | tail -1
#---
echo start; echo $(sleep 0.01; echo waited); echo end
#---
exec 5< <(echo from five); cat <&5; exec 5<&-; echo $?
