//! Filters and what the real jq prints for them.

use crate::guard::{Guard, Prelude};
use crate::walk::ScriptWalk;

const INPUT: &str = r#"{"root":"/usr","n":3,"on":true,"no":null,"tags":["b","a","c"],"acts":[{"op":"keep","p":"x","k":2},{"op":"drop","p":"y","k":1},{"op":"drop","p":"z z","k":3}],"m":{"b":1,"a":{"c":[1,2,[3]]}}}"#;

fn printed(filter: &str) -> Option<String> {
    let (guard, prelude) = (Guard::default(), Prelude::default());
    let mut walk = ScriptWalk::new(&guard, ("", 0), &prelude);
    walk.world.shell.input = INPUT.into();
    walk.jq(&["-r".to_owned(), filter.to_owned()])
}

#[test]
fn filters_print_what_jq_prints() {
    for (filter, output) in CASES {
        assert_eq!(printed(filter).as_deref(), Some(*output), "{filter}");
    }
}

#[rustfmt::skip]
const CASES: &[(&str, &str)] = &[
    (r#".root as $r | .acts[] | select(.op == "drop") | @sh "rm \($r + "/" + .p)""#, "rm '/usr/y'\nrm '/usr/z z'\n"),
    (r#".acts | map(select(.k > 1) | .p) | join(",")"#, "x,z z\n"),
    (r#".tags | sort, reverse, (.[1:] | join("")), .[-1], .[0:2]"#, "[\n  \"a\",\n  \"b\",\n  \"c\"\n]\n[\n  \"c\",\n  \"a\",\n  \"b\"\n]\nac\nc\n[\n  \"b\",\n  \"a\"\n]\n"),
    (r"[.acts[] | {(.op): .k}] | add", "{\n  \"keep\": 2,\n  \"drop\": 3\n}\n"),
    (r".acts | group_by(.op) | map({k: .[0].op, n: length})", "[\n  {\n    \"k\": \"drop\",\n    \"n\": 2\n  },\n  {\n    \"k\": \"keep\",\n    \"n\": 1\n  }\n]\n"),
    (r".acts | sort_by(.k) | map(.p) | @tsv", "y	x	z z\n"),
    (r".acts | sort_by(-.k)[0].p", "z z\n"),
    (r#"to_entries | map("\(.key)=\(.value|type)") | .[]"#, "root=string\nn=number\non=boolean\nno=null\ntags=array\nacts=array\nm=object\n"),
    (r".m | with_entries(.value |= tostring)", "{\n  \"b\": \"1\",\n  \"a\": \"{\\\"c\\\":[1,2,[3]]}\"\n}\n"),
    (r".m | paths", "[\n  \"b\"\n]\n[\n  \"a\"\n]\n[\n  \"a\",\n  \"c\"\n]\n[\n  \"a\",\n  \"c\",\n  0\n]\n[\n  \"a\",\n  \"c\",\n  1\n]\n[\n  \"a\",\n  \"c\",\n  2\n]\n[\n  \"a\",\n  \"c\",\n  2,\n  0\n]\n"),
    (r"[.m | .. | numbers]", "[\n  1,\n  1,\n  2,\n  3\n]\n"),
    (r".m.a.c | flatten | add", "6\n"),
    (r"reduce .acts[] as $a (0; . + $a.k)", "6\n"),
    (r#"[foreach .acts[] as {op: $o, k: $k} (0; . + $k; "\($o)\(.)")]"#, "[\n  \"keep2\",\n  \"drop3\",\n  \"drop6\"\n]\n"),
    (r"def f(x): x * 2; def g($a; $b): $a + $b; f(.n) | g(.; 1)", "7\n"),
    (r"def fac: if . <= 1 then 1 else . * (. - 1 | fac) end; 5 | fac", "120\n"),
    (r#"if .n > 5 then "big" elif .n > 2 then "mid" else "small" end"#, "mid\n"),
    (r#".missing // "default", (.no // .on), (.acts[5].p // "none")"#, "default\ntrue\nnone\n"),
    (r"[limit(2; .tags[])], first(.tags[]), [range(3)], [range(1; 10; 4)]", "[\n  \"b\",\n  \"a\"\n]\nb\n[\n  0,\n  1,\n  2\n]\n[\n  1,\n  5,\n  9\n]\n"),
    (r"[.[] | strings], [.tags[] | ascii_upcase]", "[\n  \"/usr\"\n]\n[\n  \"B\",\n  \"A\",\n  \"C\"\n]\n"),
    (r#""git-push-now" | split("-") | join(" "), (. | length), (.[0:3])"#, "git push now\n3\n[\n  \"git\",\n  \"push\",\n  \"now\"\n]\n"),
    (r#""abc" | explode | map(. + 1) | implode"#, "bcd\n"),
    (r#""Z2l0" | @base64d, ("git" | @base64)"#, "git\nZ2l0\n"),
    (r##""a1b22" | [scan("[0-9]+")], [match("[a-z]";"g").string], test("B";"i"), sub("(?<d>[0-9])"; "<\(.d)>"), gsub("[0-9]"; "#")"##, "[\n  \"1\",\n  \"22\"\n]\n[\n  \"a\",\n  \"b\"\n]\ntrue\na<1>b22\na#b##\n"),
    (r#""k=v" | capture("(?<key>.)=(?<val>.)")"#, "{\n  \"key\": \"k\",\n  \"val\": \"v\"\n}\n"),
    (r#"try error("x") catch "caught \(.)", (.root.x? // "q"), [.[]?] | tostring"#, "caught x\nq\n[\"/usr\",3,true,null,[\"b\",\"a\",\"c\"],[{\"op\":\"keep\",\"p\":\"x\",\"k\":2},{\"op\":\"drop\",\"p\":\"y\",\"k\":1},{\"op\":\"drop\",\"p\":\"z z\",\"k\":3}],{\"b\":1,\"a\":{\"c\":[1,2,[3]]}}]\n"),
    (r#".acts[0] | del(.k), keys, has("op"), (to_entries|length)"#, "{\n  \"op\": \"keep\",\n  \"p\": \"x\"\n}\n[\n  \"k\",\n  \"op\",\n  \"p\"\n]\ntrue\n3\n"),
    (r".acts | map(.k) | min, max, add, length, (map(. * 2) | @json)", "1\n3\n6\n3\n[4,2,6]\n"),
    (r#"[.tags, .acts | length], ([.tags[], "d"] | index("c")), (.tags | index("a"))"#, "[\n  3,\n  3\n]\n2\n1\n"),
    (r#".m | getpath(["a","c",0]), setpath(["a","z"]; 9), delpaths([["b"]])"#, "1\n{\n  \"b\": 1,\n  \"a\": {\n    \"c\": [\n      1,\n      2,\n      [\n        3\n      ]\n    ],\n    \"z\": 9\n  }\n}\n{\n  \"a\": {\n    \"c\": [\n      1,\n      2,\n      [\n        3\n      ]\n    ]\n  }\n}\n"),
    (r#""x" * 3, (7 % 3), (7 / 2), (10 - 3 * 2), ([1,2,3] - [2]), ({a:1} + {b:2}), ({a:{b:1}} * {a:{c:2}})"#, "xxx\n1\n3.5\n4\n[\n  1,\n  3\n]\n{\n  \"a\": 1,\n  \"b\": 2\n}\n{\n  \"a\": {\n    \"b\": 1,\n    \"c\": 2\n  }\n}\n"),
    (r"label $out | foreach .tags[] as $t (0; . + 1; if . > 2 then break $out else $t end)", "b\na\n"),
    (r#"[.tags[] | ltrimstr("a"), startswith("b")] | tojson"#, "[\"b\",true,\"\",false,\"c\",false]\n"),
    (r#"[.acts[] | .p] | map(@sh) | join(" ")"#, "'x' 'y' 'z z'\n"),
    (r".acts[] |= (.k += 1) | [.acts[].k], (.acts | length)", "[\n  3,\n  2,\n  4\n]\n3\n"),
    (r"[recurse(if . < 3 then . + 1 else empty end)]?, [2 | recurse(if . < 4 then . + 1 else empty end)]", "[\n  {\n    \"root\": \"/usr\",\n    \"n\": 3,\n    \"on\": true,\n    \"no\": null,\n    \"tags\": [\n      \"b\",\n      \"a\",\n      \"c\"\n    ],\n    \"acts\": [\n      {\n        \"op\": \"keep\",\n        \"p\": \"x\",\n        \"k\": 2\n      },\n      {\n        \"op\": \"drop\",\n        \"p\": \"y\",\n        \"k\": 1\n      },\n      {\n        \"op\": \"drop\",\n        \"p\": \"z z\",\n        \"k\": 3\n      }\n    ],\n    \"m\": {\n      \"b\": 1,\n      \"a\": {\n        \"c\": [\n          1,\n          2,\n          [\n            3\n          ]\n        ]\n      }\n    }\n  }\n]\n[\n  2,\n  3,\n  4\n]\n"),
    (r#"1 as $x | 2 as $y | [$x, $y, $x + $y] | "\(.)""#, "[1,2,3]\n"),
    (r"[1,[2,[3]]] | flatten, flatten(1), (tostring | fromjson | length)", "[\n  1,\n  2,\n  3\n]\n[\n  1,\n  2,\n  [\n    3\n  ]\n]\n2\n"),
    (r#""\(1 + 2) is \("three" | ascii_upcase) and \([1,2] | join("-"))""#, "3 is THREE and 1-2\n"),
    (r#"[.tags | to_entries[] | "\(.key):\(.value)"] | join(" ")"#, "0:b 1:a 2:c\n"),
    (r#"any(.acts[]; .k > 2), all(.acts[]; .k > 2), ([true,false] | any, all), (.acts | any(.op == "keep"))"#, "true\nfalse\ntrue\nfalse\ntrue\n"),
    (r#"[splits("a, *";"g")]?, ("a,b, c" | [splits(", *")]), ("a b" | split(" ";null)), ("test" | ascii_downcase | .[1:3])"#, "[\n  \"a\",\n  \"b\",\n  \"c\"\n]\n[\n  \"a\",\n  \"b\"\n]\nes\n"),
    (r".tags | unique, (map({key:., value:1}) | from_entries), first, last, nth(1)", "[\n  \"a\",\n  \"b\",\n  \"c\"\n]\n{\n  \"b\": 1,\n  \"a\": 1,\n  \"c\": 1\n}\nb\nc\na\n"),
    (r#"{a:1,b:[1,2]} | [paths(type == "number")], [leaf_paths | join(".")?], tojson, ([.. | scalars])"#, "[\n  [\n    \"a\"\n  ],\n  [\n    \"b\",\n    0\n  ],\n  [\n    \"b\",\n    1\n  ]\n]\n[\n  \"a\",\n  \"b.0\",\n  \"b.1\"\n]\n{\"a\":1,\"b\":[1,2]}\n[\n  1,\n  1,\n  2\n]\n"),
    (r#"["rm","-rf","it's"] | @sh"#, "'rm' '-rf' 'it'\\''s'\n"),
    (r"[1,2,3] | until(length < 2; .[1:]), (map(select(. != 2)) | @csv), contains([1]), inside([1,2,3,4])", "[\n  3\n]\n1,3\ntrue\ntrue\n"),
    (r#"{"a b": 1, "c": {"d": "e"}} | ."a b", .c.d, .["c"]["d"], .c["d"], (.c | keys[0])"#, "1\ne\ne\ne\nd\n"),
    (r#"([while(. != null; null)] | length), ("abc" | test("^a.c$")), ascii_downcase?"#, "1\ntrue\n"),
    (r#"walk(if type == "string" then "<" + . + ">" else . end) | .tags, .root"#, "[\n  \"<b>\",\n  \"<a>\",\n  \"<c>\"\n]\n</usr>\n"),
];
