//! Rc files as distributions and tools write them.

use std::fmt::Write;

use super::{home, says, says_waiting, working};

/// Built like the one that Debian gives to new users: nothing for scripts, a prompt, colors, commented aliases.
const DEBIAN: &str = r#"# for interactive shells only
case $- in
    *i*) ;;
      *) return;;
esac
HISTCONTROL=ignoreboth
shopt -s histappend
HISTSIZE=1000
shopt -s checkwinsize
if [ -z "${debian_chroot:-}" ] && [ -r /etc/debian_chroot ]; then
    debian_chroot=$(cat /etc/debian_chroot)
fi
case "$TERM" in
    xterm-color|*-256color) color_prompt=yes;;
esac
if [ "$color_prompt" = yes ]; then
    PS1='${debian_chroot:+($debian_chroot)}\[\033[01;32m\]\u@\h\[\033[00m\]:\w\$ '
else
    PS1='${debian_chroot:+($debian_chroot)}\u@\h:\w\$ '
fi
unset color_prompt
if [ -x /usr/bin/dircolors ]; then
    test -r ~/.dircolors && eval "$(dircolors -b ~/.dircolors)" || eval "$(dircolors -b)"
    alias ls='ls --color=auto'
    #alias grep='grep --color=auto'
fi
#alias ll='ls -l'
if [ -f ~/.bash_aliases ]; then
    . ~/.bash_aliases
fi
if ! shopt -oq posix; then
  if [ -f /usr/share/bash-completion/bash_completion ]; then
    . /usr/share/bash-completion/bash_completion
  fi
fi
"#;

/// Additions of Ubuntu.
const UBUNTU: &str = r#"
alias grep='grep --color=auto'
alias ll='ls -alF'
alias la='ls -A'
alias l='ls -CF'
alias alert='echo "$([ $? = 0 ] && echo terminal || echo error)" "$(echo one | sed -e '\''s/^one/two/;s/[;&|]\s*x$//'\'')"'
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_stock_debian_file_is_captured_behind_its_guard() {
    let place = home(DEBIAN);
    std::fs::write(place.path().join(".bash_aliases"), "alias greet='echo hello'\n").expect("a file");
    let engine = working(&place).await;
    assert_eq!(says(&engine, "greet; alias ls").await, "hello\nalias ls='ls --color=auto'\n");
    assert_eq!(says_waiting(&place, "greet").await, "hello\n");
    place.check_nothing_survives();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stock_ubuntu_file_is_captured_behind_its_guard() {
    let place = home(format!("{DEBIAN}{UBUNTU}"));
    std::fs::write(place.path().join("file"), "").expect("a file");
    let engine = working(&place).await;
    assert_eq!(says(&engine, "alert; alias la").await, "terminal two\nalias la='ls -A'\n");
    let snapshot = engine.snapshot().expect("it works");
    for alias in ["alert", "grep", "l", "la", "ll", "ls"] {
        assert!(snapshot.aliases().iter().any(|name| name == alias), "{alias} is missing: {:?}", snapshot.aliases());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_that_this_system_gives_to_new_users_is_captured() {
    // Without the file, an empty one is used.
    let rc = std::fs::read_to_string("/etc/skel/.bashrc").unwrap_or_default();
    let place = home(format!("{rc}\nlast_line() {{ echo the last line; }}\n"));
    assert_eq!(says(&working(&place).await, "last_line").await, "the last line\n");
}

/// Five thousand lines as tools like nvm have them: long functions, here-documents, substitutions, patterns.
fn large() -> String {
    let mut rc = "export TOOL_DIR=\"$HOME/.tool\"\nshopt -s extglob\n".to_owned();
    for number in 0..200 {
        // Writing to a text cannot fail.
        let _ = write!(
            rc,
            r#"tool_{number}() {{
  local VERSION="${{1-}}" ARGS=''
  # A comment, which bash forgets.
  if [ -z "$VERSION" ] || ! [[ $VERSION =~ ^v[0-9]+ ]]; then
    printf 'tool %s: no such version: %s\n' {number} "${{VERSION:-none}}" >&2
    return 127
  fi
  case "$VERSION" in
    v+([0-9])?(.*)) ARGS="${{VERSION#v}}" ;;
    --!(no-*)dir*) ARGS="$(command printf '%s' "$VERSION" | command tr a-z A-Z)" ;;
    *)
      while IFS=: read -r name rest; do
        ARGS="${{ARGS:+$ARGS }}${{name%%[[:space:]]*}}"
      done <<EOT
$VERSION:$(echo "nested $(echo "quotes \"$VERSION\"")")
EOT
      ;;
  esac
  {{ cat <<'RAW' && echo "$ARGS" | sed "s/x/y/;s/'/\"/g"; }} 2>&1
$not `expanded` \here
RAW
  for ((i = 0; i < 2; i++)); do ((i)) && echo "$i" & done
  wait
}}
"#
        );
    }
    rc
}

#[tokio::test(flavor = "multi_thread")]
async fn five_thousand_lines_of_functions_are_all_there() {
    let rc = large();
    assert!(rc.lines().count() >= 4800, "{}", rc.lines().count());
    let place = home(&rc);
    let script = "declare -F | wc -l; tool_7 v12.3; tool_199 2>&1; echo $TOOL_DIR; declare -f | cksum";
    let expected = std::process::Command::new("bash")
        .args(["-O", "extglob", "-c", &format!(". ./.bashrc; {script}")])
        .env("HOME", place.path())
        .current_dir(place.path())
        .output()
        .expect("bash");
    let expected = String::from_utf8_lossy(&expected.stdout).into_owned();
    assert!(expected.starts_with("200\n$not `expanded` \\here\n12.3\n1\n"), "{expected}");
    let engine = working(&place).await;
    assert_eq!(says(&engine, script).await, expected);
    assert_eq!(says_waiting(&place, script).await, expected);
    assert_eq!(engine.snapshot().expect("it works").left_out(), [""; 0]);
}
