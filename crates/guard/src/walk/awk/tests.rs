//! Programs with the output that real ones print for them, and programs over text that is not known.

use crate::guard::{Guard, Prelude};
use crate::marks::{FRESH, HOME, SOME, STAR, TREE, UNKNOWN};
use crate::walk::ScriptWalk;

/// The output of awk with these arguments and this input.
fn output(arguments: &[&str], input: &str) -> String {
    let (guard, prelude) = (Guard::default(), Prelude::default());
    let mut walk = ScriptWalk::new(&guard, ("", 0), &prelude);
    walk.world.shell.input = input.into();
    let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
    walk.run_awk(&arguments);
    std::mem::take(&mut walk.world.out)
}

#[track_caller]
fn check(program: &str, input: &str, expected: &str) {
    assert_eq!(output(&[program], input), expected, "{program}");
}

/// Arguments, input, and the output of mawk or gawk.
#[rustfmt::skip]
const TABLE: &[(&[&str], &str, &str)] = &[
    (&["BEGIN { print 1 + 2 * 3, 7 % 3, 2 ^ 10, -2 ^ 2, 1 / 4 }"], "", "7 1 1024 -4 0.25\n"),
    (&["BEGIN { print 1 - 1, 1 \" \" -1, \"a\" \"b\" 3 + 4 }"], "", "0 1-1 ab7\n"),
    (&["BEGIN { x = 5; print x++ + ++x, x--, --x; x += 2; x *= 3; x -= 1; x /= 2; x %= 5; x ^= 2; print x }"], "", "12 7 5\n0\n"),
    (&["BEGIN { print length(\"hello\"), substr(\"hello\", 2, 3), substr(\"hello\", 0), index(\"hello\", \"ll\"), index(\"a\", \"z\") }"], "", "5 ell hello 3 0\n"),
    (&["BEGIN { print toupper(\"abc\") tolower(\"DEF\"), int(3.9), int(-3.9), sqrt(16), exp(0), log(1), sin(0), cos(0), atan2(0, -1) }"], "", "ABCdef 3 -3 4 1 0 0 1 3.14159\n"),
    (&["BEGIN { n = split(\"a:b:c\", p, \":\"); print n, p[1], p[3]; n = split(\"  x  y \", q); print n, q[1] q[2]; n = split(\"a1b22c\", r, /[0-9]+/); print n, r[2] r[3]; print split(\"\", s) }"], "", "3 a c\n2 xy\n3 bc\n0\n"),
    (&["BEGIN { s = \"hello world\"; n = gsub(/o/, \"[&]\", s); print n, s; sub(/l+/, \"\\\\&\", s); print s; t = \"aaa\"; print gsub(/x*/, \"-\", t), t }"], "", "2 hell[o] w[o]rld\nhe&[o] w[o]rld\n4 -a-a-a-\n"),
    (&["BEGIN { print match(\"foobar\", /o+/), RSTART, RLENGTH; print match(\"x\", /y/), RSTART, RLENGTH }"], "", "2 2 2\n0 0 -1\n"),
    (&["BEGIN { printf \"%d %5d|%-5d|%05d %s %10s|%-10s|%c%c %x %o %e %.2f %g %%\\n\", 42.9, 42, 42, 42, \"s\", \"right\", \"left\", 65, \"hello\", 255, 8, 12345.678, 3.14159, 0.0001 }"], "", "42    42|42   |00042 s      right|left      |Ah ff 10 1.234568e+04 3.14 0.0001 %\n"),
    (&["BEGIN { x = sprintf(\"%c%c%c\", 97, 100, 100); print x; printf(\"%s-%s\\n\", \"a\", \"b\") }"], "", "add\na-b\n"),
    (&["{ print $1, $NF, NF, NR }"], "a b c\nd e\n\nf\n", "a c 3 1\nd e 2 2\n  0 3\nf f 1 4\n"),
    (&["-F:", "{ print $2 }"], "a:b:c\nx::z\n", "b\n\n"),
    (&["-F", "\\t", "{ print $2 }"], "a b\tc d\te\n", "c d\n"),
    (&["-F|", "{ print $3 }"], "1|stage|git add -A\n", "git add -A\n"),
    (&["-F[,;]+", "{ print $2 \"-\" $3 }"], "a,;b;c\n", "b-c\n"),
    (&["-F, ", "{ print $2 }"], "a, b, c\n", "b\n"),
    (&["-F.", "{ print $2 }"], "a.b.c\n", "b\n"),
    (&["{ $2 = \"X\"; print; print NF; $5 = \"new\"; print; NF = 2; print; print $0 }"], "a b c\n", "a X c\n3\na X c  new\na X\na X\n"),
    (&["BEGIN { OFS = \"-\" } { $1 = $1; print; print $1, $2 }"], "a b c\n", "a-b-c\na-b\n"),
    (&["{ $0 = \"x y z\"; print $2, NF }"], "a b\n", "y 3\n"),
    (&["/b/ { print \"got\", $0 } !/b/ { print \"no\", $0 }"], "abc\nxyz\n", "got abc\nno xyz\n"),
    (&["/start/,/end/"], "a\nstart\nb\nend\nc\nstart\nd\n", "start\nb\nend\nstart\nd\n"),
    (&["NR == 2, NR == 3 { print NR \": \" $0 }"], "a\nb\nc\nd\n", "2: b\n3: c\n"),
    (&["$1 > 5"], "3 a\n10 b\nx c\n", "10 b\nx c\n"),
    (&["$1 == \"10\" || $2 ~ /^z/"], "10 a\n1e1 b\n3 zz\n", "10 a\n3 zz\n"),
    (&["END { print NR, $0 }"], "a\nlast\n", "2 last\n"),
    (&["{ s += $1 } END { print s, s / NR }"], "1\n2\n6\n", "9 3\n"),
    (&["{ c[$1]++ } END { print c[\"a\"], c[\"b\"], (\"z\" in c), (\"a\" in c) }"], "a\nb\na\n", "2 1 0 1\n"),
    (&["BEGIN { a[1, 2] = \"x\"; for (k in a) { split(k, p, SUBSEP); print p[1], p[2] } if ((1, 2) in a) print \"in\"; delete a[1, 2]; print length(a) }"], "", "1 2\nin\n0\n"),
    (&["BEGIN { a[\"x\"]; delete a; n = 0; for (k in a) n++; print n }"], "", "0\n"),
    (&["BEGIN { while (i < 3) { i++; if (i == 2) continue; print i } do { i-- } while (i > 1); print i; for (;;) { if (++j > 4) break } print j }"], "", "1\n3\n1\n5\n"),
    (&["function f(n) { return n <= 1 ? 1 : n * f(n - 1) } BEGIN { print f(10) }"], "", "3628800\n"),
    (&["function fill(a, n,  i) { for (i = 1; i <= n; i++) a[i] = i * i }\nfunction total(a,  k, s) { for (k in a) s += a[k]; return s }\nBEGIN { fill(sq, 4); print total(sq), i }"], "", "30 \n"),
    (&["function g(x) { x = 5 } BEGIN { y = 1; g(y); print y; print g(1) \"|\" }"], "", "1\n|\n"),
    (&["{ if (NR == 1) next; print; if (NR == 2) exit } END { print \"end\" }"], "a\nb\nc\n", "b\nend\n"),
    (&["BEGIN { while ((getline line < \"/dev/stdin\") > 0) print \"got \" line }"], "a\nb\n", "got a\ngot b\n"),
    (&["NR == 1 { getline; print \"now \" $0, NR } NR == 3 { r = getline x; print r, x, NR; print getline y }"], "a\nb\nc\nd\n", "now b 2\n1 d 4\n0\n"),
    (&["BEGIN { RS = \";\" } { print NR \":\" $0 }"], "a;b c;d\n", "1:a\n2:b c\n3:d\n\n"),
    (&["BEGIN { RS = \"\" } { print NR \": \" $1 \"-\" $NF, NF }"], "\n\na b\nc\n\n\nd\n", "1: a-c 3\n2: d-d 1\n"),
    (&["BEGIN { RS = \"---\\n\" } { print NR \"=\" $1 }"], "a\n---\nb c\n---\nd\n", "1=a\n2=b\n3=d\n"),
    (&["BEGIN { ORS = \"|\"; OFS = \",\"; print 1, 2; print \"x\" }"], "", "1,2|x|"),
    (&["-v", "x=a\\tb", "-v", "n=3", "BEGIN { print x; if (n == 3.0) print \"num\" }"], "", "a\tb\nnum\n"),
    (&["BEGIN { for (i = 0; i < ARGC; i++) if (i) print i, ARGV[i] }", "x", "y=1"], "", "1 x\n2 y=1\n"),
    (&["{ print v, $0 }", "v=1", "-", "v=2"], "a\n", "1 a\n"),
    (&["BEGIN { print -3 % 2, 1e6, 1e5 + 0.5, 0.1 + 0.2, 1e300 * 10, 123456789 }"], "", "-1 1000000 100000 0.3 1e+301 123456789\n"),
    (&["BEGIN { print 1 == 1.0, \"a\" < \"b\", \"10\" < \"9\", 10 < 9, \"abc\" ~ /b/, \"abc\" ~ \"^b\", !0, !1, !\"\", !\"a\" }"], "", "1 1 1 0 1 0 1 0 1 0\n"),
    (&["{ print ($1 < $2), ($1 == $2) }"], "10 9\nabc abd\n1.0 1\n", "0 0\n1 0\n0 1\n"),
    (&["BEGIN { print length() ; print length \"x\" }"], "", "0\n0x\n"),
    (&["BEGIN { x[\"a\"] = 1; if (\"a\" in x && !(\"b\" in x)) print \"ok\"; print (1 ? \"y\" : \"n\"), 0 ? 1 : 2 ? 3 : 4 }"], "", "ok\ny 3\n"),
    (&["BEGIN { printf \"%s\\n\" , \"a\" > \"/dev/stdout\"; print \"b\\\"c\\\\d\\101\" }"], "", "a\nb\"c\\dA\n"),
    (&["{ gsub(/[^a-z0-9 -]/, \"\"); gsub(/ /, \"-\"); print }"], "Hello, World 42!\n", "ello-orld-42\n"),
    (&["{ sub(/^[ \\t]+/, \"\"); sub(/[ \\t]+$/, \"\"); print \"[\" $0 \"]\" }"], "  padded text \n", "[padded text]\n"),
    (&["!seen[$0]++"], "a\nb\na\nc\nb\n", "a\nb\nc\n"),
    (&["{ a[NR] = $0 } END { for (i = NR; i; i--) print a[i] }"], "1\n2\n3\n", "3\n2\n1\n"),
    (&["length($0) > 3 { print substr($0, length($0) - 1) }"], "ab\nabcd\nxyz12\n", "cd\n12\n"),
    (&["BEGIN { \"echo hi there\" | getline x; print x; \"echo a b\" | getline; print $2 }"], "", "hi there\nb\n"),
    (&["BEGIN { print \"b\\na\" | \"cat\"; close(\"cat\"); print \"after\" }"], "", "b\na\nafter\n"),
    (&["BEGIN { system(\"echo from shell\"); print \"x\" }"], "", "from shell\nx\n"),
    (&["{ $3 = \"\"; print; print NF }"], "a b c d\n", "a b  d\n4\n"),
    (&["NF { $1 = $1 } 1"], "  a   b  \n\n c\n", "a b\n\nc\n"),
    (&["BEGIN { s = \"a.b.c\"; n = gsub(\"\\\\.\", \"/\", s); print n, s; u = \"x+y\"; gsub(/\\+/, \"&&\", u); print u }"], "", "2 a/b/c\nx++y\n"),
    (&["BEGIN { print substr(\"abcdefgh\", 6, 1) substr(\"hello\", 2) ; print 1==1 ? \"t\" : \"f\" }"], "", "fello\nt\n"),
    (&["/^```sh/ { f = 1; next } /^```/ { f = 0 } f"], "x\n```sh\nls -l\n```\ny\n", "ls -l\n"),
    (&["BEGIN { if (!(3 in a)) print \"no\"; if (a[3] == \"\") print \"empty\"; if (3 in a) print \"now\" }"], "", "no\nempty\nnow\n"),
    (&["{ n = split($0, w, \"\"); s = \"\"; for (i = n; i > 0; i--) s = s w[i]; print s }"], "A- dda tig\n", "git add -A\n"),
    (&["BEGIN { x = \"A\"; y = x x; x = y y; print x, length(x); print 3 \"\" 4 + 1 }"], "", "AAAA 4\n35\n"),
    (&["BEGIN { $0 = \"a b c\"; print NF, $2; $7 = \"g\"; print; print NF }"], "", "3 b\na b c    g\n7\n"),
    (&["BEGIN { printf \"no newline\" }"], "", "no newline"),
    (&["BEGIN { printf \"%5.2f|%-8s|%+d|% d|%.3s|%*d\\n\", 3.14159, \"ab\", 5, 7, \"abcdef\", 4, 9 }"], "", " 3.14|ab      |+5| 7|abc|   9\n"),
    (&["BEGIN { exit } END { print \"end ran\" }"], "", "end ran\n"),
    (&["BEGIN { print index(\"foo\", \"\") ; print substr(\"x\", 2) \"|\" ; print 010 + 0, \"1e2x\" + 0, \".5.\" + 0 }"], "", "1\n|\n10 100 0.5\n"),
    (&["\n# a comment\nBEGIN {\n  x = 1 +\\\n 2\n  if (x == 3)\n    print \"three\"\n  else\n    print \"other\"\n  y = x > 2 &&\n    x < 4\n  print y\n}\n"], "", "three\n1\n"),
    (&["BEGIN { if (1) { print \"a\" } else print \"b\"; if (0) print \"c\"; else if (1) print \"d\"; else print \"e\" ; while (0) ; for (i = 0; i < 2; i++) ; print i }"], "", "a\nd\n2\n"),
    (&["BEGIN { a = \"x\"; b = a++; print a, b; print +\"3x\", -\"2\", !\"0\", !0 + 1 }"], "", "1 0\n3 -2 0 2\n"),
    (&["$2 ~ \"^(a|b)$\" { print $1 } $2 !~ /a|b/ { print \"not\", $1 }"], "1 a\n2 ab\n3 c\n", "1\nnot 3\n"),
    (&["BEGIN { CONVFMT = \"%.2g\"; x = 3.14159; y = x \"\"; print y, x; OFMT = \"%.3f\"; print x }"], "", "3.1 3.14159\n3.142\n"),
    (&["{ sum[$col] += $2 } END { print sum[\"k\"] }", "col=1"], "k 3\nk 4\n", "7\n"),
    (&["BEGIN { while (\"echo a; echo b\" | getline l) n = n l; print n }"], "", "ab\n"),
    (&["BEGIN { print \"x\" > \"/tmp/awk-table-out\"; print \"y\" > \"/tmp/awk-table-out\"; close(\"/tmp/awk-table-out\"); while ((getline l < \"/tmp/awk-table-out\") > 0) print \"<\" l }"], "", "<x\n<y\n"),
    (&["BEGIN { print length(12345), length(1 / 3); print substr(12345, 2, 2); print \"a\" > \"/dev/stderr\" }"], "", "5 8\n23\n"),
    (&["{ print; getline; print \"2:\" $0 }"], "a\nb\nc\n", "a\n2:b\nc\n2:c\n"),
    (&["function p(s) { printf \"%s;\", s } { p($1); p($2) } END { print \"\" }"], "a b\nc d\n", "a;b;c;d;\n"),
    (&["function r(a, n) { if (n == 0) return; a[n] = n; r(a, n - 1) } BEGIN { r(z, 3); print z[1] z[2] z[3] }"], "", "123\n"),
    (&["BEGIN { regex = \"^[a-c]+$\"; if (\"abc\" ~ regex) print \"m\"; if (\"abd\" ~ regex) print \"n\" ; print \"a/b\" ~ /a\\/b/, \"]\" ~ /[]]/, \"a\" ~ /[^]]/ }"], "", "m\n1 1 1\n"),
    (&["BEGIN { print substr(\"hello\", -1, 3) }"], "", "h\n"),
    (&["-Ft", "{ print $2 }"], "a b\tc d\te\n", "c d\n"),
    (&["BEGIN { RS = \"\"; FS = \":\" } { print $1 \"/\" $2 \"/\" $3 }"], "a:b\nc\n\nd:e\n", "a/b/c\nd/e/\n"),
    (&["BEGIN { print 2 ** 3, 100000 * 100000 }"], "", "8 10000000000\n"),
    (&["BEGIN { print gensub(/(a)(b)/, \"\\\\2\\\\1\", \"g\", \"abab\"), gensub(/x/, \"y\", 2, \"xxx\") }"], "", "baba xyx\n"),
    (&["BEGIN { print strtonum(\"0x1A\"), strtonum(\"017\"), and(12, 10), or(12, 10), xor(12, 10), lshift(1, 4) }"], "", "26 15 8 14 6 16\n"),
    (&["BEGIN { a[1] = \"c\"; a[2] = \"a\"; a[3] = \"b\"; n = asort(a); print n, a[1] a[2] a[3]; b[\"y\"]; b[\"x\"]; asorti(b, c); print c[1] c[2] }"], "", "3 abc\nxy\n"),
    (&["BEGIN { match(\"key=value\", /([a-z]+)=([a-z]+)/, m); print m[1], m[2] }"], "", "key value\n"),
    (&["{ gsub(/\\y[a-z]/, \"_\"); print }"], "ab cd\n", "_b _d\n"),
    (&["--field-separator=:", "--assign", "x=1", "{ print $2, x }"], "a:b\n", "b 1\n"),
    (&["BEGIN { print \"aaa\" ~ /^a{3}$/, \"aa\" ~ /^a{3,}$/ }"], "", "1 0\n"),
];

