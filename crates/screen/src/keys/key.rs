//! A key with its modifiers.

use crate::Modes;
use crate::keys::names::UnknownKey;

/// A key without its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A character. Names that are a control character are parsed to the key that sends it.
    Char(char),
    /// Enter.
    Enter,
    /// Tab; with Shift, the tab backwards.
    Tab,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow to the right.
    Right,
    /// Arrow to the left.
    Left,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Insert.
    Insert,
    /// Delete.
    Delete,
    /// F1 to F12. Higher ones are Shift with these, as xterm has it.
    Function(u8),
    /// A key of the keypad: a digit, one of `+-*/.=`, or `\r` for its Enter.
    Keypad(char),
}

/// Modifiers held down with a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Modifiers {
    /// Ctrl.
    pub ctrl: bool,
    /// Alt, also called Meta or Option.
    pub alt: bool,
    /// Shift.
    pub shift: bool,
}

/// A key with its modifiers. Parsed from tmux's names and their aliases, and displayed as such a name.
///
/// ```
/// use bashful_screen::Key;
///
/// assert_eq!("Ctrl+C".parse::<Key>()?, "C-c".parse()?);
/// assert_eq!("pgup".parse::<Key>()?.to_string(), "PPage");
/// assert_ne!("M-x".parse::<Key>()?, "M-X".parse()?);
/// assert_eq!("Entre".parse::<Key>().unwrap_err().nearest, ["Enter"]);
/// # Ok::<(), bashful_screen::UnknownKey>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The key itself.
    pub code: Code,
    /// The modifiers held down with it.
    pub modifiers: Modifiers,
}

impl From<Code> for Key {
    fn from(code: Code) -> Self {
        Self { code, modifiers: Modifiers::default() }
    }
}

/// Keys to be pressed one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys(pub Vec<Key>);

impl Keys {
    /// Parses one name a key. The first unknown name is the error, and then no key should be sent.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownKey> {
        names.into_iter().map(str::parse).collect::<Result<_, _>>().map(Self)
    }

    /// The bytes of all keys, in the modes that the program has set at this moment.
    pub fn encode(&self, modes: Modes) -> Vec<u8> {
        self.0.iter().flat_map(|key| key.encode(modes)).collect()
    }
}
