//! Code that an interpreter loads before the program, because a variable or an option says so: `NODE_OPTIONS=--require`, `PYTHONPATH`.
//!
//! Only files that the script itself has written are known, and those are judged as programs of the language.

use crate::walk::ScriptWalk;
use crate::walk::program::Language;
use crate::walk::values::Values;

/// Variables with options, or with directories to look for code in.
const VARIABLES: [(&str, &[&str]); 3] = [
    ("python", &["PYTHONPATH", "PYTHONSTARTUP"]),
    ("node", &["NODE_OPTIONS", "NODE_PATH"]),
    ("perl", &["PERL5OPT", "PERL5LIB"]),
];

/// Options of the interpreters themselves that load code.
const OPTIONS: [&str; 4] = ["-r", "--require", "--import", "-I"];

/// The most files that are judged for one program.
const MOST_FILES: usize = 4;

impl ScriptWalk<'_> {
    /// Judges the code that an interpreter of this language loads by itself.
    pub(super) fn run_preloads(&mut self, language: &str, arguments: &[String]) {
        if self.world.files.is_empty() {
            return;
        }
        let Some((_, names)) = VARIABLES.iter().find(|(name, _)| *name == language) else { return };
        let mut places: Vec<String> = Vec::new();
        for name in *names {
            let text = self.scalar(name).unwrap_or_default();
            places.extend(text.split([':', ' ', '=']).map(str::to_owned));
        }
        let options = arguments.iter().take_while(|word| word.starts_with('-'));
        places.extend(options.clone().filter_map(|word| word.strip_prefix("-I")).map(str::to_owned));
        for (at, word) in arguments.iter().enumerate().take(8) {
            if OPTIONS.contains(&word.as_str()) {
                places.extend(arguments.get(at + 1).cloned());
            }
        }
        for path in self.code_at(&places) {
            let Some(code) = self.known_file(&path) else { continue };
            let is_followed = Language::named(language).is_some_and(|known| self.try_program(known, &code, &[], true));
            if !is_followed {
                self.scan_code(language, &code, Values::new());
            }
        }
    }

    /// The files of the script at these places, or in these directories.
    fn code_at(&mut self, places: &[String]) -> Vec<String> {
        let mut found = Vec::new();
        for place in places.iter().filter(|place| !place.is_empty() && !place.starts_with('-')) {
            let place = self.absolute(place);
            for path in self.world.files.paths_at(&place) {
                if found.len() < MOST_FILES && !found.contains(&path) {
                    found.push(path);
                }
            }
        }
        found
    }
}