#[test]
fn programs_print_what_real_awk_prints() {
    for (arguments, input, expected) in TABLE {
        assert_eq!(&output(arguments, input), expected, "{arguments:?}");
    }
}

#[test]
fn a_listing_is_carried_through() {
    let new = format!("?? {FRESH}\n");
    check("{print $2}", &new, &format!("{FRESH}\n"));
    check("/^\\?\\?/ {print $NF}", &new, &format!("{FRESH}\n"));
    check("{print substr($0, 4)}", &new, &format!("{FRESH}\n"));
    check("{sub(/^.. /, \"\"); print}", &new, &format!("{FRESH}\n"));
    check("$1 == \"M\" {print $2}", &new, "");
    check("{print \"rm -rf \" $0}", &format!("{STAR}\n"), &format!("rm -rf {STAR}\n"));
    check("{print $9}", &format!("{STAR}\n"), &format!("{STAR}\n"));
    check("NR > 1 {print $9}", &format!("{STAR}\n"), &format!("{STAR}\n"));
    check("!/keep/", &format!("{STAR}\n"), &format!("{STAR}\n"));
}

#[test]
fn a_condition_that_looks_for_a_text_chooses_among_names() {
    check("/\\.o$/ {print}", &format!("{STAR}\n"), &format!("{SOME}\n"));
    check("$0 == \".git\"", &format!("{STAR}\n"), ".git\n");
    check("{ if ($0 ~ /x/) print }", &format!("./{TREE}\n"), &format!("./{SOME}\n"));
}

