//! Finds the event and the tool of a call in JSON that may be too long, too deep or too broken to be read.
//!
//! The scan reads names and strings of the outermost object and skips everything else. Memory is bounded, whatever
//! the input.

/// Longest name or value in bytes that a hook knows.
const LONGEST: usize = 256;

/// An incremental scan of JSON.
#[derive(Debug, Default)]
pub(super) struct Glance {
    /// The value of `hook_event_name`. Of several, the last one counts, as it does for every reader of JSON.
    pub(super) event: Option<String>,
    /// The value of `tool_name`.
    pub(super) tool: Option<String>,
    depth: usize,
    at: At,
    /// The string under way, with its escapes, if it is one of the outermost object.
    text: Vec<u8>,
    name: Option<String>,
    /// The next string is a value.
    is_value: bool,
}

/// The position of the next byte in the JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum At {
    #[default]
    Outside,
    InString,
    /// After a backslash in a string.
    Escaped,
    /// After the outermost object. The rest is ignored.
    End,
}

impl Glance {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match self.at {
                At::Outside => self.step(*byte),
                At::InString | At::Escaped => self.step_in_string(*byte),
                At::End => return,
            }
        }
    }

    fn step(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.at = At::InString;
                self.text.clear();
            }
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.at = At::End;
                }
            }
            b':' if self.depth == 1 => self.is_value = true,
            b',' if self.depth == 1 => (self.name, self.is_value) = (None, false),
            _ => {}
        }
    }

    fn step_in_string(&mut self, byte: u8) {
        self.at = match (self.at, byte) {
            (At::InString, b'"') => {
                self.at = At::Outside;
                return self.end_of_string();
            }
            (At::InString, b'\\') => At::Escaped,
            _ => At::InString,
        };
        if self.depth == 1 && self.text.len() <= LONGEST {
            self.text.push(byte);
        }
    }

    fn end_of_string(&mut self) {
        if self.depth != 1 {
            return;
        }
        let text = decoded(&self.text);
        if !self.is_value {
            self.name = text;
            return;
        }
        match self.name.as_deref() {
            Some("hook_event_name") => self.event = text,
            Some("tool_name") => self.tool = text,
            _ => {}
        }
    }
}

/// The decoded text of a string; none if it is too long or invalid.
fn decoded(text: &[u8]) -> Option<String> {
    if text.len() > LONGEST {
        return None;
    }
    let quoted = [b"\"", text, b"\""].concat();
    serde_json::from_slice(&quoted).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &[u8], event: Option<&str>, tool: Option<&str>) {
        let mut whole = Glance::default();
        whole.feed(text);
        let mut bytes = Glance::default();
        text.chunks(1).for_each(|byte| bytes.feed(byte));
        for glance in [whole, bytes] {
            assert_eq!((glance.event.as_deref(), glance.tool.as_deref()), (event, tool), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn names_of_the_outermost_object_are_found_and_no_others() {
        check(br#"{"hook_event_name":"PreToolUse","tool_name":"Bash"}"#, Some("PreToolUse"), Some("Bash"));
        check(br#"{"tool_input":{"tool_name":"Read","x":["{"]},"tool_name" : "Bash"}"#, None, Some("Bash"));
        check(br#"{"a":"tool_name","b":"Read"}"#, None, None);
        check(br#"{"a":"\",\"tool_name\":\"Read","tool_name":"B\u0061sh"}"#, None, Some("Bash"));
        check(br#"{"tool_name":{"tool_name":"Read"}}"#, None, None);
        check(br#"["tool_name","Bash"]"#, None, None);
        check(br#"{"tool_name":"Bash"}{"tool_name":"Read"}"#, None, Some("Bash"));
    }

    #[test]
    fn input_that_cannot_be_read_is_looked_at_as_far_as_it_goes() {
        let deep = format!(r#"{{"tool_name":"Bash","tool_input":{}"#, "[".repeat(100_000));
        check(deep.as_bytes(), None, Some("Bash"));
        check(b"{\"tool_input\":\"\xff\xfe\",\"tool_name\":\"Bash\"", None, Some("Bash"));
        check(format!(r#"{{"tool_name":"{}"}}"#, "x".repeat(10_000)).as_bytes(), None, None);
        check(b"", None, None);
    }
}
