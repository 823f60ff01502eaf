//! Reads code in other languages token by token, for the values of its names and the calls that matter.

use crate::marks::{SOME, STAR, TREE};
use crate::walk::tokens::CodeToken;
use crate::walk::values::{Arguments, Values, arguments, bounded};

/// Calls that run a script or a list of words.
pub(super) const RUNS: &[&str] = &[
    "system",
    "popen",
    "execSync",
    "exec",
    "spawnSync",
    "spawn",
    "execFileSync",
    "execFile",
    "run",
    "call",
    "check_call",
    "check_output",
    "Popen",
    "getoutput",
    "getstatusoutput",
    "shell_exec",
    "passthru",
    "proc_open",
    "execute",
    "execl",
    "execlp",
    "execv",
    "execvp",
    "execvpe",
    "capture2",
    "capture2e",
    "capture3",
    "qx",
    "popen2",
    "script",
    "sh",
    "spawnlp",
    "spawnvp",
    "spawnl",
    "spawnv",
    "posix_spawn",
    "pcntl_exec",
    "create_subprocess_shell",
    "create_subprocess_exec",
    "cmd",
    "Command",
];

/// Calls that run code of the same language.
pub(super) const EVALUATES: [&str; 4] = ["exec", "eval", "instance_eval", "Function"];

/// Calls that turn something unreadable into text.
const DECODES: [&str; 14] = [
    "chr",
    "fromCharCode",
    "decompress",
    "inflate",
    "inflateSync",
    "gunzipSync",
    "gzinflate",
    "gzuncompress",
    "b64decode",
    "base64_decode",
    "decode64",
    "atob",
    "fromhex",
    "unhexlify",
];

/// Calls that delete a whole tree.
pub(super) const DELETES: &[&str] = &[
    "rmtree",
    "remove_tree",
    "rm_rf",
    "rm_r",
    "remove_entry_secure",
    "rmSync",
    "rmdirSync",
    "rimraf",
    "RemoveAll",
    "removeSync",
    "remove_dir_all",
    "remove_entry",
    "emptyDirSync",
    "remove_dir",
    "deltree",
];

/// Calls that delete a tree if they are told so by an option.
pub(super) const DELETES_IF_RECURSIVE: [&str; 5] = ["rm", "rmdir", "unlink", "removeSync", "remove"];

/// Calls that print.
const PRINTS: [&str; 5] = ["print", "puts", "log", "printf", "echo"];

/// The longest list before a method, in tokens.
const LONGEST_LIST: usize = 256;

/// The longest part of a condition that is read, in tokens.
const LONGEST_CONDITION: usize = 24;

/// Conditions that are taken for a choice. Each looks through all values.
const MOST_CONDITIONS: usize = 100;

fn is_declaration(word: &str) -> bool {
    matches!(word, "const" | "let" | "var" | "my")
}

/// Code while it is read.
pub(super) struct CodeScan<'c> {
    pub(super) language: &'c str,
    tokens: &'c [CodeToken],
    /// The token behind the current one.
    at: usize,
    pub(super) values: Values,
    /// Other names for calls, each with the real one: `system as s`.
    renamed: Vec<(&'c str, &'c str)>,
    /// The text that the code has printed last.
    pub(super) printed: Option<String>,
    /// The command that reads the text that the code prints.
    pub(super) piped_to: Option<String>,
    /// The variables of loops.
    loops: Vec<String>,
    /// Number of conditions so far.
    conditions: usize,
}

/// A call that matters.
pub(super) struct CodeCall<'c> {
    /// The whole name, such as `os.system`.
    pub(super) name: &'c str,
    /// The last part of the name.
    pub(super) base: &'c str,
    pub(super) effects: CallEffects,
    /// The arguments as far as they are known.
    pub(super) words: Vec<String>,
    /// `cwd="…"`
    pub(super) directory: Option<String>,
    /// `recursive` is among the options.
    pub(super) recursive: bool,
}

/// The effects that a call of some name may have. One name may have several, depending on its arguments.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "a name may stand for several calls")]
pub(super) struct CallEffects {
    pub(super) prints: bool,
    pub(super) runs: bool,
    /// Perl's `open`, which runs a command only if a pipe is in its words.
    pub(super) opens: bool,
    pub(super) deletes: bool,
    pub(super) may_delete: bool,
    pub(super) moves: bool,
    pub(super) evaluates: bool,
}

