x=5; cat <<END
plain $x $(echo sub) `echo tick` \$x $((x+1)) "quotes" 'kept'
END
#---
x=5; cat <<'END'
quoted $x $(echo no) `no` \$x
END
#---
cat <<"END"
also quoted $x
END
#---
cat <<\END
backslashed $x
END
#---
cat <<-END
	tabs are
		stripped
    spaces are not
	END
#---
cat <<A; cat <<B
first
A
second
B
#---
cat <<A - <<B
lost
A
kept
B
#---
cat <<END
unterminated $((1+1))
#---
cat <<END
  END
 END
END
echo after
#---
cat <<END >file
to a file
END
cat file
#---
cat <<END | tr a-z A-Z
piped
END
#---
while read -r a b; do echo "$b $a"; done <<END
one two
three four
END
#---
f() { cat <<END
in a function: $1
END
}; f arg; f other
#---
if true; then cat <<END; fi
in an if
END
#---
x=$(cat <<END
captured "text" $(echo inner)
END
); echo "[$x]"
#---
cat <<END
$(cat <<INNER
nested
INNER
)
END
#---
cat <<END
back\slash line\
continued \\ \` \"
END
#---
cat <<''
until an empty line

echo after
#---
cat <<END
${x:-default with "quotes"}
${y:-'single'}
END
#---
cat <<END 3<<END2 <&3
zero
END
three
END2
#---
bash <<'END'
echo from stdin $0 $-
read x
the next line
echo "got: $x"
END
#---
python3 - <<'END'
print("python", 1 + 1)
END
#---
cat <<END; echo same line
body
END
#---
cat <<E"N"D
mixed $x
END
#---
cat <<END &
background
END
wait
#---
cat <<END
é 日本 😀 tab	end
END
#---
eval "cat <<X
from eval
X"
#---
: <<'COMMENT'
a block comment with $(stuff) and `ticks` and 'quotes
COMMENT
echo after
#---
cat << END
a space before the word
END
#---
sh <<END
echo "in sh \$0"
END
#---
{ cat; } <<<one; { read a; read b; echo $b; } <<END
first
second
END
