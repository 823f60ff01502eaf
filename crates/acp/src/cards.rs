//! Cards of commands as text for an editor.

use std::path::Path;
use std::time::Duration;

use bashful_dialect::{Answer, BangError, BashResult, Conclusion};
use bashful_engine::{CLIENT_OUTPUT_LIMIT, Live};
use bashful_render::{Card, CardExit, CardKind, CardState, Line, Look, body_lines, output_lines, visible_lines};
use serde_json::Value;

/// Columns of the facts. An editor wraps longer lines by itself, but every line of a paragraph would be too long.
const COLUMNS: usize = 500;

/// A command that runs.
pub(crate) fn running(kind: CardKind, script: &str, newest: &str, elapsed: Duration) -> Card {
    let mut card = Card::new(kind, script);
    newest.clone_into(&mut card.output);
    card.elapsed = Some(elapsed);
    card
}

/// The newest output of a person's command.
pub(crate) fn newest(live: &Live) -> String {
    String::from_utf8_lossy(&live.newest).into_owned()
}

/// The answer to a tool call.
pub(crate) fn of_answer(script: &str, directory: &Path, answer: &Answer) -> Card {
    let mut card = Card::new(CardKind::Tool, script);
    let facts = &answer.facts;
    let exit_code = facts["exit_code"].as_i64();
    let signal = facts["signal"]["number"].as_i64();
    card.state = match (facts["status"].as_str(), answer.conclusion) {
        (_, Conclusion::Abort) | (Some("cancelled"), _) => CardState::Cancelled,
        (Some("timed_out"), _) => CardState::TimedOut,
        (Some("running"), _) => CardState::Backgrounded,
        (Some("refused"), _) => CardState::Refused,
        _ if answer.is_error => CardState::Failed,
        _ => CardState::Done,
    };
    card.directory = Some(directory.display().to_string());
    card.exit = exit_code.map(CardExit::Code).or(signal.map(CardExit::Signal));
    card.elapsed = facts["duration_ms"].as_u64().map(Duration::from_millis);
    card.size = facts["output_bytes"].as_u64();
    card.job = facts["job"]["id"].as_u64().map(|id| id.to_string());
    card.artifact = facts["artifact"]["id"].as_u64().map(|id| id.to_string());
    let omitted = &facts["omitted"]["bytes"];
    card.truncated = omitted.as_u64().map(|bytes| format!("{bytes} bytes are not shown"));
    if facts["lost_beginning"] == true {
        card.truncated =
            Some(format!("the beginning is lost: the terminal keeps the last {CLIENT_OUTPUT_LIMIT} bytes"));
    }
    if let Some(shown) = &answer.output {
        shown.as_str().clone_into(&mut card.output);
        let notices = facts["notices"].as_array().into_iter().flatten();
        card.notices.extend(notices.filter_map(Value::as_str).map(str::to_owned));
        card.notices.extend(facts["error"].as_str().map(str::to_owned));
    } else {
        // The text is about the call: a refusal, an error, or a job.
        card.notices.push(answer.text.as_str().to_owned());
    }
    card
}

/// The result of a person's command.
pub(crate) fn of_bang(script: &str, result: &Result<BashResult, BangError>) -> Card {
    let mut card = Card::new(CardKind::Bang, script);
    match result {
        Ok(result) => {
            card.state = match (result.timed_out, result.cancelled, result.exit_code) {
                (true, ..) => CardState::TimedOut,
                (_, true, _) => CardState::Cancelled,
                (_, _, Some(0)) => CardState::Done,
                _ => CardState::Failed,
            };
            card.directory = Some(result.working_dir.clone());
            card.output.clone_from(&result.output);
            card.exit = result.exit_code.map(CardExit::Code);
            card.elapsed = Some(Duration::from_millis(result.wall_time_ms));
            card.size = Some(result.total_bytes);
            card.artifact.clone_from(&result.artifact_id);
            let omitted = result.total_bytes.saturating_sub(result.output_bytes);
            card.truncated = result.truncated.then(|| format!("{omitted} bytes are not shown"));
            card.notices.clone_from(&result.notices);
        }
        Err(error) => {
            card.state = if matches!(error, BangError::Refused(_)) { CardState::Refused } else { CardState::Failed };
            card.notices.push(error.to_string());
        }
    }
    card
}

/// A card as text. The title of its tool call has the command.
pub(crate) struct CardText {
    /// The output as the command wrote it.
    pub(crate) output: String,
    /// Everything else: notices, and the line of facts.
    pub(crate) facts: String,
    /// True if the command succeeded, and `output` is all of it.
    is_whole: bool,
}

impl CardText {
    pub(crate) fn new(mut card: Card) -> Self {
        let joined = |lines: Vec<Line>| lines.iter().map(Line::plain).collect::<Vec<_>>().join("\n");
        let output = visible_lines(&joined(output_lines(&std::mem::take(&mut card.output))));
        let facts = joined(body_lines(&card, COLUMNS, &Look::default()));
        let is_whole = card.state == CardState::Done && card.truncated.is_none();
        Self { output, facts, is_whole }
    }

    /// The text for a script: the output alone if that is all, and otherwise the facts behind it.
    pub(crate) fn reply(self) -> String {
        match (self.is_whole, self.output.is_empty()) {
            (true, _) => self.output,
            (false, true) => self.facts,
            (false, false) => format!("{}\n{}", self.output, self.facts),
        }
    }
}

/// The text as a block of Markdown that nothing in it can end.
pub(crate) fn fenced(text: &str) -> String {
    let text = visible_lines(text);
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_output_can_end_the_block_around_it() {
        assert_eq!(fenced("a\n"), "```text\na\n```");
        assert_eq!(fenced("a ```` b"), "`````text\na ```` b\n`````");
    }
}
