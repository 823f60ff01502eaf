//! `make`, with a file that the script has written or typed: each line of a recipe is a script.
//!
//! A makefile is read and made as GNU make does it: variables and functions are expanded, conditions decided, rules chosen, and only the
//! targets that are made count. Where the walk cannot tell which these are, every recipe counts. A condition that is not known
//! is answered once with yes and once with no.

mod expand;
mod functions;
mod goals;
mod reader;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use crate::marks::{UNKNOWN, is_vague};
use crate::walk::ScriptWalk;

use words::MakeWords;

/// The longest text after its variables are filled in, in bytes.
const LONGEST: usize = 16 << 10;

/// The most targets that are made, and the most words of a loop.
const MOST_GOALS: usize = 256;

/// The most makes that start each other.
const MOST_NESTED: usize = 4;

/// The name of a running make among the functions that are on the way.
const CALL: &str = "make in make";

/// Where a variable got its value. A later kind is not overwritten by an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    Environment,
    File,
    CommandLine,
    Override,
    Automatic,
}

/// A variable of a makefile.
#[derive(Debug, Clone)]
struct MakeVariable {
    value: String,
    /// `:=`: the value was expanded when it was set.
    is_simple: bool,
    origin: Origin,
}

impl MakeVariable {
    fn simple(value: impl Into<String>, origin: Origin) -> Self {
        Self { value: value.into(), is_simple: true, origin }
    }
}

/// The variables that hide others of the same name.
type Frame = BTreeMap<String, MakeVariable>;

/// A rule of a makefile.
#[derive(Debug, Clone, Default)]
struct MakeRule {
    targets: Vec<String>,
    /// `targets: pattern: prerequisites`
    stem_pattern: Option<String>,
    prerequisites: Vec<String>,
    /// Prerequisites behind `|`, which are not among the automatic variables.
    order_only: Vec<String>,
    recipe: Vec<String>,
    is_double: bool,
}

/// The variables of a target or of a pattern.
#[derive(Debug, Clone)]
struct TargetVariable {
    target: String,
    assignment: reader::Assignment,
}

/// A make that runs.
#[expect(clippy::struct_excessive_bools, reason = "each is another thing that a makefile turns on")]
struct Make<'w, 'g> {
    walk: &'w mut ScriptWalk<'g>,
    words: MakeWords,
    variables: Frame,
    /// Arguments of a call, variables of a loop, automatic variables; the last ones hide the others.
    frames: Vec<Frame>,
    rules: Vec<MakeRule>,
    target_variables: Vec<TargetVariable>,
    exported: BTreeSet<String>,
    exports_all: bool,
    /// There may be variables and rules that are not known by their text: an `include`.
    is_open: bool,
    /// The first target may be in a file that is not known.
    has_open_goal: bool,
    /// Makefiles that are included, and have to be made first.
    pending: Vec<String>,
    prefix: char,
    built: BTreeSet<String>,
    expands_twice: bool,
    /// `$(error …)`, or a line of a recipe that fails.
    has_failed: bool,
    is_one_shell: bool,
    is_silent: bool,
    answer: bool,
    asked: usize,
    depth: usize,
    /// Variables that are being expanded.
    expanding: Vec<String>,
}

