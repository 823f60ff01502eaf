//! Makes targets: prerequisites first, then the lines of the recipe.

use crate::marks::{SOME, is_vague};
use crate::walk::ScriptWalk;
use crate::walk::files::base_name;
use crate::walk::make::functions::stem;
use crate::walk::make::{Frame, MOST_GOALS, Make, MakeRule, MakeVariable, Origin};

/// Shells whose option `-c` takes a script.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ksh", "zsh", "ash"];

/// The deepest chain of prerequisites.
const DEEPEST: usize = 48;

/// A target and the values of its automatic variables.
struct Target {
    name: String,
    stem: String,
    prerequisites: Vec<String>,
    order_only: Vec<String>,
}

impl Make<'_, '_> {
    /// Makes the files that are included, and reads them.
    pub(super) fn make_pending(&mut self) {
        for name in std::mem::take(&mut self.pending) {
            if self.rules.iter().any(|rule| rule.stem_of(&name).is_some()) {
                self.build(&name, 0);
                if let Some(text) = self.walk.known_file(&name) {
                    let text = text.to_string();
                    self.read(&text);
                }
            }
        }
    }

    /// Makes the named goals, or the first target.
    pub(super) fn make_goals(&mut self) {
        let mut goals = self.words.goals.clone();
        if goals.is_empty() && self.has_open_goal {
            return self.make_everything();
        }
        if goals.is_empty() {
            let named = self.value(".DEFAULT_GOAL").trim().to_owned();
            let is_plain =
                |target: &&String| (!target.starts_with('.') || target.contains('/')) && !target.contains('%');
            let first = self.rules.iter().flat_map(|rule| &rule.targets).find(is_plain).cloned();
            goals.extend(if named.is_empty() || is_vague(&named) { first } else { Some(named) });
        }
        let is_unknown = |goal: &String| is_vague(goal) || !self.has_rule(goal);
        if goals.is_empty() || goals.iter().any(is_unknown) {
            return self.make_everything();
        }
        for goal in goals {
            if self.has_failed {
                break;
            }
            self.build(&goal, 0);
        }
        // Lines behind no rule belong to one that is not known.
        for rule in self.rules.clone().iter().filter(|rule| rule.targets.is_empty()) {
            self.run_rule(rule, &Target::unknown());
        }
    }

    fn has_rule(&self, goal: &str) -> bool {
        self.rules.iter().any(|rule| rule.stem_of(goal).is_some() || rule.targets.iter().any(|own| own == ".DEFAULT"))
    }

    /// Runs every recipe: the goal is not known.
    fn make_everything(&mut self) {
        for rule in self.rules.clone().iter().take(MOST_GOALS) {
            let mut target = Target::unknown();
            if let Some(name) = rule.targets.first() {
                name.clone_into(&mut target.name);
            }
            target.prerequisites.clone_from(&rule.prerequisites);
            self.has_failed = false;
            self.run_rule(rule, &target);
        }
    }

    /// Makes a target.
    fn build(&mut self, goal: &str, depth: usize) {
        if depth > DEEPEST || self.built.len() > MOST_GOALS || !self.built.insert(goal.to_owned()) || self.has_failed {
            return;
        }
        self.walk.budget.spend(1 + self.rules.len() / 16);
        let (rules, recipes) = self.rules_for(goal);
        let mut target =
            Target { name: goal.to_owned(), stem: String::new(), prerequisites: Vec::new(), order_only: Vec::new() };
        let frame = self.frames.len();
        self.frames.push(Frame::new());
        self.set_target_variables(goal, frame);
        for rule in &rules {
            let stem = rule.stem_of(goal).unwrap_or_default();
            let with_stem = |words: &[String]| -> Vec<String> {
                words
                    .iter()
                    .map(|word| if stem.is_empty() { word.clone() } else { word.replacen('%', &stem, 1) })
                    .collect()
            };
            let mut prerequisites = with_stem(&rule.prerequisites);
            if !stem.is_empty() {
                target.stem.clone_from(&stem);
            }
            if self.expands_twice && prerequisites.iter().any(|word| word.contains('$')) {
                self.set_automatic(&target, frame);
                let text = self.expand(&prerequisites.join(" "));
                prerequisites = text.split_whitespace().map(str::to_owned).collect();
            }
            for word in prerequisites {
                if !target.prerequisites.contains(&word) {
                    target.prerequisites.push(word);
                }
            }
            target.order_only.extend(with_stem(&rule.order_only));
        }
        for word in target.prerequisites.iter().chain(&target.order_only) {
            self.build(word, depth + 1);
        }
        for rule in recipes {
            self.run_rule(&rule, &target);
        }
        self.frames.truncate(frame);
    }

