//! `getopt`: the options of a call, in order and quoted for a shell.

use std::fmt::Write as _;

use super::options::{Exact, Inexact, OrUnknown};
use crate::marks::has_mark;
use crate::walk::ScriptWalk;

/// The options that a call describes, and the words that are to be read by them.
struct Described<'w> {
    letters: String,
    /// Long names with a comma behind each.
    long_names: String,
    is_quoted: bool,
    words: &'w [String],
}

impl<'w> Described<'w> {
    fn read(arguments: &'w [String]) -> Exact<Self> {
        let (mut letters, mut long_names, mut is_quoted) = (None, String::new(), true);
        let mut words = arguments.iter();
        loop {
            let word = words.next().or_unknown()?;
            let mut names = None;
            match word.as_str() {
                "--" => break,
                "-o" | "--options" => letters = words.next().cloned(),
                "-l" | "--long" | "--longoptions" => names = Some(words.next().or_unknown()?.as_str()),
                "-n" | "--name" => drop(words.next()),
                "-u" => is_quoted = false,
                flag if flag.starts_with("-o") => letters = flag.get(2..).map(str::to_owned),
                flag if flag.starts_with("--options=") => {
                    letters = flag.split_once('=').map(|(_, value)| value.to_owned());
                }
                flag if flag.starts_with("--long") => names = Some(flag.split_once('=').or_unknown()?.1),
                flag if flag.starts_with('-') => return Err(Inexact::Unknown),
                // The old form has the letters first and quotes nothing.
                _ if letters.is_none() => {
                    letters = Some(word.clone());
                    is_quoted = false;
                    break;
                }
                _ => return Err(Inexact::Unknown),
            }
            if let Some(name) = names {
                long_names.push_str(name);
                long_names.push(',');
            }
        }
        let letters = letters.filter(|letters| !letters.starts_with(['+', '-'])).or_unknown()?;
        Ok(Self { letters, long_names, is_quoted, words: words.as_slice() })
    }

    fn quote(&self, word: &str) -> String {
        if self.is_quoted { format!("'{}'", word.replace('\'', "'\\''")) } else { word.to_owned() }
    }

    /// Adds a long option, and gives the words behind it.
    fn push_long<'r>(&self, out: &mut String, long: &str, rest: &'r [String]) -> Exact<&'r [String]> {
        let (name, attached) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let known = self.long_names.split(',').find(|known| known.trim_end_matches(':') == name).or_unknown()?;
        let _ = write!(out, " --{name}");
        let (value, rest) = match (known.len() - name.len(), attached) {
            (0, None) => return Ok(rest),
            (0, Some(_)) => return Err(Inexact::Unknown),
            (_, Some(value)) => (value, rest),
            (1, None) => rest.split_first().map(|(value, rest)| (value.as_str(), rest)).or_unknown()?,
            _ => ("", rest),
        };
        let _ = write!(out, " {}", self.quote(value));
        Ok(rest)
    }

    /// Adds letters, and gives the words behind them.
    fn push_cluster<'r>(&self, out: &mut String, cluster: &str, rest: &'r [String]) -> Exact<&'r [String]> {
        for (at, letter) in cluster.char_indices() {
            let (_, behind) = self.letters.split_once(letter).filter(|_| letter != ':').or_unknown()?;
            let attached = cluster.get(at + letter.len_utf8()..).unwrap_or("");
            let _ = write!(out, " -{letter}");
            match behind.chars().take_while(|next| *next == ':').count() {
                0 => {}
                1 if attached.is_empty() => {
                    let (value, after) = rest.split_first().or_unknown()?;
                    let _ = write!(out, " {}", self.quote(value));
                    return Ok(after);
                }
                _ => {
                    let _ = write!(out, " {}", self.quote(attached));
                    return Ok(rest);
                }
            }
        }
        Ok(rest)
    }
}

pub(super) fn getopt(_: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    if arguments.iter().any(|word| has_mark(word)) {
        return Err(Inexact::Marked);
    }
    let described = Described::read(arguments)?;
    let mut out = String::new();
    let mut operands = Vec::new();
    let mut rest = described.words;
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if word == "--" {
            operands.extend(rest.iter());
            break;
        }
        if let Some(long) = word.strip_prefix("--") {
            rest = described.push_long(&mut out, long, rest)?;
        } else if let Some(cluster) = word.strip_prefix('-').filter(|cluster| !cluster.is_empty()) {
            rest = described.push_cluster(&mut out, cluster, rest)?;
        } else {
            operands.push(word);
        }
    }
    out.push_str(" --");
    for word in operands {
        let _ = write!(out, " {}", described.quote(word));
    }
    Ok(format!("{out}\n"))
}