#[test]
fn unknown_input_never_becomes_known() {
    let line = UNKNOWN.to_string();
    check("{n++} END {print n}", &line, &format!("{SOME}\n"));
    check("END {print NR}", &line, &format!("{SOME}\n"));
    check("{print length($0)}", &line, &format!("{SOME}\n"));
    check("{gsub(/[^a]/, \"\"); print}", &line, &format!("{UNKNOWN}\n"));
    check("/a/ {v = $2} END {print v}", &line, &format!("{UNKNOWN}\n"));
    check("/x/ {seen[\"a\"]} END {if (!(\"a\" in seen)) print \"none\"}", &line, "none\n");
    check("f; /x/ {f = 1}", &line, &format!("{UNKNOWN}\n"));
    check("BEGIN {print int(rand() * 10)}", "", &format!("{SOME}\n"));
    check("{print $3 + 1}", &line, &format!("{SOME}\n"));
    check("{print}", "", &format!("{UNKNOWN}\n"));
}

#[test]
fn both_ways_of_an_unknown_condition_are_followed() {
    check("{if ($1 > 3) x = \"a\"; else x = \"b\"} END {print x}", &UNKNOWN.to_string(), "b\na\n");
    check("{print ($1 == 2 ? \"a\" : \"b\") \"!\"}", &UNKNOWN.to_string(), "a!\nb!\n");
    check("/x/ {print \"x\"; next} {print \"y\"}", &UNKNOWN.to_string(), "x\ny\n");
    check("BEGIN {while (1) {if (rand() > 0.5) break; n++} print \"end\"}", "", "end\n");
}

