//! Whatever it is given, the guard gives an answer, the same each time, and in bounded steps.
//!
//! No clock is needed: a script that is not bounded does not end, or overflows the stack.

use bashful_guard::{Guard, LONGEST_SCRIPT, Level, Prelude, Verdict, resolved_commands};
use proptest::prelude::*;

fn judge(script: &str) -> Verdict {
    Guard::default().judge(script, &Prelude::default())
}

/// Texts with a number in each.
fn numbered(count: usize, text: impl Fn(usize) -> String) -> String {
    (0..count).map(text).collect::<Vec<_>>().concat()
}

/// Fragments that make scripts interesting when thrown together.
const FRAGMENTS: [&str; 60] = [
    "rm",
    " -rf ",
    "/",
    "~",
    "$HOME",
    "*",
    ".git",
    "git ",
    "push ",
    "add ",
    "-f",
    ".",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "(",
    ")",
    "{",
    "}",
    "$(",
    "`",
    "\"",
    "'",
    "$'",
    "\\",
    "${x",
    ":-",
    "}",
    "[",
    "]",
    "[[ ",
    " ]]",
    "((",
    "))",
    "<<E\n",
    "E\n",
    "<(",
    ">(",
    "if ",
    "then ",
    "fi",
    "for x in ",
    "do ",
    "done",
    "while ",
    "case x in ",
    "esac",
    "f() ",
    "x=",
    "$x",
    "\"$@\"",
    "eval ",
    "bash -c ",
    "xargs ",
    "find . -exec ",
    "{a,b}",
    "é",
];