impl ScriptWalk<'_> {
    pub(crate) fn run_make(&mut self, arguments: &[String]) {
        let nested = self.world.calls.iter().filter(|open| *open == CALL).count();
        if nested >= MOST_NESTED || !self.budget.enter() {
            return self.write(&UNKNOWN.to_string());
        }
        self.world.calls.push(CALL.to_owned());
        let before = self.directory();
        let mut words = MakeWords::default();
        for name in ["GNUMAKEFLAGS", "MAKEFLAGS"] {
            if let Some(flags) = self.exported_value(name).filter(|flags| !is_vague(flags)) {
                words.read_flags(&flags);
            }
        }
        words.read(arguments);
        for directory in std::mem::take(&mut words.directories) {
            let path = self.absolute(&directory);
            self.world.shell.set_directory(path);
        }
        let texts = self.makefiles(&words);
        let start = self.directory();
        let first = self.rehearsal.is_none_or(|rehearsal| rehearsal.answer);
        let mut outputs = Vec::new();
        for answer in [first, !first] {
            self.world.shell.set_directory(start.clone());
            let mut asked = 0;
            let output = self.capturing(|walk| asked = walk.make_once(words.clone(), &texts, answer));
            outputs.push(output);
            if let Some(rehearsal) = &mut self.rehearsal {
                rehearsal.asked += asked;
            }
            if asked == 0 || self.rehearsal.is_some() {
                break;
            }
        }
        self.world.shell.set_directory(before);
        outputs.dedup();
        if let [only] = outputs.as_slice() {
            self.write(only);
        } else {
            let unknown = self.unknown_made_of(&outputs.concat());
            self.write(&unknown);
        }
        self.world.calls.pop();
        self.budget.leave();
    }

    /// The value of a variable of the environment; none if it is not there, unknown if nobody can tell.
    pub(super) fn exported_value(&mut self, name: &str) -> Option<String> {
        match self.world.shell.variable(name) {
            Some(variable) if !variable.exported => None,
            Some(_) => self.scalar(name),
            None => match self.scalar(name) {
                Some(text) => Some(text),
                None if self.world.shell.outside.is_absent(name) => None,
                None => Some(UNKNOWN.to_string()),
            },
        }
    }

    /// The names and texts of the files to read, in their order.
    fn makefiles(&mut self, words: &MakeWords) -> Vec<(String, Option<String>)> {
        let mut texts = Vec::new();
        let early = self.exported_value("MAKEFILES").unwrap_or_default();
        for file in early.split_whitespace() {
            texts.push((file.to_owned(), self.known_file(file).map(|text| text.to_string())));
        }
        for file in &words.files {
            texts.push((file.clone(), self.code_in_file(file)));
        }
        if words.files.is_empty() {
            let usual = ["GNUmakefile", "makefile", "Makefile"];
            let found = usual.into_iter().find_map(|file| Some((file.to_owned(), self.known_file(file)?)));
            texts.extend(found.map(|(file, text)| (file, Some(text.to_string()))));
        }
        texts
    }

    /// Reads and makes everything, with this answer to each question. Gives the number of questions.
    fn make_once(&mut self, words: MakeWords, texts: &[(String, Option<String>)], answer: bool) -> usize {
        let mut make = Make {
            is_silent: words.is_silent,
            walk: self,
            words,
            variables: Frame::new(),
            frames: Vec::new(),
            rules: Vec::new(),
            target_variables: Vec::new(),
            exported: BTreeSet::new(),
            exports_all: false,
            is_open: false,
            has_open_goal: false,
            pending: Vec::new(),
            prefix: '\t',
            built: BTreeSet::new(),
            expands_twice: false,
            has_failed: false,
            is_one_shell: false,
            answer,
            asked: 0,
            depth: 0,
            expanding: Vec::new(),
        };
        make.begin();
        for text in make.words.texts.clone() {
            make.read(&text);
        }
        for (name, text) in texts {
            make.note_file(name);
            match text {
                Some(text) => make.read(text),
                None => make.is_open = true,
            }
        }
        make.make_pending();
        make.make_goals();
        make.asked
    }
}

#[cfg(test)]
mod tests {
    use crate::{Guard, Prelude};

    fn refuses(makefile: &str, words: &str) -> bool {
        let script = format!("cat > /tmp/m.mk <<'MK'\n{makefile}\nMK\nmake -s -f /tmp/m.mk {words}\n");
        let prelude = Prelude {
            directory: Some("/home/dev/work/widget".into()),
            home: Some("/home/dev".into()),
            environment: Some(["HOME", "PATH", "PWD"].iter().map(|name| (*name).to_owned()).collect()),
            ..Prelude::default()
        };
        Guard::default().judge(&script, &prelude).refuses()
    }

