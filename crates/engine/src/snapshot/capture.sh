# Prints the state of a shell as fields that end in NUL bytes. The engine removes the comment lines before bash reads
# the script, because rc files can turn comments off.
#
# Rc files may define aliases and functions of any name, including those of keywords and builtins. So the first lines are
# assignments, which nothing can replace, and words with a backslash, which are no aliases.
BASHFUL_OPTIONS=$BASHOPTS:$SHELLOPTS
BASHFUL_NAMES=("${!BASH_ALIASES[@]}") BASHFUL_VALUES=("${BASH_ALIASES[@]}")
# From here on, `trap`, `set`, `unset` and their like come before functions of the same names.
POSIXLY_CORRECT=y
\trap - DEBUG ERR RETURN EXIT
\set +aekuvxET -f
\unset -f builtin
IFS=$' \t\n'
BASHFUL_FUNCTIONS=$(\builtin declare -F)
\unset POSIXLY_CORRECT
\builtin unalias -a
builtin shopt -u extdebug
{
builtin printf '%s\0' bashful-1 "$BASHFUL_OPTIONS" "${#BASHFUL_NAMES[@]}"
for BASHFUL_I in "${!BASHFUL_NAMES[@]}"
do
builtin printf '%s\0' "${BASHFUL_NAMES[BASHFUL_I]}" "${BASHFUL_VALUES[BASHFUL_I]}"
done
while builtin read -r BASHFUL_I BASHFUL_KIND BASHFUL_NAME
do
if [[ $BASHFUL_NAME ]]
then
builtin printf '%s\0' "$BASHFUL_KIND" "$BASHFUL_NAME"
builtin declare -f -- "$BASHFUL_NAME"
builtin printf '\0'
fi
done <<<"$BASHFUL_FUNCTIONS"
builtin printf '\0'
for BASHFUL_NAME in $(builtin compgen -e)
do
if [[ -v $BASHFUL_NAME ]]
then
builtin printf '%s\0' "$BASHFUL_NAME" "${!BASHFUL_NAME}"
fi
done
builtin printf '%s\0' '' end
} >|
