//! Visits every simple command of a parsed script, also inside of other commands and of substitutions.
//!
//! The parser bounds the depth, so the recursion needs no bound of its own.

use super::ast::{
    AssignedValue, CaseArm, Compound, Element, Index, List, ParamChange, Redirect, RedirectKind, ShellCommand,
    ShellWord, SimpleCommand, WordPiece,
};

/// Hands every simple command of a list to `see`, in the order of the script.
pub(super) fn each_simple<'t>(list: &'t List, see: &mut dyn FnMut(&'t SimpleCommand)) {
    for item in &list.items {
        for pipeline in std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline)) {
            pipeline.stages.iter().for_each(|stage| in_command(stage, see));
        }
    }
}

fn in_command<'t>(command: &'t ShellCommand, see: &mut dyn FnMut(&'t SimpleCommand)) {
    match command {
        ShellCommand::Simple(simple) => {
            see(simple);
            for assign in &simple.assigns {
                in_words(&assign.index, see);
                match &assign.value {
                    AssignedValue::Scalar(word) => in_word(word, see),
                    AssignedValue::Array(elements) => in_elements(elements, see),
                }
            }
            in_words(&simple.words, see);
            in_redirects(&simple.redirects, see);
        }
        ShellCommand::Compound { body, redirects, .. } => {
            in_compound(body, see);
            in_redirects(redirects, see);
        }
        ShellCommand::Function { body, .. } => in_command(body, see),
    }
}

fn in_compound<'t>(compound: &'t Compound, see: &mut dyn FnMut(&'t SimpleCommand)) {
    match compound {
        Compound::Group(list) | Compound::Subshell(list) => each_simple(list, see),
        Compound::Coprocess { body, .. } => each_simple(body, see),
        Compound::If { arms, otherwise } => {
            for (condition, body) in arms {
                each_simple(condition, see);
                each_simple(body, see);
            }
            if let Some(body) = otherwise {
                each_simple(body, see);
            }
        }
        Compound::While { condition, body, .. } => {
            each_simple(condition, see);
            each_simple(body, see);
        }
        Compound::For { words, body, .. } => {
            in_words(words.iter().flatten(), see);
            each_simple(body, see);
        }
        Compound::ForArith { head, body } => {
            in_pieces(head, see);
            each_simple(body, see);
        }
        Compound::Case { subject, arms } => {
            in_word(subject, see);
            for CaseArm { patterns, body, .. } in arms {
                in_words(patterns, see);
                each_simple(body, see);
            }
        }
        Compound::Test(words) => in_words(words, see),
        Compound::Arith(pieces) => in_pieces(pieces, see),
    }
}

fn in_redirects<'t>(redirects: &'t [Redirect], see: &mut dyn FnMut(&'t SimpleCommand)) {
    for redirect in redirects {
        match &redirect.kind {
            RedirectKind::HereDoc(body) => in_words(body.get(), see),
            _ => in_word(&redirect.target, see),
        }
    }
}

fn in_elements<'t>(elements: &'t [Element], see: &mut dyn FnMut(&'t SimpleCommand)) {
    for element in elements {
        in_words(&element.index, see);
        in_word(&element.value, see);
    }
}

fn in_words<'t>(words: impl IntoIterator<Item = &'t ShellWord>, see: &mut dyn FnMut(&'t SimpleCommand)) {
    words.into_iter().for_each(|word| in_word(word, see));
}

fn in_word<'t>(word: &'t ShellWord, see: &mut dyn FnMut(&'t SimpleCommand)) {
    in_pieces(&word.pieces, see);
}

fn in_pieces<'t>(pieces: &'t [WordPiece], see: &mut dyn FnMut(&'t SimpleCommand)) {
    for piece in pieces {
        match piece {
            WordPiece::Text(_) | WordPiece::Quoted(_) | WordPiece::Unknown => {}
            WordPiece::Double(inner) | WordPiece::Arith(inner) => in_pieces(inner, see),
            WordPiece::Param(param) => {
                if let Some(Index::At(word)) = &param.index {
                    in_word(word, see);
                }
                in_change(&param.change, see);
            }
            WordPiece::Command(list) | WordPiece::Input(list) | WordPiece::Output(list) => each_simple(list, see),
            WordPiece::Extended { options, .. } => in_words(options, see),
            WordPiece::Array(elements) => in_elements(elements, see),
        }
    }
}

fn in_change<'t>(change: &'t ParamChange, see: &mut dyn FnMut(&'t SimpleCommand)) {
    match change {
        ParamChange::None | ParamChange::Case { .. } | ParamChange::Transform(_) | ParamChange::Names => {}
        ParamChange::Fallback { word, .. } => in_word(word, see),
        ParamChange::Slice { offset, length } => {
            in_word(offset, see);
            in_words(length, see);
        }
        ParamChange::Trim { pattern, .. } => in_word(pattern, see),
        ParamChange::Replace { pattern, by, .. } => {
            in_word(pattern, see);
            in_word(by, see);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines;

    #[test]
    fn commands_are_found_wherever_bash_would_run_them() {
        for script in [
            "x",
            "a; b && x",
            "a | x",
            "! x &",
            "(x)",
            "{ x; }",
            "if x; then a; fi",
            "if a; then x; fi",
            "if a; then b; elif x; then c; fi",
            "if a; then b; else x; fi",
            "while x; do a; done",
            "until a; do x; done",
            "for a in b; do x; done",
            "for a in $(x); do b; done",
            "for ((i=$(x); i<3; i++)); do a; done",
            "for ((;;)); do x; done",
            "case $(x) in a) b;; esac",
            "case a in $(x)) b;; esac",
            "case a in b) x;; esac",
            "[[ -n $(x) ]]",
            "(( $(x) ))",
            "f() { x; }",
            "function f { x; }",
            "coproc x",
            "a `x`",
            "a \"$(x)\"",
            "a <(x)",
            "a >(x)",
            "a > $(x)",
            "a <<E\n$(x)\nE\n",
            "{ a; } > $(x)",
            "a=$(x)",
            "a[$(x)]=b",
            "a=(b $(x))",
            "a=([$(x)]=b)",
            "declare a=($(x))",
            "a ${b:-$(x)}",
            "a ${b:$(x):1}",
            "a ${b:1:$(x)}",
            "a ${b%$(x)}",
            "a ${b/$(x)/c}",
            "a ${b/c/$(x)}",
            "a ${b[$(x)]}",
            "a $((1 + $(x)))",
            "a @(b|$(x))",
        ] {
            let mut found = 0;
            for line in lines(script).expect(script) {
                each_simple(&line, &mut |simple| {
                    found += usize::from(simple.words.first().and_then(ShellWord::plain) == Some("x"));
                });
            }
            assert_eq!(found, 1, "{script}");
        }
    }
}