#[test]
fn an_assignment_that_may_not_happen_leaves_the_old_value() {
    let line = UNKNOWN.to_string();
    check("BEGIN {x = \"a\"} /q/ && (x = \"b\") {} END {print x}", &line, "b\na\n");
    check("BEGIN {x = \"a\"; getline x < \"missing\"; print x}", "", &format!("a\n{UNKNOWN}\n"));
    check("BEGIN {a[1]} {delete a[$1]} END {if (!(1 in a)) print \"gone\"}", &line, "gone\n");
    assert_eq!(output(&["-F", &line, "{print $2}"], "a:b\n"), format!("{UNKNOWN}\n"));
    assert_eq!(output(&["-v", &format!("RS={line}"), "{print $2}"], "a:b\n"), format!("{UNKNOWN}\n"));
}

#[test]
fn directories_are_kept_as_they_are() {
    check("BEGIN {print ENVIRON[\"HOME\"]}", "", &format!("{HOME}\n"));
    assert_eq!(output(&["-v", &format!("d={HOME}"), "BEGIN {print d \"/x\"}"], ""), format!("{HOME}/x\n"));
    assert_eq!(output(&["-F:", "{print $6}", "/etc/passwd"], ""), format!("{HOME}\n"));
}

#[test]
fn endless_and_deep_programs_come_to_an_end() {
    let deep = format!("BEGIN {{ print {}1{} }}", "(".repeat(5_000), ")".repeat(5_000));
    let long = format!("BEGIN {{ print {} }}", "a b + 1 || ".repeat(5_000) + "1");
    for program in [
        "BEGIN { while (1) x = x \"aaaaaaaa\" }",
        "BEGIN { for (;;) a[i++] = i }",
        "function f(n) { return f(n + 1) } BEGIN { print f(1) }",
        "function f(n) { if (rand() > n) f(n); f(n); return 1 } BEGIN { f(1) }",
        "BEGIN { x = \"a\"; for (;;) { x = x x; gsub(/a/, \"aa\", x) } }",
        "BEGIN { for (i = 0; ; i++) \"echo \" i | getline y }",
        "BEGIN { for (i = 0; ; i++) if (i ~ (\"^(a|b)*\" i)) print }",
        "BEGIN { $1000000 = \"x\"; NF = 99999999; printf \"%999999999d\", 1 }",
        &deep,
        &long,
    ] {
        output(&[program], "");
    }
}
