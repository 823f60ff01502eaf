//! The same script by plain `bash -c` and by the engine gives the same bytes and the same end, whichever way the engine
//! starts its shell.
//!
//! The scripts are in `oracle/`, one file for each theme, separated by lines of `#---`; those that an editor would spoil
//! and those that are made by rule are below. They do nothing that depends on time or chance, so nothing has to be
//! smoothed over before comparing. What cannot be the same has a test of its own here, whose name says what it is.

use bashful_engine::{Exit, Request};
use bashful_testkit::oracle::{Oracle, Seen, Way};
use bashful_testkit::request;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const BOTH: [Way; 2] = [Way::Cold, Way::Ready];

/// Holds the engine to what plain bash does with each of these scripts.
async fn check<S: AsRef<[u8]>>(scripts: impl IntoIterator<Item = S>) {
    let oracle = Oracle::new(PUPPET);
    let mut different = Vec::new();
    for script in scripts {
        let request = request(script.as_ref());
        let plain = oracle.plain(&request);
        for way in BOTH {
            let ours = oracle.ours(way, &request).await;
            if ours != plain {
                let script = script.as_ref();
                let shown = script.get(..500).unwrap_or(script).escape_ascii().to_string().replace("\\n", "\n");
                different.push(format!("{way:?}: {shown}\n--- bash: {plain:?}\n--- ours: {ours:?}\n"));
            }
        }
    }
    assert!(different.is_empty(), "{} differ\n{}", different.len(), different.join("\n"));
}

/// Checks all scripts of a file.
async fn check_theme(theme: &str) {
    let path = format!("{}/tests/oracle/{theme}.sh", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("a theme has a file");
    let text = text.strip_suffix('\n').expect("a file ends in a newline");
    check(text.split("\n#---\n")).await;
}

macro_rules! themes {
    ($($test:ident: $theme:literal,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                check_theme($theme).await;
            }
        )*

        #[test]
        fn every_theme_has_a_test() {
            let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle")).expect("the corpus");
            let mut files: Vec<_> = files.map(|entry| entry.expect("readable").file_name()).collect();
            files.sort();
            let mut known = vec![$(concat!($theme, ".sh")),*];
            known.sort_unstable();
            assert_eq!(files, known);
        }
    };
}

themes! {
    arrays_hold_the_same: "arrays",
    builtins_do_the_same: "builtins",
    descriptors_lead_to_the_same_places: "descriptors",
    scripts_end_the_same_way: "ends",
    errors_are_told_in_the_same_words: "errors",
    expansions_give_the_same: "expansion",
    heredocs_are_read_the_same_way: "heredocs",
    background_jobs_behave_the_same: "jobs",
    programs_find_the_same_world: "programs",
    quotes_mean_the_same: "quoting",
    the_shape_of_a_script_changes_nothing: "shape",
    strict_mode_is_as_strict: "strict",
    substitutions_give_the_same: "substitution",
    traps_are_sprung_the_same_way: "traps",
    variables_hold_the_same: "variables",
}

