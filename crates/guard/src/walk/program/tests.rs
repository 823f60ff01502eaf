//! Programs as people and tricksters write them.

use crate::guard::{Guard, Prelude};
use crate::walk::program::Language;
use crate::walk::program::parsed;

/// The rules that refuse a script.
fn refused(script: &str) -> Vec<String> {
    let verdict = Guard::default().judge(script, &Prelude::default());
    let refusals = verdict.findings.into_iter().filter(|finding| finding.level != crate::finding::Level::Warn);
    refusals.map(|finding| finding.rule).collect()
}

fn python(code: &str) -> Vec<String> {
    refused(&format!("python3 - <<'EOF'\n{code}\nEOF\n"))
}

fn node(code: &str) -> Vec<String> {
    refused(&format!("node - <<'EOF'\n{code}\nEOF\n"))
}

#[test]
fn programs_as_people_write_them_are_read() {
    let code = "#!/usr/bin/env python3\n\"\"\"Doc.\"\"\"\nfrom __future__ import annotations\nimport os, sys as s\nfrom a.b import (c,\n    d as e)\n\n\
        @decorated(1)\nasync def f(x: int = 1, /, *args: str, y=None, **kw) -> list[str]:\n    if x and not y:\n        return [z async for z in args if z]\n    elif x: pass\n\
        \x20   else: raise ValueError(f\"{x!r:>10} {kw['a']} {x=}\") from None\n    try:\n        a, *b = 1, 2\n    except (OSError, KeyError) as error:\n        print(error)\n    else:\n        x += 1\n\
        \x20   finally:\n        del a, b[0]\n\nclass C(Base, metaclass=M):\n    a: int\n    b: str = 'x'\n    def g(self): return self.b[::-1], (yield), lambda *a, k=1: a[0:2] or k\n\n\
        with (open('x') as i, open('y') as o):\n    while (line := i.readline()):\n        o.write(line if line else '-')\nmatch x:\n    case [1, *rest] if rest: pass\n    case {'k': v} | None: pass\n    case _: pass\n\
        d = {**e, 'k': {1, 2}, **{}}; t = x, ; u = not a in b, a is not b, -2 ** 2, 0x_f, 1e-3, 'a' \"b\" rb'\\x41'\nassert d, 'no'\nif __name__ == '__main__':\n    s.exit(f(1)); print()\n";
    assert!(parsed(Language::Python, code).is_some());
    let code = "#!/usr/bin/env node\n'use strict';\nconst { execSync: run, spawn = null, ...more } = require('child_process'), fs = require('fs')\nimport a, { b as c } from 'd'\n\
        export default async function f(x, { y = 1, z } = {}, ...rest) {\n  for (const [k, v] of Object.entries(x)) { if (k) continue; else break }\n  for (let i = 0, n = 3; i < n; i++) g(i)\n\
        \x20 for await (const q of r()) {}\n  try { await h() } catch { } finally { q() }\n  outer: do { continue outer } while (x--)\n  return rest.map((r) => `${r.a} ${`x${y}`}`).filter(Boolean)\n}\n\
        class A extends B { static s = 1; #p = 2; static { this.s++ } constructor(x) { super(x); this.x = x } get v() { return this.#p } async *m() { yield* this.x?.y ?? null } }\n\
        const re = /a[/]b/g, o = { a, 'b': 2, [c]: 3, m() { }, get p() { return 1 }, async n() {}, ...d }\nswitch (x) { case 1: f(); break; default: g() }\n\
        x = y ? z : w; a ||= b; if (!x) throw new Error('x')\nnew (class {})()\nf?.(1)?.[0]\nvoid 0, typeof x === 'y', delete o.a\n\
        f().then(() => process.exit(0)).catch(e => { console.error(e); process.exitCode = 1 })\n";
    assert!(parsed(Language::Script, code).is_some());
    assert!(parsed(Language::Python, "if x:\nprint(").is_none());
    assert!(parsed(Language::Script, "if (x {").is_none());
}

