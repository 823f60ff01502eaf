//! The window title, and the stack that programs save it on.

/// Characters of a title. Longer ones are no titles, and a status line has no room for them.
const LONGEST_TITLE: usize = 256;

/// Titles that can be saved. Programs nest two or three deep; a flood of pushes drops the oldest.
const DEEPEST_STACK: usize = 16;

/// The current title and the saved ones.
#[derive(Debug, Default)]
pub(crate) struct Titles {
    current: Option<String>,
    saved: Vec<Option<String>>,
}

impl Titles {
    pub(crate) fn current(&self) -> Option<&str> {
        self.current.as_deref()
    }

    /// Sets the title from the bytes of an OSC string; true if the title is another one now.
    pub(crate) fn set(&mut self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        let clean: String = text.chars().filter(|&c| crate::text::is_shown(c)).take(LONGEST_TITLE).collect();
        let clean = clean.trim();
        self.replace((!clean.is_empty()).then(|| clean.to_owned()))
    }

    pub(crate) fn push(&mut self) {
        if self.saved.len() == DEEPEST_STACK {
            self.saved.remove(0);
        }
        self.saved.push(self.current.clone());
    }

    /// Goes back to the last saved title; true if the title is another one now.
    pub(crate) fn pop(&mut self) -> bool {
        match self.saved.pop() {
            Some(title) => self.replace(title),
            None => false,
        }
    }

    fn replace(&mut self, title: Option<String>) -> bool {
        let changed = self.current != title;
        self.current = title;
        changed
    }
}