    /// The rules that say something about a target, and those whose recipes make it.
    fn rules_for(&self, goal: &str) -> (Vec<MakeRule>, Vec<MakeRule>) {
        let is_explicit = |rule: &&MakeRule| rule.targets.iter().any(|target| target == goal && !target.contains('%'));
        let mut rules: Vec<MakeRule> = self.rules.iter().filter(is_explicit).cloned().collect();
        let mut recipes: Vec<MakeRule> = rules.iter().filter(|rule| !rule.recipe.is_empty()).cloned().collect();
        if let Some(last) = recipes.pop() {
            if !last.is_double {
                recipes.clear();
            }
            recipes.push(last);
            return (rules, recipes);
        }
        let patterns = self.rules.iter().filter(|rule| {
            !rule.recipe.is_empty() && rule.stem_pattern.is_none() && rule.targets.iter().any(|own| own.contains('%'))
        });
        // The shortest stem fits best.
        let found =
            patterns.filter_map(|rule| Some((rule.stem_of(goal)?.len(), rule))).min_by_key(|(length, _)| *length);
        let default = || self.rules.iter().find(|rule| rule.targets.iter().any(|own| own == ".DEFAULT"));
        let rule = found.map(|(_, rule)| rule).or_else(|| default().filter(|_| rules.is_empty()));
        rules.extend(rule.cloned());
        (rules, rule.cloned().into_iter().collect())
    }

    fn set_target_variables(&mut self, goal: &str, frame: usize) {
        for variable in self.target_variables.clone() {
            if stem(&variable.target, goal).is_some() {
                self.assign(&variable.assignment, Some(frame));
            }
        }
    }

    fn set_automatic(&mut self, target: &Target, frame: usize) {
        let first = target.prerequisites.first().cloned().unwrap_or_default();
        let all = target.prerequisites.join(" ");
        let values = [
            ("@", target.name.clone()),
            ("*", target.stem.clone()),
            ("<", first),
            ("^", all.clone()),
            ("+", all.clone()),
            ("?", all),
            ("|", target.order_only.join(" ")),
            ("%", String::new()),
        ];
        if let Some(frame) = self.frames.get_mut(frame) {
            frame.extend(values.map(|(name, value)| (name.to_owned(), MakeVariable::simple(value, Origin::Automatic))));
        }
    }

    /// Runs the recipe of a rule for a target.
    fn run_rule(&mut self, rule: &MakeRule, target: &Target) {
        if rule.recipe.is_empty() || self.has_failed {
            return;
        }
        let frame = self.frames.len();
        self.frames.push(Frame::new());
        self.set_automatic(target, frame);
        let shell = self.value("SHELL").trim().to_owned();
        let flags = self.value(".SHELLFLAGS");
        let is_shell = SHELLS.contains(&base_name(&shell));
        let mut lines: Vec<(String, bool)> = Vec::new();
        for text in &rule.recipe {
            let runs_make = text.contains("$(MAKE)") || text.contains("${MAKE}");
            let expanded = self.expand(text);
            lines.extend(logical_lines(&expanded).into_iter().map(|line| (line, runs_make)));
        }
        if self.is_one_shell {
            let strips = |at: usize| at == 0 || is_shell;
            let whole: Vec<String> = lines
                .iter()
                .enumerate()
                .map(|(at, (line, _))| if strips(at) { signs(line).1.to_owned() } else { line.clone() })
                .collect();
            let signs = lines.first().map(|(line, _)| signs(line).0).unwrap_or_default();
            lines = vec![(format!("{signs}{}", whole.join("\n")), false)];
        }
        for (line, runs_make) in lines {
            if self.has_failed || self.walk.budget.is_exhausted() {
                break;
            }
            self.run_line(&line, runs_make, &shell, &flags);
        }
        self.frames.truncate(frame);
    }