proptest! {
    #[test]
    fn any_text_has_a_verdict_and_always_the_same(script in ".{0,200}") {
        prop_assert_eq!(judge(&script), judge(&script));
    }

    #[test]
    fn any_bytes_have_a_verdict(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        judge(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn shells_own_words_in_any_order_have_a_verdict(picks in proptest::collection::vec(0..FRAGMENTS.len(), 0..40)) {
        let script: String = picks.iter().map(|pick| FRAGMENTS[*pick]).collect();
        let verdict = judge(&script);
        for finding in &verdict.findings {
            prop_assert!(script.get(finding.span.clone()).is_some(), "{:?} is a part of {:?}", finding.span, script);
        }
        resolved_commands(&script);
    }

    #[test]
    fn what_stands_before_a_later_line_is_still_found(tail in "[a-z(){}\"'$ ]{0,40}") {
        let script = format!("rm -rf ~\n{tail}");
        prop_assert!(judge(&script).refuses());
    }
}

#[test]
fn openers_without_end_have_a_verdict() {
    for opener in [
        "(",
        "$(",
        "{ ",
        "{a,b}",
        "{a,",
        "`",
        "\"$(",
        "${x:-",
        "$((",
        "((",
        "[[ ",
        "if ",
        "while ",
        "case x in x) ",
        "f() {",
        "<(",
        "a[$(",
        "eval \"",
        "!",
        "x=(",
        "@(a|",
        "<<E\n",
        "\\",
        "'",
        "bash -c '",
        "$[",
        "${x/",
        "for x in ",
        "time ",
    ] {
        for count in [1, 25, 40, 2_000, 20_001] {
            let script: String = opener.repeat(count).chars().take(LONGEST_SCRIPT).collect();
            judge(&script);
        }
    }
}

#[test]
fn too_deep_is_for_a_person_to_look_at() {
    let nested = format!("{}rm -rf /{}", "if true; then ".repeat(2_000), "; fi".repeat(2_000));
    assert_eq!(judge(&nested).level(), Some(Level::Ask));
    let shells = (0..40).fold("rm -rf /".to_owned(), |script, _| format!("f() {{ {script}; }}; f"));
    assert!(judge(&shells).refuses());
}

#[test]
fn too_many_words_from_braces_are_for_a_person_to_look_at() {
    let script = format!("echo {}", "{a,b}".repeat(40));
    assert_eq!(judge(&script).level(), Some(Level::Ask));
}

#[test]
fn too_many_words_are_for_a_person_to_look_at() {
    for unit in ["a ", "a;", "a && ", "`a`", "\"$a\"", "a=b\n"] {
        let script = unit.repeat((1 << 20) / unit.len());
        assert_eq!(judge(&script).findings[0].rule, "guard/too-complex", "{unit:?}");
    }
    // The text of a here-document is one word.
    assert!(judge(&format!("cat > f <<'E'\n{}\nE\n", "a b c\n".repeat(150_000))).findings.is_empty());
}

#[test]
fn too_long_is_for_a_person_to_look_at() {
    let script = "x".repeat(LONGEST_SCRIPT + 1);
    assert_eq!(judge(&script).level(), Some(Level::Ask));
}

#[test]
fn loops_in_loops_in_loops_are_judged_within_the_budget() {
    let nested = |command: &str| {
        let heads = ["for a in 1/ 2/ 3/ 4/ 5/ 6/ 7/ 8/; do "; 6].concat();
        format!("{heads}{command}{}", "; done".repeat(6))
    };
    assert_eq!(judge(&nested("echo $a")).level(), None);
    assert!(judge(&nested("rm -rf $a/..")).refuses());
}

#[test]
fn many_words_are_all_looked_at() {
    let words = "w ".repeat(30_000);
    assert!(judge(&format!("rm -rf {words}/")).refuses());
    assert!(!judge(&format!("rm -rf {words}")).refuses());
}

#[test]
fn growing_text_stays_bounded() {
    assert!(!judge(&format!("x=aaaaaaaa\n{}echo $x", "x=$x$x\n".repeat(2_000))).refuses());
    judge(&format!("f() {{ {} }}; f", "f; ".repeat(100)));
    judge(&format!("x={}; {}", "a".repeat(2_000), "echo ${x//a*b/c}; ".repeat(500)));
    judge(&format!("{}{}", "v=1;".repeat(400), "(a=1);".repeat(400)));
    judge(&format!("{}{}", numbered(3_000, |n| format!("v{n}=1;")), "(a=1);".repeat(400)));
    judge(&format!("echo {} | sed 's/\\(a*\\)*b/x/'", "a".repeat(20_000)));
    judge(&"a=(1 2 3 \"${a[@]}\")\n".repeat(3_000));
    for line in [
        "set -- \"$@\" a\n",
        "cd a\n",
        "x=${x}a;",
        "a[$n]=b;",
        "git config a.b c; git x\n",
        "x=$(echo $x a)\n",
        "cp /bin/ls x$n; ls\n",
        "cat f >> g; cat g >> f; echo x >> f\n",
        "if x; then a+=(b); fi\n",
    ] {
        judge(&line.repeat(5_000));
    }
    judge(":(){ :|:& };:");
}

#[test]
fn growing_values_in_other_languages_stay_bounded() {
    for line in [
        "a+=a\n",
        "a=a+a\n",
        "a.extend(a)\n",
        "a=','.join([a, a])\n",
        "a=a + '-'.join(a)\n",
        "a='%s%s' % (a, a)\n",
        "a='{}{}'.format(a, a)\n",
        "[rmtree(p + q) for p in a for q in a]\n",
        "for p in [p, p + p]: rmtree(p + p)\n",
        "x=[shutil.rmtree(p(p) for p in Path('.').iten Parmtree(p) for p in Path('.').it ",
    ] {
        judge(&format!("python3 -c \"a=['xxxxxxxx', 'yyyyyyyy']; p=a\n{}\"", line.repeat(200)));
        judge(&format!("python3 -c \"a='xxxxxxxx'\n{}\"", line.repeat(200)));
    }
    for line in ["a=[a, a]\n", "a={'k': a, 'l': a}\n", "a=(a, [a])\n", "a.append(a)\n", "f=lambda: [f, a, a]; a=f()\n"]
    {
        judge(&format!("python3 -c \"a=['x']\n{}\"", line.repeat(200)));
    }
    for line in
        ["a=[a,a];\n", "a={k:a,l:a};\n", "a=a.concat(a);\n", "a=a.map(x=>[x,x]);\n", "a=`${a}${a}`;\n", "a+=a;\n"]
    {
        judge(&format!("node -e 'let a=[1];\n{}'", line.repeat(200)));
    }
    for line in
        ["@a=(@a,@a);\n", "push @a,@a;\n", "$a=[$a,$a];\n", "$b.=$b;\n", "$b=\"$b$b\";\n", "@a=map {($_,$_)} @a;\n"]
    {
        judge(&format!("perl -e 'my @a=(1); my $b=q(xxxxxxxx);\n{}'", line.repeat(200)));
    }
    for line in ["set a $a$a\n", "set a [list $a $a]\n", "append a $a\n", "set a [string map {x xx} $a]\n"] {
        judge(&format!("tclsh <<'E'\nset a xxxxxxxx\n{}E\n", line.repeat(200)));
    }
    let long = "'w', ".repeat(500);
    assert!(judge(&format!("python3 -c \"import subprocess; subprocess.run(['rm', '-rf', {long} '/'])\"")).refuses());
}

#[test]
fn programs_without_end_have_a_verdict() {
    for code in [
        "def f(): f(); f()\nf()",
        "class A:\n    def __init__(self): self.me = self; self.all = [self, A]\na = A()\nb = A()\na.b = b\nb.a = a\nif x: a = b",
        "x = 'eval(x); eval(x)'\neval(x)",
        "while True:\n    for i in range(10**9):\n        for j in range(99): k = [i, j]",
        "f = lambda x: [x(x), x(x)]\nf(f)",
    ] {
        judge(&format!("python3 - <<'E'\n{code}\nE\n"));
    }
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("f(", ")"),
        ("not ", ""),
        ("{1:", "}"),
        ("-", ""),
        ("lambda: ", ""),
        ("a.", ""),
        ("1+", ""),
    ] {
        for depth in [30, 300, 1_000] {
            judge(&format!("python3 -c '{}x{}'", open.repeat(depth), close.repeat(depth)));
            judge(&format!("node -e '{}x{}'", open.repeat(depth), close.repeat(depth)));
            judge(&format!("perl -e '{}$x{}'", open.repeat(depth), close.repeat(depth)));
            judge(&format!("jq -n '{}.x{}'", open.repeat(depth), close.repeat(depth)));
        }
    }
    for (line, end) in [
        ("elif a: b\n", ""),
        ("else if (a) b;", ""),
        ("elsif (a) { b }", ""),
        ("if (a) {", ""),
        ("for (;;) ", ";"),
        ("[", "]"),
        ("{", "}"),
        ("!", ""),
    ] {
        for program in ["python3", "node", "perl", "tclsh"] {
            judge(&format!("{program} <<'E'\nif (a) {{ }}\n{}{}\nE\n", line.repeat(400), end.repeat(400)));
            judge(&format!("{program} <<'E'\nif a: b\n{}\nE\n", line.repeat(400)));
        }
    }
}

#[test]
fn blanks_and_options_at_odd_places_have_a_verdict() {
    for script in [
        "tclsh <<'E'\nset a \u{2003}b\nputs \u{b} x\u{c}\nE\n",
        "tclsh <<'E'\nproc f {a} {\u{a0}}\n\u{3000}f\nE\n",
        "seq -f",
        "seq -s",
        "seq 1 -f",
        "sort -k",
        "cut -d",
        "head -n",
        "tr -d",
        "date -d",
        "printf -v",
        "getopt -o",
        "xargs -n",
        "find . -newermt",
        "sed -e",
        "awk -v",
        "jq --arg",
        "make -f",
        "perl -M",
    ] {
        judge(script);
        assert!(judge(&format!("{script}\nrm -rf /\n")).refuses(), "{script}");
    }
}

#[test]
fn programs_that_repeat_themselves_have_a_verdict() {
    let each = "$(foreach a,1 2 3 4 5 6 7 8 9,";
    let choices = numbered(1000, |number| format!("if a{number}:\n x += '1'\nelse:\n x += '2'\n"));
    let many = [
        format!("make -f - <<'E'\nall:\n\t{}x{}\nE\n", each.repeat(30), ")".repeat(30)),
        format!("node -e 'const f = {}1'\n", "x=>".repeat(5000)),
        format!("node -e '{}1'\n", "(a=".repeat(5000)),
        format!("python3 - <<'E'\nimport os\n{choices}os.system(x)\nE\n"),
    ];
    for script in &many {
        let _ = judge(script);
        // The rest is judged, unless all of it is for a person to look at.
        assert!(!judge(&format!("{script}rm -rf /\n")).findings.is_empty(), "{}", &script[..60]);
    }
}

#[test]
fn values_that_hold_themselves_have_a_verdict() {
    for script in [
        "perl -e '$x = [$x] for 1 .. 5000; for (1 .. 3000) { my @n = ($y); $y = \\@n } for (1 .. 3000) { my $n = $z; $z = \\$n }'",
        "perl -MFile::Path -e '@a = (\\@a); rmtree(\\@a); $h{x} = \\%h; bless \\%h'",
        "perl -e 'sub f { f(@_, @_) } f(1); while (1) { $x .= \"a\" x 100 }'",
        "jq -n 'reduce range(1000) as $i (0; [.])'",
        "jq -n '[range(1000) | \"a\"] as $p | null | setpath($p; 1) | tojson'",
        "jq -n 'def f: [f, f]; f'",
        "tclsh <<'E'\nproc f x { f $x$x; f $x }\nf a\nE\n",
        "make -f - <<'E'\nA = $(A) $(A)\nall: ; echo $(A)\nE\n",
        "make -f - <<'E'\ndefine X\n$(eval $(X))\n$(eval $(X))\nendef\n$(eval $(X))\nall: ;\nE\n",
    ] {
        assert!(!judge(script).refuses(), "{script}");
        assert!(judge(&format!("{script}\nrm -rf /\n")).refuses(), "{script}");
    }
}

#[test]
fn recursion_of_a_function_ends_without_asking() {
    assert!(!judge("walk() { for f in \"$1\"/*; do walk \"$f\"; done; }; walk src").refuses());
}

#[test]
fn the_stack_of_a_small_thread_is_enough() {
    let small = std::thread::Builder::new().stack_size(2 << 20).spawn(|| {
        for depth in [10, 20, 30, 60] {
            let groups = format!("{}rm -rf /{}", "{ ".repeat(depth), "; }".repeat(depth));
            assert!(judge(&groups).refuses());
            let substitutions = format!("{}rm -rf /{}", "echo $(".repeat(depth), ")".repeat(depth));
            assert!(judge(&substitutions).refuses());
            let functions: String = numbered(depth, |n| format!("f{n}() {{ f{}; }}; ", n + 1));
            assert!(judge(&format!("{functions} f{depth}() {{ rm -rf /; }}; f0")).refuses());
            let shells = (0..depth.min(12))
                .fold("rm -rf /".to_owned(), |script, _| format!("bash -c '{}'", script.replace('\'', "'\\''")));
            assert!(judge(&shells).refuses());
        }
        let calls = "import os\ndef f(x):\n    return g([[[f(x)]]])\ndef g(x):\n    return [[[f(x[0])]]]\nf(1)\nos.system('rm -rf /')\n";
        assert!(judge(&format!("python3 - <<'E'\n{calls}E\n")).refuses());
        let chain = format!("x = {}1\nimport os\nos.system('rm -rf /')\n", "(1+".repeat(20) + &"1+".repeat(90)) + "";
        judge(&format!("python3 - <<'E'\n{chain}E\n"));
    });
    small.expect("threads can be started").join().expect("the stack was enough");
}

/// Texts that took minutes or gigabytes once, or would have. Whatever they do, the guard comes back.
#[test]
fn a_script_that_is_made_to_be_slow_has_a_verdict() {
    let bombs = [
        "uniq -f 9223372036854775807 <<< x".to_owned(),
        "m4 <<< \"define(`f',`f')f\"".to_owned(),
        format!("node -e \"{}\"", "execSync('a',".repeat(28)),
        format!("node -e \"'\n{}\"", "func('--dry-run');\n".repeat(22)),
        format!("{}{}", "nice ".repeat(90), "x ".repeat(480_000)),
        format!("git {}status", "-C a ".repeat(50_000)),
        format!("parallel rm {}", "::: a b ".repeat(3_000)),
        format!("python3 -c \"{}\"", "f((".repeat(20_000)),
        format!("python3 - <<E\n{}{}E", "import a as b\n".repeat(2_000), "b.run(x)\n".repeat(2_000)),
        format!("echo {}", "{a,b}".repeat(13_000)),
        format!("cut -c{} <<< {}", "1,2,3,".repeat(4_000), "a".repeat(20_000)),
        format!("{}x", "sudo env ".repeat(50_000)),
    ];
    for bomb in bombs {
        Guard::default().judge(&bomb, &Prelude::default());
    }
}
