//! Brace expansion: `{a,b}`, `{1..9}`, and the options of `@(a|b)`, which are treated alike.

use bashful_bash::ast::{ShellWord, WordPiece};

/// The most words that one word may become.
const MOST_WORDS: usize = 1024;

/// The longest part of a sequence that is expanded. Numbers and letters do no harm; the words behind them still count.
const MOST_OF_SEQUENCE: usize = 16;

/// The most letters that are searched for closing braces. Only words with hundreds of open braces need more.
const MOST_LOOKS: usize = 1 << 18;

/// The deepest nesting of braces.
const DEEPEST: usize = 24;

/// The words that a word with braces becomes.
pub(super) enum BraceExpansion {
    /// There is nothing to expand.
    Same,
    Words(Vec<Vec<WordPiece>>),
    TooMany,
}

/// A letter outside of quotes, or something else.
#[derive(Debug, Clone, Copy)]
enum BraceUnit<'a> {
    Letter(char),
    Piece(&'a WordPiece),
}

/// Expands the braces of a word.
pub(super) fn expand(word: &ShellWord) -> BraceExpansion {
    let any = word.pieces.iter().any(|piece| match piece {
        WordPiece::Text(text) => text.contains('{'),
        WordPiece::Extended { kind, .. } => *kind != '!',
        _ => false,
    });
    if !any {
        return BraceExpansion::Same;
    }
    let mut units = Vec::new();
    for piece in &word.pieces {
        match piece {
            WordPiece::Text(text) => units.extend(text.chars().map(BraceUnit::Letter)),
            other => units.push(BraceUnit::Piece(other)),
        }
    }
    let mut looks = MOST_LOOKS;
    match words(&units, 0, &mut looks) {
        Some(words) => BraceExpansion::Words(words.iter().map(|units| pieces(units)).collect()),
        None => BraceExpansion::TooMany,
    }
}

fn pieces(units: &[BraceUnit<'_>]) -> Vec<WordPiece> {
    let mut pieces: Vec<WordPiece> = Vec::new();
    for unit in units {
        match (unit, pieces.last_mut()) {
            (BraceUnit::Letter(letter), Some(WordPiece::Text(text))) => text.push(*letter),
            (BraceUnit::Letter(letter), _) => pieces.push(WordPiece::Text(letter.to_string())),
            (BraceUnit::Piece(piece), _) => pieces.push((*piece).clone()),
        }
    }
    pieces
}

/// All words that the units become, or none if they are too many.
fn words<'a>(units: &[BraceUnit<'a>], depth: usize, looks: &mut usize) -> Option<Vec<Vec<BraceUnit<'a>>>> {
    let mut grown: Vec<Vec<BraceUnit<'a>>> = vec![Vec::new()];
    let mut at = 0;
    while let Some(unit) = units.get(at) {
        let choices = match unit {
            BraceUnit::Letter('{') if depth < DEEPEST => brace(units, at, depth, looks)?,
            BraceUnit::Piece(WordPiece::Extended { kind, options }) if *kind != '!' => {
                Some((at + 1, extended(*kind, options)))
            }
            _ => None,
        };
        let Some((next, choices)) = choices else {
            // A `${` or a brace without a partner is text.
            for word in &mut grown {
                word.push(*unit);
            }
            at += 1;
            continue;
        };
        if grown.len().saturating_mul(choices.len()) > MOST_WORDS {
            return None;
        }
        grown = grown
            .iter()
            .flat_map(|start| choices.iter().map(|choice| start.iter().chain(choice).copied().collect()))
            .collect();
        at = next;
    }
    Some(grown)
}

/// The end of a brace expression, and its alternatives.
type Choices<'a> = Option<(usize, Vec<Vec<BraceUnit<'a>>>)>;

/// The choices of the brace at this place. The outer `None` means too many.
fn brace<'a>(units: &[BraceUnit<'a>], open: usize, depth: usize, looks: &mut usize) -> Option<Choices<'a>> {
    let mut level = 0_usize;
    let mut commas = Vec::new();
    let mut close = None;
    for (at, unit) in units.iter().enumerate().skip(open) {
        *looks = looks.checked_sub(1)?;
        match unit {
            BraceUnit::Letter('{') => level += 1,
            BraceUnit::Letter('}') => {
                level -= 1;
                if level == 0 {
                    close = Some(at);
                    break;
                }
            }
            BraceUnit::Letter(',') if level == 1 => commas.push(at),
            _ => {}
        }
    }
    let Some(close) = close else { return Some(None) };
    if commas.is_empty() {
        let inside: String = units
            .get(open + 1..close)
            .unwrap_or(&[])
            .iter()
            .map(|unit| if let BraceUnit::Letter(letter) = unit { *letter } else { '\0' })
            .collect();
        let choices = sequence(&inside);
        return Some(choices.map(|choices| {
            let words = choices.iter().map(|text| text.chars().map(BraceUnit::Letter).collect()).collect();
            (close + 1, words)
        }));
    }
    let mut choices = Vec::new();
    let mut start = open + 1;
    for end in commas.into_iter().chain([close]) {
        choices.extend(words(units.get(start..end).unwrap_or(&[]), depth + 1, looks)?);
        if choices.len() > MOST_WORDS {
            return None;
        }
        start = end + 1;
    }
    Some(Some((close + 1, choices)))
}

/// `1..9`, `a..e`, `1..9..2`
fn sequence(inside: &str) -> Option<Vec<String>> {
    let mut parts = inside.split("..");
    let (from, to, step) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() {
        return None;
    }
    let step = step.map_or(Some(1), |step| step.parse::<i64>().ok())?.saturating_abs().max(1);
    if let (Ok(from), Ok(to)) = (from.parse::<i64>(), to.parse::<i64>()) {
        let mut out = Vec::new();
        let mut at = from;
        while out.len() < MOST_OF_SEQUENCE && (if from <= to { at <= to } else { at >= to }) {
            out.push(at.to_string());
            at = if from <= to { at.checked_add(step)? } else { at.checked_sub(step)? };
        }
        return Some(out);
    }
    let one = |text: &str| text.chars().next().filter(|letter| letter.is_ascii() && text.len() == 1);
    let (from, to) = (u32::from(one(from)?), u32::from(one(to)?));
    let letters = from.min(to)..=from.max(to);
    let step = usize::try_from(step).ok()?;
    Some(letters.step_by(step).filter_map(char::from_u32).map(String::from).collect())
}

fn extended<'a>(kind: char, options: &'a [ShellWord]) -> Vec<Vec<BraceUnit<'a>>> {
    let mut choices: Vec<Vec<BraceUnit<'a>>> = options
        .iter()
        .map(|option| {
            let mut units = Vec::new();
            for piece in &option.pieces {
                match piece {
                    WordPiece::Text(text) => units.extend(text.chars().map(BraceUnit::Letter)),
                    other => units.push(BraceUnit::Piece(other)),
                }
            }
            units
        })
        .collect();
    if matches!(kind, '*' | '?') {
        choices.push(Vec::new());
    }
    choices
}