    fn run_line(&mut self, line: &str, runs_make: bool, shell: &str, flags: &str) {
        let (signs, script) = signs(line);
        if script.is_empty() {
            return;
        }
        let is_shown = self.words.only_prints || !(self.is_silent || signs.contains('@'));
        if is_shown {
            self.walk.write(&format!("{script}\n"));
        }
        if self.words.only_prints && !runs_make && !signs.contains('+') {
            return;
        }
        let environment = self.environment();
        let flow = self.walk.subshell(|walk| {
            for (name, value) in environment {
                walk.assign(&name, crate::walk::state::ShellValue::Scalar(value), None);
                walk.world.shell.variable_mut(&name).exported = true;
            }
            walk.run_recipe_line(shell, flags, script);
            walk.certain_status()
        });
        let gives_up = matches!(script.trim(), "false" | "exit 1" | "@false") || flow == Some(false);
        self.has_failed |= gives_up && !signs.contains('-') && !self.words.goes_on;
    }

    /// The variables that the commands of a recipe find in their environment.
    fn environment(&mut self) -> Vec<(String, String)> {
        let from_words = |variable: &MakeVariable| variable.origin == Origin::CommandLine;
        let mut names: Vec<String> = self.exported.iter().cloned().collect();
        let is_name = |name: &str| name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        for (name, variable) in &self.variables {
            let is_own = variable.origin >= Origin::File;
            let replaces = is_own && self.walk.world.shell.variable(name).is_some_and(|variable| variable.exported);
            if is_name(name) && (from_words(variable) || replaces || is_own && self.exports_all) {
                names.push(name.clone());
            }
        }
        let mut values = Vec::new();
        for name in names.into_iter().take(64) {
            let value = self.value(&name);
            values.push((name, value));
        }
        // Other makes get the variables of this one's command line.
        let given: Vec<String> =
            self.words.variables.iter().map(|word| word.replace('\\', "\\\\").replace(' ', "\\ ")).collect();
        let letters =
            format!("{}{}", if self.words.only_prints { "n" } else { "" }, if self.words.is_silent { "s" } else { "" });
        let flags = self.variables.get("MAKEFLAGS").map(|flags| flags.value.clone()).unwrap_or_default();
        if !given.is_empty() || !letters.is_empty() || !flags.is_empty() {
            values.push(("MAKEFLAGS".to_owned(), format!("{letters} {flags} -- {}", given.join(" "))));
        }
        values
    }
}

impl Target {
    fn unknown() -> Self {
        let some = || SOME.to_string();
        Self { name: some(), stem: some(), prerequisites: vec![some()], order_only: Vec::new() }
    }
}

impl MakeRule {
    /// The part of a goal that `%` stands for, if this rule is about it.
    fn stem_of(&self, goal: &str) -> Option<String> {
        self.targets.iter().find_map(|target| {
            if target.contains('%') {
                return stem(target, goal).map(str::to_owned);
            }
            let pattern = self.stem_pattern.as_deref();
            (target == goal).then(|| pattern.and_then(|pattern| stem(pattern, goal)).unwrap_or("").to_owned())
        })
    }
}

impl ScriptWalk<'_> {
    /// Runs a line of a recipe with the shell of the makefile.
    pub(super) fn run_recipe_line(&mut self, shell: &str, flags: &str, script: &str) {
        let name = base_name(shell.split_whitespace().next().unwrap_or("sh"));
        if SHELLS.contains(&name) && flags.split_whitespace().any(|flag| flag.starts_with('-') && flag.ends_with('c')) {
            self.world.nested += 1;
            self.new_shell("sh".to_owned(), Vec::new(), |walk| {
                walk.run_derived(script);
            });
            self.world.nested -= 1;
            return;
        }
        let words = shell.split_whitespace().chain(flags.split_whitespace()).map(str::to_owned);
        let words: Vec<String> = words.chain([script.to_owned()]).collect();
        self.world.nested += 1;
        self.subshell(|walk| walk.call(words));
        self.world.nested -= 1;
    }
}

/// The signs before a line of a recipe, and the script behind them.
fn signs(line: &str) -> (String, &str) {
    let script = line.trim_start_matches(['@', '-', '+', ' ', '\t']);
    let signs = line.get(..line.len() - script.len()).unwrap_or("");
    (signs.chars().filter(|sign| !sign.is_whitespace()).collect(), script)
}

/// The lines of a text; those that end in a backslash go on.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        match lines.last_mut() {
            Some(last) if goes_on => {
                last.push('\n');
                last.push_str(line);
            }
            _ => lines.push(line.to_owned()),
        }
        goes_on = line.ends_with('\\');
    }
    lines
}
