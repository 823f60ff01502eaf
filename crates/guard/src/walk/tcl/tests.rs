//! Programs and what the real Tcl prints for them.

use crate::guard::{Guard, Prelude};
use crate::walk::ScriptWalk;

fn printed(code: &str) -> String {
    let (guard, prelude) = (Guard::default(), Prelude::default());
    let mut walk = ScriptWalk::new(&guard, ("", 0), &prelude);
    walk.world.shell.input = code.into();
    walk.capturing(|walk| walk.run_tcl("tclsh", &[]))
}

#[test]
fn programs_print_what_tcl_prints() {
    for (code, output) in CASES {
        assert_eq!(printed(code), *output, "{code}");
    }
}

#[rustfmt::skip]
const CASES: &[(&str, &str)] = &[
    (r#"proc greet {name {greeting Hello} args} { return "$greeting, $name! [llength $args]" }
puts [greet Bob]; puts [greet Al Hi a b]"#, "Hello, Bob! 0\nHi, Al! 2\n"),
    (r"set l {a b {c d} e}; puts [lindex $l 2]; puts [lindex $l end]; puts [lrange $l 1 end-1]; puts [llength $l]; puts [lreverse $l]; puts [join $l -]; puts [lsort -decreasing $l]; lappend l f {g h}; puts $l; puts [linsert $l 1 X]; puts [lreplace $l 0 1 Y]", "c d\ne\nb {c d}\n4\ne {c d} b a\na-b-c d-e\ne {c d} b a\na b {c d} e f {g h}\na X b {c d} e f {g h}\nY {c d} e f {g h}\n"),
    (r#"array set a {x 1 y 2}; set a(z) 3; foreach k [lsort [array names a]] { puts "$k=$a($k)" }; puts [array size a]; puts [info exists a(x)][info exists a(q)]; set i x; puts $a($i)"#, "x=1\ny=2\nz=3\n3\n10\n1\n"),
    (r#"set d [dict create a 1 b 2]; dict set d c 3; dict incr d a 5; dict lappend d l x y; puts $d; puts [dict get $d a]; dict for {k v} $d { puts -nonewline "$k:$v " }; puts [dict keys $d]; puts [dict exists $d zz]; dict set n p q 5; puts [dict get $n p q]"#, "a 6 b 2 c 3 l {x y}\n6\na:6 b:2 c:3 l:x y a b c l\n0\n5\n"),
    (r#"puts [string toupper abc][string length hello][string range hello 1 3][string index hello end][string reverse abc][string repeat ab 3][string map {a 1 b 2} aabb]; puts [string trim "  x "]|[string first l hello]|[string last l hello]|[string match h*o hello]|[string equal a a]|[string replace hello 0 0 J]|[string trimleft xxa x]|[string totitle fOO]"#, "ABC5ellocbaababab1122\nx|2|3|1|1|Jello|a|Foo\n"),
    (r#"puts [expr {1+2*3}]; puts [expr {10/3}]; puts [expr {10 % 3}]; puts [expr {2**10}]; puts [expr {"a" eq "a" && 3 > 2}]; puts [expr {5 > 3 ? "yes" : "no"}]; puts [expr {"b" in {a b}}]; puts [expr {max(1,5,3)}]; puts [expr {int(3.7)}]; puts [expr {!0}]; puts [expr {1 << 4 | 1}]"#, "7\n3\n1\n1024\n1\nyes\n1\n5\n3\n1\n17\n"),
    (r#"for {set i 0} {$i < 5} {incr i} { if {$i == 2} continue; if {$i == 4} break; puts -nonewline $i }; puts ""; set n 3; while {$n > 0} { puts -nonewline $n; incr n -1 }; puts ""; foreach {a b} {1 2 3 4} c {x y} { puts -nonewline "$a$b$c " }; puts ""; puts [lmap x {1 2 3} {expr {$x*2}}]"#, "013\n321\n12x 34y \n2 4 6\n"),
    (r"switch -glob foobar { foo* { puts glob } default { puts def } }; switch b { a - b { puts ab } c { puts c } }; switch -regexp -- abc { ^a { puts re } }; switch zz { a {puts a} default {puts default} }", "glob\nab\nre\ndefault\n"),
    (r#"if {[catch {error boom} msg]} { puts "caught $msg" }; puts [catch {expr {1}} r]$r; try { error oops } on error {m o} { puts "on $m" } finally { puts fin }; proc f {} { return -code error bad }; puts [catch f e]$e"#, "caught boom\n01\non oops\nfin\n1bad\n"),
    (r"namespace eval ns { variable v 5; proc get {} { variable v; return $v }; proc set_it {x} { variable v; set v $x } }
puts [ns::get]; ns::set_it 9; puts $ns::v; puts [::ns::get]", "5\n9\n9\n"),
    (r#"proc up {name} { upvar 1 $name v; append v "!" }; set s hi; up s; puts $s; proc g {} { global s; set s changed }; g; puts $s; proc lvl {} { uplevel 1 {set z 7} }; lvl; puts $z; proc glob2 {} { puts $::s }; glob2"#, "hi!\nchanged\n7\nchanged\n"),
    (r#"puts [regexp {(\w+)@(\w+)} "joe@host" all u h]; puts "$all $u $h"; puts [regsub -all {[0-9]} a1b2 #]; puts [regsub {(a)(b)} abab {\2\1} out]; puts $out; puts [regexp -all -inline {\d+} "1 22 333"]; puts [regexp -nocase ABC xabcx]"#, "1\njoe@host joe host\na#b#\n1\nbaab\n1 22 333\n1\n"),
    (r#"puts [format "%05d|%-5s|%5s|%x|%.2f|%c|%s" 42 ab cd 255 3.14159 65 end]; puts [split a,b,,c ,]; puts [split abc ""]; puts [join {1 2 3} +]; scan "10 abc" "%d %s" n w; puts "$n $w"; puts [concat a {b c} d]"#, "00042|ab   |   cd|ff|3.14|A|end\na b {} c\na b c\n1+2+3\n10 abc\na b c d\n"),
    (r#"set cmd [list puts "hello world"]; eval $cmd; {*}$cmd; set x 5; puts [subst {x is $x and [expr {$x+1}]}]; set args {a b c}; puts [llength $args]; puts "[lindex $args 0]-${x}y"; set v "a\tb\x41\u0042"; puts $v"#, "hello world\nhello world\nx is 5 and 6\n3\na-5y\na\tbAB\n"),
    (r#"set text "l1
l2
l3"; foreach line [split $text \n] { puts "<$line>" }; puts [lsearch {a b c} b][lsearch -exact {a b} z]; puts [lassign {1 2 3} p q]; puts $p$q; puts [lrepeat 3 x]; set m {}; lappend m a; puts [llength $m]; lset m 0 zz; puts $m"#, "<l1>\n<l2>\n<l3>\n1-1\n3\n12\nx x x\n1\nzz\n"),
    (r#"proc fact n { if {$n < 2} { return 1 }; return [expr {$n * [fact [expr {$n-1}]]}] }; puts [fact 10]; set f [list {x y} {expr {$x*$y}}]; puts [apply $f 3 4]; proc v {args} { foreach a $args { puts -nonewline "($a)" }; puts "" }; v {*}{a b} c; interp alias {} say {} puts; say hi; puts [info exists nope]"#, "3628800\n12\n(a)(b)(c)\nhi\n0\n"),
    (r"puts [file join a b /c d]; puts [file dirname /a/b/c]; puts [file tail /a/b/c.txt]; puts [file rootname x.tar.gz]; puts [file extension a.b.c]; puts [file split /a/b]; puts [file join /x ..]", "/c/d\n/a/b\nc.txt\nx.tar\n.c\n/ a b\n/x/..\n"),
    (r#"set i 5; set r [expr {$i > 3 && $i < 10}]; puts $r; puts [expr {($i + 1) * 2 - -3}]; puts [expr "$i + 1"]; puts [expr {$i == 5.0}]; set s "abc"; puts [expr {$s ne "abc"}]; puts [string is integer 12][string is integer x]; puts [expr {7.0/2}]; puts [expr {abs(-4)}]; puts [expr {-7 / 2}]; puts [incr i 10]"#, "1\n15\n6\n1\n0\n10\n3.5\n4\n-4\n15\n"),
    (r#"# a comment with { brace
set a 1 ;# trailing
if {$a} then { puts then } else { puts else }
if {$a == 2} { puts two } elseif {$a == 1} { puts one } else { puts other }
set long "x \
   y"
puts $long
puts [string compare a b][string cat a b c]
proc noargs {} { puts noargs }
noargs"#, "then\none\nx  y\n-1abc\nnoargs\n"),
];
