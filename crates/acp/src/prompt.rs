//! A prompt as a command.

use agent_client_protocol::v1::schema::ContentBlock;
use bashful_dialect::shell_quoted;

/// The command of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PromptCommand {
    /// A command for the tool.
    Tool(String),
    /// A command that a person typed after `!`, and that runs as it stands.
    Bang(String),
}

impl PromptCommand {
    /// Joins the blocks of a prompt. A link to a file becomes its path, quoted for the shell.
    pub(crate) fn new(blocks: &[ContentBlock]) -> Self {
        let text: String = blocks.iter().map(block_text).collect();
        match text.trim_start().strip_prefix('!') {
            Some(rest) => Self::Bang(rest.strip_prefix('!').unwrap_or(rest).trim_start().to_owned()),
            None => Self::Tool(text),
        }
    }

    pub(crate) fn script(&self) -> &str {
        match self {
            Self::Tool(script) | Self::Bang(script) => script,
        }
    }
}

/// The text of a block. Images and sounds have none, and clients were told not to send them.
fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::ResourceLink(link) => match link.uri.strip_prefix("file://") {
            Some(path) => shell_quoted(&percent_decoded(path)),
            None => shell_quoted(&link.uri),
        },
        _ => String::new(),
    }
}

/// A path of a URL, in which `%20` is a space. A byte that is no UTF-8 becomes U+FFFD.
fn percent_decoded(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let hex = |at: usize| more.get(at).and_then(|digit| char::from(*digit).to_digit(16));
        if let (b'%', Some(high), Some(low)) = (first, hex(0), hex(1)) {
            bytes.push(u8::try_from(high * 16 + low).expect("two digits are a byte"));
            rest = &more[2..];
        } else {
            bytes.push(*first);
            rest = more;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::ResourceLink;

    use super::*;

    fn command(blocks: &[ContentBlock]) -> PromptCommand {
        PromptCommand::new(blocks)
    }

    #[test]
    fn an_exclamation_mark_makes_it_a_persons_command() {
        let bang = |text: &str| PromptCommand::Bang(text.to_owned());
        assert_eq!(command(&["echo hi".into()]), PromptCommand::Tool("echo hi".to_owned()));
        assert_eq!(command(&[" !cd src".into()]), bang("cd src"));
        assert_eq!(command(&["!! make".into()]), bang("make"));
    }

    #[test]
    fn a_link_to_a_file_is_a_quoted_path() {
        let link = ContentBlock::ResourceLink(ResourceLink::new("a b", "file:///tmp/a%20b%zz"));
        let expected = PromptCommand::Tool("cat '/tmp/a b%zz'".to_owned());
        assert_eq!(command(&["cat ".into(), link]), expected);
    }
}