impl CallEffects {
    /// The effects of a call; none if it has none that matters.
    fn of(name: &str, base: &str, language: &str) -> Option<Self> {
        let opens = base == "open" && language == "perl";
        let effects = Self {
            prints: PRINTS.contains(&base),
            runs: RUNS.contains(&base) || opens,
            opens,
            deletes: DELETES.contains(&base),
            may_delete: DELETES_IF_RECURSIVE.contains(&base),
            moves: base == "chdir" || name == "Dir.chdir",
            evaluates: EVALUATES.contains(&base) && name == base && language != "perl" && language != "awk",
        };
        let Self { prints, runs, opens: _, deletes, may_delete, moves, evaluates } = effects;
        (prints || runs || deletes || may_delete || moves || evaluates).then_some(effects)
    }
}

impl<'c> CodeScan<'c> {
    pub(super) fn new(language: &'c str, tokens: &'c [CodeToken], values: Values) -> Self {
        Self {
            language,
            tokens,
            at: 0,
            values,
            renamed: Vec::new(),
            printed: None,
            piped_to: None,
            loops: Vec::new(),
            conditions: 0,
        }
    }

    /// Goes on to the next token.
    pub(super) fn next(&mut self) -> Option<&'c CodeToken> {
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        Some(token)
    }

    /// The tokens before and behind the current one.
    pub(super) fn around(&self) -> (Option<&'c CodeToken>, Option<&'c CodeToken>) {
        (self.back(2), self.tokens.get(self.at))
    }

    /// The token so many places before the next one.
    fn back(&self, by: usize) -> Option<&'c CodeToken> {
        self.at.checked_sub(by).and_then(|at| self.tokens.get(at))
    }

    fn is_sign(&self, at: usize, sign: char) -> bool {
        self.tokens.get(at) == Some(&CodeToken::Sign(sign))
    }

    /// The script behind a backquote, in languages where that runs it.
    pub(super) fn backquoted(&self) -> Option<String> {
        let is_text = matches!(self.tokens.get(self.at), Some(CodeToken::Text(_) | CodeToken::Template(_)));
        if self.language == "node" || !is_text {
            return None;
        }
        let script = arguments(self.tokens, self.at, &self.values, false).words.into_iter().next();
        Some(script.unwrap_or_default())
    }

    /// Notes the value that a name gets here. False if this is no assignment and no loop.
    pub(super) fn note_name(&mut self, name: &str) -> bool {
        let (at, tokens) = (self.at, self.tokens);
        // `name = "text"`
        if self.is_sign(at, '=') && !matches!(tokens.get(at + 1), Some(CodeToken::Sign('=' | '~'))) {
            let found = arguments(tokens, at + 1, &self.values, false);
            // A call on the right side is looked at for itself.
            if !found.words.is_empty() {
                self.values.insert(name.trim_start_matches(['$', '@']).to_owned(), found.words);
            }
            return true;
        }
        if self.note_addition(name) || self.note_loop(name) || self.note_callback(name) {
            return true;
        }
        // A condition makes a choice among the names of a listing.
        if name == "if" && !self.asks_for_kind() {
            self.conditions += 1;
            if self.conditions > MOST_CONDITIONS {
                return false;
            }
            let listings = |value: &&mut String| value.contains(STAR) || value.contains(TREE);
            for value in self.values.values_mut().flatten().filter(listings) {
                *value = value.replace([STAR, TREE], &SOME.to_string());
            }
            return false;
        }
        // `{execSync: x} = require("child_process")`
        if self.is_sign(at, ':')
            && matches!(self.back(2), Some(CodeToken::Sign('{' | ',')))
            && let (Some(CodeToken::Name(from)), Some(CodeToken::Name(to))) = (self.back(1), tokens.get(at + 1))
            && CallEffects::of(from, from, self.language).is_some()
        {
            self.renamed.push((to, from));
            return true;
        }
        if name == "as"
            && let (Some(CodeToken::Name(from)), Some(CodeToken::Name(to))) = self.around()
        {
            self.renamed.push((to, from));
            return true;
        }
        false
    }

    /// `list.append(…)`, `list.push(…)`, `list += […]`
    fn note_addition(&mut self, name: &str) -> bool {
        let (at, tokens) = (self.at, self.tokens);
        let (list, first) = match name.rsplit_once('.') {
            Some((list, "append" | "push" | "extend" | "unshift")) if self.is_sign(at, '(') => (list, at + 1),
            _ if self.is_sign(at, '+') && self.is_sign(at + 1, '=') => (name, at + 2),
            _ => return false,
        };
        let found = arguments(tokens, first, &self.values, first == at + 1);
        let is_text = first == at + 2 && !self.is_sign(first, '[');
        let Some(value) = self.values.get_mut(list.trim_start_matches(['$', '@'])) else { return false };
        match (value.as_mut_slice(), found.words.as_slice()) {
            // A text grows, a list gets more words.
            ([text], [more]) if is_text => text.push_str(more),
            _ => value.extend(found.words),
        }
        *value = bounded(std::mem::take(value));
        true
    }

    /// `for name in […]`, `for (const name of […])`
    fn note_loop(&mut self, name: &str) -> bool {
        if !matches!(name, "for" | "foreach") {
            return false;
        }
        let tokens = self.tokens;
        let mut at = self.at + usize::from(self.is_sign(self.at, '('));
        at += usize::from(matches!(tokens.get(at), Some(CodeToken::Name(word)) if is_declaration(word)));
        let Some(CodeToken::Name(variable)) = tokens.get(at) else { return false };
        if self.note_walk(at) {
            return true;
        }
        let found = match tokens.get(at + 1) {
            Some(CodeToken::Name(word)) if matches!(word.as_str(), "in" | "of") => match tokens.get(at + 2..at + 4) {
                // The colon is the end of the head, and not that of a named option.
                Some([CodeToken::Name(list), CodeToken::Sign(':')]) => {
                    let words = self.values.get(list).cloned().unwrap_or_default();
                    Arguments { words, ..Arguments::default() }
                }
                _ => arguments(tokens, at + 2, &self.values, false),
            },
            // Perl: `for my $name (…)`
            Some(CodeToken::Sign('(')) if variable.starts_with('$') => arguments(tokens, at + 2, &self.values, true),
            _ => return false,
        };
        self.bind_loop(variable.trim_start_matches('$'), found.words);
        self.at = at + 2;
        true
    }

    /// `for directory, directories, files in os.walk(…)`
    fn note_walk(&mut self, at: usize) -> bool {
        let tokens = self.tokens.get(at..).unwrap_or(&[]);
        let [
            CodeToken::Name(directory),
            CodeToken::Sign(','),
            CodeToken::Name(directories),
            CodeToken::Sign(','),
            CodeToken::Name(files),
            CodeToken::Name(word),
            CodeToken::Name(walk),
            CodeToken::Sign('('),
            ..,
        ] = tokens
        else {
            return false;
        };
        if word != "in" || !walk.ends_with("walk") {
            return false;
        }
        let top = arguments(self.tokens, at + 8, &self.values, true).words.into_iter().take(1).collect();
        self.bind_loop(directory, top);
        // Names at any depth below it.
        self.bind_loop(directories, vec![TREE.to_string()]);
        self.bind_loop(files, vec![TREE.to_string()]);
        self.at = at + 7;
        true
    }

    /// `[…].forEach(name => …)`, `list.map(function (name) { … })`, `list.each { |name| … }`
    fn note_callback(&mut self, name: &str) -> bool {
        let (list, method) = name.rsplit_once('.').map_or((None, name), |(list, method)| (Some(list), method));
        if !matches!(method, "forEach" | "map" | "each") {
            return false;
        }
        let words = match list.filter(|list| !list.is_empty()) {
            Some(list) => self.values.get(list.trim_start_matches(['$', '@'])).cloned(),
            None => self.list_before(self.at),
        };
        let is_opener = |token: &&CodeToken| match token {
            CodeToken::Sign(sign) => matches!(sign, '(' | '{' | '|'),
            CodeToken::Name(word) => matches!(word.as_str(), "function" | "async" | "do"),
            _ => false,
        };
        let rest = self.tokens.get(self.at..).unwrap_or(&[]);
        let variable = rest.iter().take(6).find(|token| !is_opener(token));
        let (Some(words), Some(CodeToken::Name(variable))) = (words, variable) else { return false };
        self.bind_loop(variable, words);
        true
    }

    fn bind_loop(&mut self, variable: &str, words: Vec<String>) {
        self.loops.push(variable.to_owned());
        self.values.insert(variable.to_owned(), words);
    }

    /// The values of the list that ends before the method at this place: `[…].each`, `listdir(…).each`.
    fn list_before(&self, at: usize) -> Option<Vec<String>> {
        let dot = at.checked_sub(2).filter(|dot| self.is_sign(*dot, '.'))?;
        let close = dot.checked_sub(1)?;
        let mut open = 0_usize;
        let start = (0..=close).rev().take(LONGEST_LIST).find(|at| {
            match self.tokens.get(*at) {
                Some(CodeToken::Sign(')' | ']')) => open += 1,
                Some(CodeToken::Sign('(' | '[')) => open = open.saturating_sub(1),
                _ => {}
            }
            open == 0
        })?;
        // The name of a call stands before its parenthesis.
        let start = start - usize::from(start > 0 && self.is_sign(start, '('));
        let list = self.tokens.get(start..=close)?;
        Some(arguments(list, 0, &self.values, false).words)
    }

    /// True if the condition at this place only asks which kind of file a name is.
    fn asks_for_kind(&self) -> bool {
        const KINDS: [&str; 8] =
            ["is_dir", "isdir", "is_file", "isfile", "exists", "islink", "isDirectory", "existsSync"];
        let condition = self.tokens.get(self.at..).unwrap_or(&[]).iter().take(LONGEST_CONDITION);
        let condition = condition.take_while(|token| !matches!(token, CodeToken::Sign(':' | '{' | '\n')));
        let is_kind = |name: &str| KINDS.contains(&name.rsplit('.').next().unwrap_or(name));
        condition
            .filter_map(|token| if let CodeToken::Name(name) = token { Some(name) } else { None })
            .any(|name| is_kind(name))
    }

    /// The values of the variables of all loops, after everything else was noted.
    pub(super) fn into_loops(mut self) -> Values {
        while let Some(token) = self.next() {
            if let CodeToken::Name(name) = token {
                self.note_name(name);
            }
        }
        let loops = self.loops.iter().filter_map(|name| self.values.remove_entry(name));
        loops.collect()
    }

    /// The words of the call that begins behind the current name; none if no call begins there.
    pub(super) fn call_words(&self) -> Option<Vec<String>> {
        let is_definition =
            matches!(self.back(2), Some(CodeToken::Name(word)) if matches!(word.as_str(), "def" | "function"));
        let is_call = self.is_sign(self.at, '(') && !is_definition;
        is_call.then(|| arguments(self.tokens, self.at + 1, &self.values, true).words)
    }

    /// `getattr(module, "name")(…)`: the call that it stands for.
    fn found_by_name(&mut self) -> Option<&'static str> {
        if !self.is_sign(self.at, '(') {
            return None;
        }
        let found = arguments(self.tokens, self.at + 1, &self.values, true);
        let name = found.words.last().filter(|_| self.is_sign(found.next, '('))?;
        let known = RUNS.iter().chain(DELETES).chain(&DELETES_IF_RECURSIVE).find(|known| *known == name)?;
        self.at = found.next;
        Some(known)
    }

    /// True if the name begins a call that runs text which is decoded on the spot. Text that could be decoded is in a call.
    pub(super) fn runs_decoded(&self, name: &str) -> bool {
        let (module, base) = name.rsplit_once('.').unwrap_or(("", name));
        let is_own = matches!(module, "" | "os" | "subprocess" | "child_process" | "cp" | "Kernel" | "vm");
        if !is_own || !self.is_sign(self.at, '(') || !RUNS.contains(&base) && !EVALUATES.contains(&base) {
            return false;
        }
        let mut open = 0_usize;
        for token in self.tokens.get(self.at..).unwrap_or(&[]).iter().take(LONGEST_LIST) {
            match token {
                CodeToken::Sign('(') => open += 1,
                CodeToken::Sign(')') => open = open.saturating_sub(1),
                CodeToken::Name(name) if DECODES.contains(&name.rsplit('.').next().unwrap_or(name)) => return true,
                _ => {}
            }
            if open == 0 {
                break;
            }
        }
        false
    }

    /// The call that a name begins; none if no call begins here, or none that matters.
    pub(super) fn call(&mut self, name: &'c str) -> Option<CodeCall<'c>> {
        let name = if name == "getattr" { self.found_by_name()? } else { name };
        let base = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
        let base = self.renamed.iter().find(|(to, _)| *to == base).map_or(base, |(_, from)| from);
        let effects = CallEffects::of(name, base, self.language)?;
        // `rm_rf!(…)`
        let first = self.at + usize::from(self.is_sign(self.at, '!'));
        let parenthesized = self.is_sign(first, '(');
        let follows = matches!(
            self.tokens.get(first),
            Some(CodeToken::Text(_) | CodeToken::Template(_) | CodeToken::Name(_) | CodeToken::Sign('*'))
        );
        if !parenthesized && !follows {
            return None;
        }
        let found = arguments(self.tokens, first + usize::from(parenthesized), &self.values, parenthesized);
        let mut words = found.words;
        // `"…".execute()`
        if words.is_empty()
            && effects.runs
            && let Some(CodeToken::Text(text)) = self.back(3)
        {
            words.push(text.clone());
        }
        // `path.unlink()`
        if words.is_empty()
            && (effects.deletes || effects.may_delete)
            && let Some((path, _)) = name.rsplit_once('.')
        {
            words.extend(self.values.get(path).into_iter().flatten().cloned());
        }
        if words.is_empty() {
            return None;
        }
        // The arguments of a call may be calls themselves: `print(os.system("…"))`.
        if !effects.prints {
            self.at = found.next.max(self.at).saturating_sub(usize::from(!parenthesized));
        }
        Some(CodeCall { name, base, effects, words, directory: found.directory, recursive: found.recursive })
    }
}
