# Stand-ins for programs that run other programs. Each part becomes an executable of its own; the line that begins it has its names.

#: sudo doas gosu
while [ $# -gt 0 ]; do
    case $1 in
        -u | -g | -C | -h | -p | -U | -D | -R | -T | --user | --group | --chdir) shift 2 ;;
        --) shift; break ;;
        -i | --login) cd "$HOME" || exit; shift ;;
        -*) shift ;;
        *=*) export "${1?}"; shift ;;
        *) break ;;
    esac
done
[ $# -gt 0 ] || exec bash
exec "$@"

#: su runuser
while [ $# -gt 0 ]; do
    case $1 in
        -c | --command) exec bash -c "$2" ;;
        --command=*) exec bash -c "${1#*=}" ;;
        -u) shift 2; [ "$1" = -- ] && shift; exec "$@" ;;
        -s | -g) shift 2 ;;
        *) shift ;;
    esac
done
exec bash

#: ssh
while [ $# -gt 0 ]; do
    case $1 in
        -[bcDEeFIiJLlmOopQRSWw]) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
shift
[ "$1" = -- ] && shift
cd "$HOME" || exit
[ $# -gt 0 ] && exec bash -c "$*"
exec bash

#: npx
while [ $# -gt 0 ]; do
    case $1 in
        -c | --call) exec sh -c "$2" ;;
        --call=*) exec sh -c "${1#*=}" ;;
        -p | --package) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
exit 0

#: nix nix-shell
while [ $# -gt 0 ]; do
    case $1 in
        -c | --command) shift; exec "$@" ;;
        --run) exec bash -c "$2" ;;
        *) shift ;;
    esac
done
exit 0

#: poetry pipenv uv rye pdm bundle hatch
[ "$1" = run ] || [ "$1" = exec ] || exit 0
shift
[ "$1" = -- ] && shift
exec "$@"

#: direnv
[ "$1" = exec ] || exit 0
shift 2
exec "$@"

#: mise asdf devbox dotenv dotenvx
while [ $# -gt 0 ]; do
    [ "$1" = -- ] && { shift; exec "$@"; }
    shift
done
exit 0

#: crontab
[ "$1" = - ] || [ -f "$1" ] || exit 0
cat -- "${1/#-//dev/stdin}" | while IFS= read -r line; do
    case $line in
        '#'* | '' | [A-Z]*=*) ;;
        @*) bash -c "${line#* }" ;;
        *) bash -c "$(cut -d' ' -f6- <<<"$line")" ;;
    esac
done

#: at batch
while [ $# -gt 0 ]; do
    [ "$1" = -f ] && exec sh "$2"
    shift
done
exec sh

#: tmux
case $1 in
    send-keys | send)
        shift
        text=
        while [ $# -gt 0 ]; do
            case $1 in
                -t) shift ;;
                -l) ;;
                Enter | C-m) bash -c "$text"; text= ;;
                *) text+=$1 ;;
            esac
            shift
        done
        ;;
    new | new-session | new-window | neww | split-window | run-shell | run)
        shift
        while [ $# -gt 0 ]; do
            case $1 in
                -s | -n | -t | -c | -x | -y | -e) shift 2 ;;
                -*) shift ;;
                *) break ;;
            esac
        done
        [ $# -gt 0 ] && bash -c "$*"
        ;;
esac
exit 0

#: screen
while [ $# -gt 0 ]; do
    case $1 in
        stuff) bash -c "${2//$'\r'/$'\n'}"; exit ;;
        -S | -p | -t) shift 2 ;;
        -*) shift ;;
        -X) shift ;;
        *) [ "$1" = -X ] || exec "$@" ;;
    esac
done
exit 0

#: script
while [ $# -gt 0 ]; do
    case $1 in
        -c | --command) exec bash -c "$2" ;;
        -qc | -qec | -ec | -eqc | -qfc) exec bash -c "$2" ;;
        *) shift ;;
    esac
done
exit 0

#: watch
while [ $# -gt 0 ]; do
    case $1 in
        -n | --interval) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
exec sh -c "$*"

#: parallel
words=()
while [ $# -gt 0 ]; do
    case $1 in
        -j | --jobs | -n) shift 2 ;;
        -0 | -k | -q | --*) shift ;;
        -*) shift ;;
        *) break ;;
    esac
done
while [ $# -gt 0 ] && [ "$1" != ::: ]; do words+=("$1"); shift; done
one() {
    local text="${words[*]}"
    if [[ $text == *'{}'* ]]; then bash -c "${text//'{}'/$1}"; else bash -c "$text $1"; fi
}
if [ "$1" = ::: ]; then
    shift
    for word; do one "$word"; done
else
    while IFS= read -r word; do one "$word"; done
fi

#: chronic ts unbuffer proxychains caffeinate time_it strace ltrace faketime
while [ $# -gt 0 ]; do
    case $1 in
        -o | -e) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
exec "$@"

#: sleep
# Nobody waits for a script that waits.
read -rt 0.05 <> <(:)
exit 0
