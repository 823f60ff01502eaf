//! Programs in Python, JavaScript and Perl that a script holds: read as a whole, and run over values that are known in part.
//!
//! A program that cannot be read is looked through for calls instead; see [`super::code`].

mod ast;
mod calls;
mod commands;
mod evaluate;
mod expressions;
mod lexer;
mod literals;
mod methods;
mod narrowing;
mod natives;
mod operators;
mod perl;
mod perl_lexer;
mod perl_natives;
mod perl_template;
mod perl_terms;
mod python;
mod script;
mod trial;
mod value;

use crate::walk::ScriptWalk;

use ast::{Expr, Statement};
use evaluate::Program;
use expressions::ProgramParser;
use value::Value;

/// The longest program that is run, in bytes.
const LONGEST: usize = 64 << 10;

/// The longest program of Perl that is run, in bytes. Its text is copied while it is read.
const LONGEST_PERL: usize = 8 << 10;

/// A language whose programs are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    Script,
    Perl,
}

impl Language {
    /// The language of an interpreter, by the name of its program without a version.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "python" | "pypy" | "ipython" => Some(Self::Python),
            "node" | "nodejs" | "bun" | "deno" => Some(Self::Script),
            "perl" => Some(Self::Perl),
            _ => None,
        }
    }
}

/// The statements of a program; none if it cannot be read.
fn parsed(language: Language, code: &str) -> Option<Vec<Statement>> {
    let longest = if language == Language::Perl { LONGEST_PERL } else { LONGEST };
    if code.len() > longest {
        return None;
    }
    let tokens = if language == Language::Perl { perl_lexer::tokens(code)? } else { lexer::tokens(language, code)? };
    let mut parser = ProgramParser { language, tokens: &tokens, at: 0, depth: 0 };
    let statements = match language {
        Language::Python => parser.python()?,
        Language::Script => parser.script()?,
        Language::Perl => parser.perl()?,
    };
    parser.token().is_none().then_some(statements)
}

/// The expression that a text is.
fn parsed_value(language: Language, text: &str) -> Option<Expr> {
    let tokens = lexer::tokens(language, text).filter(|_| text.len() <= LONGEST)?;
    let mut parser = ProgramParser { language, tokens: &tokens, at: 0, depth: 0 };
    let value = parser.expression()?;
    parser.token().is_none().then_some(value)
}

impl ScriptWalk<'_> {
    /// Runs a program with these arguments. False if it was not understood, or not all that it runs is known.
    ///
    /// `is_file` says that the program is in a file, whose name JavaScript has among the arguments.
    pub(super) fn run_program(&mut self, language: Language, code: &str, arguments: &[String], is_file: bool) -> bool {
        if language != Language::Perl && self.try_program(language, code, arguments, is_file) {
            return true;
        }
        let Some(statements) = parsed(language, code) else { return false };
        self.budget.spend(1 + code.len() / 32);
        if !self.budget.enter() {
            return true;
        }
        let directory = self.directory();
        let mut program = Program::new(self, language);
        // The interpreter stands before the program in JavaScript, the program stands first in Python.
        let before = match language {
            Language::Python => 1,
            Language::Script => 1 + usize::from(is_file),
            Language::Perl => 0,
        };
        let words = std::iter::repeat_n(String::new(), before).chain(arguments.iter().cloned());
        let words = Value::list(words.map(Value::text).collect());
        for name in ["sys.argv", "@ARGV", "@_"] {
            program.scopes.iter_mut().for_each(|scope| drop(scope.values.insert(name.to_owned(), words.clone())));
        }
        program.run(&statements);
        let (is_blind, has_printed) = (program.is_blind, program.has_printed);
        let runs_unknown = program.runs_unknown;
        for object in program.objects {
            object.borrow_mut().clear();
        }
        self.world.shell.set_directory(directory);
        if runs_unknown {
            self.judge_data_of(code);
        }
        self.budget.leave();
        if !has_printed {
            self.write_unknown_of_code(code);
        }
        !is_blind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_as_people_write_them_are_read() {
        let python = "#!/usr/bin/env python3\n\"\"\"Doc.\"\"\"\nfrom __future__ import annotations\nimport os, sys as s\n\
            from a.b import (c,\n    d as e)\n\n@decorated(1)\ndef f(x: int = 1, *args, y=None, **kw) -> list[str]:\n    if x and not y:\n        return [z for z in args if z]\n    elif x:\n\
            \x20       pass\n    else: raise ValueError(f\"{x!r:>10} {kw['a']}\") from None\n    try:\n        a, *b = 1, 2\n    except (OSError, KeyError) as error:\n        print(error)\n    finally:\n        x += 1\n\n\
            class C(Base, metaclass=M):\n    a: int\n    b: str = 'x'\n    def g(self): return self.b[::-1]\n\nwith open('x') as i, open('y') as o:\n    while (line := i.readline()):\n        o.write(line if line else '-')\n\
            async def h():\n    await g()\n    async for q in r(): yield q\nd = {**e, 'k': {1, 2}, **{}}\nl = lambda *a, k=1: a[0:2] or k\nassert d, 'no'\nif __name__ == '__main__':\n    s.exit(f(1)); print()\n";
        assert!(parsed(Language::Python, python).is_some());
        let script = "#!/usr/bin/env node\n'use strict';\nconst { execSync: run, spawn } = require('child_process'), fs = require('fs');\nimport a, { b as c } from 'd';\n\
            async function f(x, { y = 1, z } = {}, ...rest) {\n  for (const [k, v] of Object.entries(x)) { if (k) continue; else break }\n  for (let i = 0; i < 3; i++) g(i)\n  try { await h() } catch { } finally { q() }\n\
            \x20 return rest.map((r) => `${r.a} ${`x${y}`}`).filter(Boolean)\n}\nclass A extends B { static s = 1; constructor(x) { super(x); this.x = x } async m() { return this.x?.y ?? null } }\n\
            const re = /a[/]b/g, o = { a, 'b': 2, [c]: 3, m() { }, get p() { return 1 }, ...d };\nswitch (x) { case 1: f(); break; default: g() }\nx = y ? z : w; a ||= b; if (!x) throw new Error('x')\n\
            f().then(() => process.exit(0)).catch(e => { console.error(e); process.exitCode = 1 })\n";
        assert!(parsed(Language::Script, script).is_some());
        assert!(parsed(Language::Python, "if x:\nprint(").is_none());
    }
}
