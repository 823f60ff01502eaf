//! Words that a reader must see, whatever a filter says about their line.

use std::sync::LazyLock;

use regex::Regex;

/// Words that keep a line, unless the rule that names the line says that it is a verdict of the tool.
const ALARMING: &str = "err|error|errors|warn|warning|warnings|fatal|panic|panicked|fail|fails|failed|failing|failure|failures|\
    exception|exceptions|traceback|conflict|conflicts|denied|refused|rejected|not found|no such|not ok|cannot|can't|\
    could not|couldn't|unable|abort|aborted|killed|segfault|segmentation|timeout|timed out|deprecated|vulnerable|\
    vulnerability|vulnerabilities|insecure|unresolved|undefined|missing|invalid|mismatch|differs|crit|critical|emerg|\
    emergency|alert|oom|out of memory|unhealthy|corrupt|corrupted|corruption|unreachable|unavailable|lost|broken|bad|\
    crash|crashed|dead|died|degraded|exceeded|exhausted|expired|forbidden|unauthorized|unexpected|incomplete|retry|\
    retrying|rollback|evicted|sig(?:segv|abrt|kill|bus|ill|fpe|term)";

/// Names of errors in programs, `KeyError` and `IOException`, and the mark of npm. Crates such as `thiserror` are spelled
/// otherwise.
const ALARMING_NAMES: &str = r"(?:Error|Exception|Warning)s?\b|\bERR!";

/// Words that tell why a command failed. Warnings are none.
const FAILURE: &str = "error|errors|fatal|panic|panicked|fail|fails|failed|failing|failure|failures|exception|traceback|\
    conflict|conflicts|denied|refused|rejected|not found|no such|no rule|cannot|can't|could not|couldn't|unable|abort|\
    aborted|killed|segfault|segmentation|timed out|undefined|missing|invalid|mismatch|unresolved|usage|\
    unrecognized|[a-z]+error|[a-z]+exception";

/// Signs that test runners print before a failed test.
const FAILURE_SIGNS: &str = "✕|✗|✘|×";

static ALARM: LazyLock<Regex> = LazyLock::new(|| words(&format!(r"(?i-u:\b(?:{ALARMING})\b)|(?-u:{ALARMING_NAMES})")));
static FAILED: LazyLock<Regex> = LazyLock::new(|| words(&format!(r"(?i-u:\b(?:{FAILURE})\b)|{FAILURE_SIGNS}")));

fn words(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the words are plain")
}

/// True if the line has a word that a reader must see. A count of none (`0 failed`, `without errors`) is none.
pub(crate) fn is_alarming(line: &str) -> bool {
    ALARM.find_iter(line).any(|word| !is_count_of_none(&line[..word.start()], &line[word.end()..]))
}

/// True if the text has a word that tells why a command failed. A count of none (`0 failed`, `errors: 0`) does not.
pub(crate) fn names_failure(text: &str) -> bool {
    FAILED.find_iter(text).any(|word| !is_count_of_none(&text[..word.start()], &text[word.end()..]))
}

fn is_count_of_none(before: &str, after: &str) -> bool {
    let is_none = |word: &str| word == "0" || word.eq_ignore_ascii_case("no") || word.eq_ignore_ascii_case("without");
    let ends_word = |letter: char| !letter.is_alphanumeric() && letter != '.';
    let number_before = before.trim_end_matches([' ', '\t']).rsplit(ends_word).next().unwrap_or("");
    let number_after =
        after.strip_prefix([':', '=']).map(|rest| rest.trim_start_matches(' ').split(ends_word).next().unwrap_or(""));
    // `error: no space left` is an error.
    is_none(number_before) || number_after == Some("0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_as_a_whole_word_alone() {
        for line in [
            "error: no",
            "src/a.rs:3: Warning: x",
            "npm ERROR code 3",
            "FAILED (failures=1)",
            "a [timeout] b",
            "npm ERR! x",
            "worker KeyError: 7",
            "java.io.IOException",
            "got SIGSEGV",
            "Out of memory",
            "not ok 3",
            "2 shards lost",
        ] {
            assert!(is_alarming(line), "{line}");
        }
        for line in ["Compiling thiserror v2.0.1", "test parse_error ... ok", "failover.c", "terrors"] {
            assert!(!is_alarming(line), "{line}");
        }
    }

    #[test]
    fn a_count_of_none_is_no_failure() {
        for text in
            ["ok. 12 passed; 0 failed;", "Failures: 0, Errors: 0", "no errors found", "errors=0", "compiler is unknown"]
        {
            assert!(!names_failure(text), "{text}");
        }
        for text in ["10 failed", "0 failed\nFAIL x", "Errors: 10", "KeyError: 'x'", "  ✕ adds", "1.0 error"] {
            assert!(names_failure(text), "{text}");
        }
    }
}
