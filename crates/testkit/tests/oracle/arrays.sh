a=(1 2 "three four" [7]=seven); echo ${a[0]} ${#a[@]} ${!a[@]} "${a[@]}" ${a[-1]}; declare -p a
#---
a=(x y z); a+=(w); a[10]=far; unset 'a[1]'; declare -p a; echo "${a[@]:1:2}" "${a[*]}" ${a[@]/x/X} ${a[@]^^} ${#a[0]}
#---
declare -A m=([one]=1 [two]=2 ["a b"]=3); for k in one two "a b"; do echo "$k=${m[$k]}"; done; echo ${#m[@]}; m[one]+=1; echo ${m[one]}; unset 'm[two]'; echo ${#m[@]} ${m[two]-gone}
#---
declare -A m; m[x]=1; [[ -v m[x] ]] && echo has; [[ -v m[y] ]] || echo has not; k='a]b'; m[$k]=odd; echo "${m[$k]}"
#---
declare -A m=([k1]=v1); declare -p m; echo "${!m[@]}" "${m[@]@K}" "${m[@]@Q}"
#---
a=(3 1 2); printf '%s\n' "${a[@]}" | sort | tr '\n' ' '; IFS=,; echo "${a[*]}"
#---
a=(); echo "${#a[@]}" "${a[@]}" "${a[0]-none}"; a[-1]=x; echo $?
#---
a=(1 2 3); echo ${a[9]} ${a[-9]}; echo $?
#---
mapfile -t lines < <(printf 'one\ntwo\nthree'); echo ${#lines[@]} "${lines[@]}"; mapfile -n 1 -s 1 l <<<$'a\nb\nc'; declare -p l; mapfile -d : -t p <<<a:b:c; declare -p p
#---
mapfile -C 'echo called' -c 1 x <<<$'a\nb'; echo ${#x[@]}; readarray -O 5 x <<<z; declare -p x
#---
a=(a b c); b=("${a[@]}"); for i in "${!b[@]}"; do echo $i:${b[i]}; done; echo ${b[1+1]}; i=0; echo ${b[i++]} $i
#---
declare -a nested=($(echo x y) {1..3} "$(echo p q)"); echo ${#nested[@]}
#---
readonly -a ro=(1 2); ro[0]=x; echo never
#---
f() { local a=("$@"); echo ${#a[@]}; a[0]=inner; }; a=(outer); f 1 2 3; echo ${a[0]}
#---
declare -ai n=(1+1 2*3); n[0]+=5; echo ${n[@]}; declare -A m; m=(a 1 b 2); echo ${m[a]} ${m[b]}
#---
x=scalar; x[1]=array; declare -p x; declare -A x; echo $?
#---
a=(one two); unset a; echo ${a-unset}; a=5; unset 'a[0]'; echo ${a-gone}
#---
a=(1 2 3 4 5); echo "${a[@]:2}" "${a[@]: -2:1}" "${a[@]#1}" "${a[@]/%/!}" ${#a}
#---
printf '%s\n' "${BASH_VERSINFO[@]:0:2}" >f; mapfile v <f; echo ${#v[@]}; declare -p DIRSTACK | sed "s:$PWD:HERE:"; declare -p GROUPS >/dev/null; echo $?