    #[test]
    fn every_kind_of_variable_has_its_value() {
        assert!(refuses("A = $(B)\nB = -A\nall: ; git add $(A)", ""));
        assert!(!refuses("B = x\nA := $(B)\nB = -A\nall: ; git add $(A)", ""));
        assert!(refuses("A != printf %s -A\nall: ; git add $A", ""));
        assert!(refuses("A ?= -A\nall: ; git add $(A)", ""));
        assert!(!refuses("A ?= -A\nall: ; git add $(A)", "A=x"));
        assert!(!refuses("A = -A\nall: ; git add $(A)", "A=x"));
        assert!(refuses("override A = -A\nall: ; git add $(A)", "A=x"));
        assert!(refuses("A = git\nA += add\nA += -A\nall: ; $(A)", ""));
        assert!(refuses("define run\ngit add $(1)\nendef\nall:\n\t$(call run,.)", ""));
        assert!(refuses("all: A = -A\nall: sub\nsub: ; git add $(A)", ""));
        assert!(refuses("%.x: A = -A\nb.x: ; git add $(A)", ""));
        assert!(refuses("S = $(if $(filter yes,$(F)),-f)\nF = yes\nall: ; git push $(S) origin x", ""));
        assert!(!refuses("S = $(if $(filter yes,$(F)),-f)\nF = no\nall: ; git push $(S) origin x", ""));
    }

    #[test]
    fn functions_give_what_make_gives() {
        for (function, word) in [
            ("$(subst x,d,axx)", "add"),
            ("$(patsubst %.o,%,add.o)", "add"),
            ("$(word 2,x add)", "add"),
            ("$(firstword $(wordlist 2,3,x add y))", "add"),
            ("$(lastword x add)", "add"),
            ("$(notdir a/b/add)", "add"),
            ("$(basename add.c)", "add"),
            ("$(join a b,dd c)", "add bc"),
            ("$(filter-out b%,add bad)", "add"),
            ("$(sort c add)", "add c"),
            ("$(foreach l,a d d,$(l))", "a d d"),
            ("$(or ,add)", "add"),
            ("$(and x,add)", "add"),
            ("$(A:%.c=%.o)", "add.o b.o"),
            ("$(findstring a,b a)$(words x y)$(origin A)$(flavor A)$(value A)", "a2filerecursiveadd.c b.c"),
            ("$(let x y,1 2 3,$(y)-$(x))", "2 3-1"),
            ("$(suffix a.c)$(dir a/b)$(addprefix -,A B)", ".ca/-A -B"),
        ] {
            let makefile = format!("A = add.c b.c\nifeq ({function},{word})\nall: ; git add -A\nendif\n");
            assert!(refuses(&makefile, ""), "{function}");
        }
    }

    #[test]
    fn only_goals_and_their_prerequisites_are_made() {
        let file = "all: a b\na: ; echo\nb: c\nc: ; rm -rf /\nd: ; git add -A";
        assert!(refuses(file, "b") && refuses(file, "") && refuses(file, "d"));
        assert!(!refuses(file, "a"));
        assert!(refuses(".DEFAULT_GOAL := d\nall:\n\techo\nd: ; git add -A", ""));
        assert!(refuses("deploy-%: ; git push -f origin HEAD:$*", "deploy-main"));
        assert!(refuses("all: x.up\nx.up: %.up: %.pre\n\tgit push -f origin $*\nx.pre: ;", ""));
        assert!(!refuses("ifdef CI\nall: ; git add -A\nelse\nall: ; echo\nendif", ""));
        assert!(!refuses("ifndef OK\n$(error no)\nendif\nall: ; git add -A", ""));
        assert!(!refuses("all: ; git add -A", "-n"));
        assert!(refuses("all: ; +git add -A", "-n"));
    }

    #[test]
    fn other_shells_run_recipes() {
        assert!(refuses("SHELL := git\n.SHELLFLAGS := add\nall:\n\t@.", ""));
        assert!(refuses("SHELL := /usr/bin/python3\n.ONESHELL:\nall:\n\timport shutil\n\tshutil.rmtree('/etc')", ""));
        assert!(refuses(".RECIPEPREFIX = >\nall:\n> git add \\\n> -A", ""));
        assert!(refuses("X := $(shell git add -A)\nall: ;", ""));
        assert!(refuses("$(eval all: ; git add -A)", ""));
        assert!(refuses("export W = -A\nall: ; git add $$W", ""));
        assert!(refuses("all: ; $(MAKE) -f /tmp/m.mk sub\nsub: ; git add $(X)", "X=-A"));
    }
}