#[test]
fn only_the_branch_that_is_taken_counts() {
    assert_eq!(python("import os\nforce = False\nos.system('git push' + (' -f' if force else ''))"), [""; 0]);
    assert_eq!(python("import os\nforce = True\nos.system('git push' + (' -f' if force else ''))"), ["git/force-push"]);
    assert_eq!(
        node(
            "const w = []; for (const x of ['push', '-f']) { if (x === '-f') break; w.push(x) } require('child_process').spawnSync('git', w)"
        ),
        [""; 0]
    );
    assert_eq!(
        node("let n = 0; while (n < 5) n++; if (n === 5) require('child_process').execSync('git add -A')"),
        ["git/blind-add"]
    );
}

#[test]
fn a_command_that_fails_leads_to_the_handler() {
    let code = "import subprocess\nopts = []\nfor i in range(3):\n    try:\n        subprocess.run(['git', 'push', *opts], check=True)\n        break\n    except subprocess.CalledProcessError:\n        opts.append('--force')";
    assert_eq!(python(code), ["git/force-push"]);
    assert_eq!(python(&code.replace("--force", "--quiet")), [""; 0]);
    assert_eq!(
        node(
            "const { execSync } = require('child_process'); try { execSync('git push') } catch { execSync('git push -f') }"
        ),
        ["git/force-push"]
    );
}

#[test]
fn both_answers_of_a_question_are_tried() {
    for answer in ["if os.path.exists('x'):", "if not os.path.exists('x'):"] {
        assert_eq!(
            python(&format!(
                "import os\nflag = ''\n{answer}\n    flag = '-A'\nos.system('git add src ' + flag + ' .')"
            )),
            ["git/blind-add"]
        );
    }
}

#[test]
fn generators_run_with_their_consumers() {
    assert_eq!(
        python(
            "import os, contextlib, shutil\n@contextlib.contextmanager\ndef at(d):\n    old = os.getcwd()\n    os.chdir(d)\n    try: yield 'etc'\n    finally: os.chdir(old)\nwith at('/') as name: shutil.rmtree(name)"
        ),
        ["rm/critical"]
    );
    assert_eq!(
        python(
            "import os\ndef words():\n    while True:\n        yield 'git'\n        yield 'add -A'\nout = []\nfor w in words():\n    out.append(w)\n    if len(out) == 2: break\nos.system(' '.join(out))"
        ),
        ["git/blind-add"]
    );
    assert_eq!(
        python(
            "import os\ndef sink():\n    got = []\n    while len(got) < 2:\n        got.append((yield))\n    os.system(' '.join(got))\ng = sink(); next(g); g.send('git'); g.send('add .')"
        ),
        ["git/blind-add"]
    );
}

#[test]
fn deleting_all_files_below_a_place_is_deleting_the_place() {
    let walk =
        "import os\nfor d, ds, fs in os.walk(TOP, topdown=False):\n    for f in fs: os.remove(os.path.join(d, f))";
    assert_eq!(python(&walk.replace("TOP", "'/etc'")).first().map(String::as_str), Some("rm/critical"));
    assert_eq!(python(&walk.replace("TOP", "'build'")), [""; 0]);
    assert_eq!(
        python(&walk.replace("TOP", "'/etc'").replace("os.remove", "if f.endswith('.bak'): os.remove")),
        [""; 0]
    );
    let visit = "const fs = require('fs'), path = require('path'); const visit = d => { for (const n of fs.readdirSync(d)) { const p = path.join(d, n); fs.statSync(p).isDirectory() ? visit(p) : fs.unlinkSync(p) } }; visit(TOP)";
    assert_eq!(node(&visit.replace("TOP", "'/usr'")).first().map(String::as_str), Some("rm/critical"));
    assert_eq!(node(&visit.replace("TOP", "'dist'")), [""; 0]);
}

