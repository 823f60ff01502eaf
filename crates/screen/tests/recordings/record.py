#!/usr/bin/env python3
"""Records programs on a terminal of 60x15, and lets tmux say which screen that is.

    python3 record.py DIRECTORY [NAME...]

Writes NAME.bytes, the program's output, and NAME.txt, the screen that tmux shows for it.
"""

import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time

COLUMNS, ROWS = 60, 15
FRAMES = str.maketrans("jklmnqtuvwx", "┘┐┌└┼─├┤┴┬│")
DEMO = "".join(f"line {n}: {'abc ' * (n % 7)}\\n" for n in range(1, 60))

# Name, command, keys that are typed one after the other, extra variables.
PROGRAMS = [
    ("vim", "vim -u NONE -N demo.txt", ["4j", "dd", "ohello \x1b", ":set nu\r"], {}),
    ("less", "less demo.txt", [" ", "/line 4\r"], {}),
    ("top", "top -d 60 -n 5", [], {}),
    ("python", "python3 -q", ["1+1\r", "print('日本 é')\r", "for i in range(3):\r", "  print(i)\r", "\r"], {}),
    ("git-log", "git log --stat --color", ["\r", "\r"], {"PAGER": "less", "LESS": "R"}),
    ("dialog", "dialog --menu 'Choose one' 12 40 4 1 First 2 Second 3 Third", ["\x1b[B"], {}),
    ("whiptail", "whiptail --yesno 'Really?' 8 40", ["\t"], {"LC_ALL": "C"}),
]


def record(command, keys, extra, directory):
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(directory)
        environment = dict(os.environ, TERM="xterm-256color", LC_ALL="C.UTF-8", HOME=directory)
        environment.update(extra)
        os.execvpe("sh", ["sh", "-c", "sleep 0.3; exec " + command], environment)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    output = b""

    def drain(seconds):
        nonlocal output
        until = time.time() + seconds
        while time.time() < until:
            if select.select([master], [], [], 0.1)[0]:
                try:
                    output += os.read(master, 65536)
                except OSError:
                    return

    drain(4)
    for key in keys:
        os.write(master, key.encode())
        drain(1.5)
    os.kill(pid, signal.SIGKILL)
    os.close(master)
    os.waitpid(pid, 0)
    return output


def tmux_screen(path):
    socket = f"record{os.getpid()}"
    show = f"stty raw -echo; cat {shlex.quote(path)}; exec sleep 1000"
    tmux = ["tmux", "-L", socket, "-u", "-f", "/dev/null"]
    environment = dict(os.environ, LC_ALL="C.UTF-8")
    start = tmux + ["new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), show]
    subprocess.run(tmux + ["start-server", ";", "set", "-g", "status", "off", ";"] + start[len(tmux):], check=True, env=environment)
    time.sleep(3)
    # Without -e, line drawing would be printed as letters. With it, SO and SI are around them.
    screen = subprocess.run(tmux + ["capture-pane", "-e", "-p"], check=True, capture_output=True, env=environment).stdout
    subprocess.run(tmux + ["kill-server"], check=True)
    text = re.sub(r"\x1b\[[0-9;:]*m", "", screen.decode())
    text = re.sub(r"\x0e([^\x0f]*)\x0f?", lambda run: run[1].translate(FRAMES), text)
    return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n") + "\n"


def make_repository(directory):
    if os.path.exists(os.path.join(directory, ".git")):
        return
    git = ["git", "-C", directory, "-c", "user.name=A U Thor", "-c", "user.email=author@example.com"]
    subprocess.run(git + ["init", "-q"], check=True)
    subprocess.run(git + ["add", "demo.txt"], check=True)
    date = "2026-01-02T03:04:05Z"
    environment = dict(os.environ, GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)
    for subject in ["Add a demo", "Change nothing", "Change nothing again"]:
        subprocess.run(git + ["commit", "-q", "--allow-empty", "-m", subject], check=True, env=environment)


def main():
    directory = os.path.abspath(sys.argv[1])
    os.makedirs(directory, exist_ok=True)
    wanted = sys.argv[2:]
    home = os.path.join(directory, "home")
    os.makedirs(home, exist_ok=True)
    with open(os.path.join(home, "demo.txt"), "w") as file:
        file.write(DEMO.replace("\\n", "\n"))
    make_repository(home)
    for name, command, keys, extra in PROGRAMS:
        if wanted and name not in wanted:
            continue
        path = os.path.join(directory, name + ".bytes")
        with open(path, "wb") as file:
            file.write(record(command, keys, extra, home))
        with open(os.path.join(directory, name + ".txt"), "w") as file:
            file.write(tmux_screen(path))
        print(name, os.path.getsize(path), "bytes")


main()
