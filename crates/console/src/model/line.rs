//! The meaning of an entered line.

/// An entered line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EnteredLine {
    Nothing,
    /// A call of the tool `bash`.
    Tool(String),
    /// A command after `!`, past the tool.
    Bang(String),
    /// A call of the tool with a terminal.
    Terminal(String),
    /// A call of the tool that starts a job.
    Background(String),
    /// Text for a job.
    Send {
        job: u64,
        text: String,
    },
    Stop {
        job: Option<u64>,
    },
    Search(String),
    Sessions,
    Clear,
    Help,
    Quit,
    /// A word of the console that lacks something.
    Incomplete(&'static str),
}

impl EnteredLine {
    /// The command, if the line has one.
    pub(crate) fn into_command(self) -> Option<String> {
        match self {
            Self::Tool(command) | Self::Bang(command) | Self::Terminal(command) | Self::Background(command) => {
                Some(command)
            }
            _ => None,
        }
    }

    /// True if the line has text for a job.
    pub(crate) fn is_for_a_job(&self) -> bool {
        matches!(self, Self::Send { .. })
    }

    /// Words of the console begin with a slash and are no paths: `/usr/bin/env` is a command.
    pub(crate) fn parse(line: &str) -> Self {
        let line = line.trim();
        if let Some(command) = line.strip_prefix('!') {
            let command = command.strip_prefix('!').unwrap_or(command).trim();
            return if command.is_empty() {
                Self::Incomplete("! needs a command")
            } else {
                Self::Bang(command.to_owned())
            };
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let needs = |what: &'static str, make: fn(String) -> Self| {
            if rest.is_empty() { Self::Incomplete(what) } else { make(rest.to_owned()) }
        };
        match word {
            "" => Self::Nothing,
            "/pty" => needs("/pty needs a command, as in: /pty vim notes.md", Self::Terminal),
            "/bg" => needs("/bg needs a command, as in: /bg npm start", Self::Background),
            "/search" => needs("/search needs a text", Self::Search),
            "/send" => match rest.split_once(char::is_whitespace).unwrap_or((rest, "")) {
                (job, text) if job.parse::<u64>().is_ok() => {
                    Self::Send { job: job.parse().unwrap_or_default(), text: text.to_owned() }
                }
                _ => Self::Incomplete("/send needs the number of a job and a text, as in: /send 3 yes"),
            },
            "/stop" if rest.is_empty() => Self::Stop { job: None },
            "/stop" => rest
                .parse()
                .map_or(Self::Incomplete("/stop takes the number of a job"), |job| Self::Stop { job: Some(job) }),
            "/sessions" => Self::Sessions,
            "/clear" => Self::Clear,
            "/help" | "?" => Self::Help,
            "/quit" | "/exit" => Self::Quit,
            _ => Self::Tool(line.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, meaning: &EnteredLine) {
        assert_eq!(&EnteredLine::parse(line), meaning, "{line:?}");
    }

    #[test]
    fn a_line_is_a_command_unless_it_begins_with_a_word_of_the_console() {
        check(" ls -la ", &EnteredLine::Tool("ls -la".to_owned()));
        check("/usr/bin/env", &EnteredLine::Tool("/usr/bin/env".to_owned()));
        check("/ptyx", &EnteredLine::Tool("/ptyx".to_owned()));
        check("!cd /tmp", &EnteredLine::Bang("cd /tmp".to_owned()));
        check("!! ls", &EnteredLine::Bang("ls".to_owned()));
        check("/pty vim a", &EnteredLine::Terminal("vim a".to_owned()));
        check("/bg sleep 9", &EnteredLine::Background("sleep 9".to_owned()));
        check("/send 3 two words", &EnteredLine::Send { job: 3, text: "two words".to_owned() });
        check("/stop 3", &EnteredLine::Stop { job: Some(3) });
        check("  ", &EnteredLine::Nothing);
        assert!(matches!(EnteredLine::parse("/pty"), EnteredLine::Incomplete(_)));
        assert!(matches!(EnteredLine::parse("/send x"), EnteredLine::Incomplete(_)));
    }
}