#[test]
fn a_lost_word_is_asked_about_where_the_program_holds_the_danger() {
    let program = "import subprocess, zlib\nflag = zlib.decompress(zlib.compress(b'--force')).decode()\nsubprocess.run(['git', 'push', flag])";
    assert_eq!(python(program), ["guard/hidden-code"]);
    assert_eq!(python(&program.replace("--force", "--quiet")), [""; 0]);
    // From outside, nobody can know it.
    assert_eq!(python("import subprocess, sys\nhelp = '--force'\nsubprocess.run(['git', 'push', input()])"), [""; 0]);
    assert_eq!(
        python("import subprocess, os\nhelp = '--force'\nsubprocess.run(['git', 'push', os.environ['FLAG']])"),
        [""; 0]
    );
}

#[test]
fn what_is_printed_reaches_the_next_command() {
    assert_eq!(refused("python3 -c 'print(\"git add\", \"-A\")' | sh"), ["git/blind-add"]);
    assert_eq!(refused("node -p '[\"git\", \"push\", \"-f\"].join(\" \")' | bash"), ["git/force-push"]);
    assert_eq!(refused("python3 -c 'print(\"git push -f\")'"), [""; 0]);
}

#[test]
fn programs_without_end_come_to_one() {
    let endless = [
        "while True: pass",
        "def f(n): return f(n + 1) + f(n + 2)\nf(0)",
        "t = ()\nwhile True: t = (t, t)",
        "import functools\nf = print\nwhile True: f = functools.partial(f)",
        "s = 'x'\nwhile True: s += s",
        "l = [0]\nfor x in l: l.append(x)",
        "d = {}\nd['d'] = d\nprint(d, d == d)",
        "c = 'exec(c)'\nexec(c)",
        "class A:\n    def __getattr__(self, n): return getattr(self, n + 'x')\nA().a",
        "def g():\n    for x in g(): yield x\nfor x in g(): pass",
        "class A:\n    def __eq__(self, o): return self == o\nA() == A()",
        "class A:\n    def __str__(self): return str(self) + f'{self}'\nprint(A(), [A()], {1: A()})",
        "class A:\n    def __iter__(self): return iter([x for x in self])\nlist(A())",
        "class A:\n    @property\n    def p(self): return self.p\nA().p",
        "class A:\n    def __add__(self, o): return o + self\nA() + A()",
        "class A:\n    def __contains__(self, o): return o in self\n    def __len__(self): return len(self)\n    def __bool__(self): return bool(self)\n1 in A()\nlen(A())\nif A(): pass",
        "def f(x): return sorted([x, x], key=f)\nf(1)",
        "def f(x): return list(map(f, [x, x]))\nf(1)",
        "def f(x): return ''.join(f(y) for y in [x, x])\nf(1)",
        "import functools\ndef f(x, y=1): return functools.reduce(f, [x, x, x])\nf(1)",
        "import re\ndef f(m): return re.sub('x', f, 'xx')\nf(1)",
        "import json\nl = []\nl.append(l)\nprint(json.dumps(l), l, str(l), l == [l])",
        "def d(f): return d(f)\n@d\ndef g(): pass",
        "class A:\n    def __enter__(self):\n        with self: pass\nwith A(): pass",
        "class A:\n    def __init__(self): A()\nA()",
        "def f():\n    try: f()\n    except Exception: f()\n    finally: f()\nf()",
        "import os\ndef f(n): os.system('python3 -c \"print(1)\"'); f(n + 1)\nf(0)",
    ];
    for code in endless {
        python(code);
    }
    for code in [
        "for (;;) {}",
        "const f = () => setTimeout(f, 0); f()",
        "let a = [1]; for (;;) a = [...a, a]",
        "const f = x => [x, x].map(f); f(1)",
        "const o = { get a() { return this.a }, toString() { return `${this}` } }; o.a; `${o}`",
        "class A { constructor() { new A() } }; new A()",
        "const f = async () => { await f() }; f()",
        "const f = () => Promise.all([1, 2].map(f)); f()",
        "function f() { return new Promise(r => r(f())) } f()",
        "const f = new Function('f', 'return f(f)'); f(f)",
        "const o = { [Symbol.iterator]() { return [...this] } }; [...o]",
        "'x'.replace(/x/, function f(m) { return m.replace(/x/, f) })",
        "const p = new Proxy({}, { get: (t, k, r) => r[k] ?? p[k] }); p.x",
    ] {
        node(code);
    }
}
