//! The words of `perl`: its options, its code and the arguments of the code.

/// The words of `perl`.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct PerlWords<'w> {
    /// Lines of code behind `-e`, and modules behind `-M`.
    pub(super) code: Option<String>,
    pub(super) file: Option<&'w str>,
    pub(super) arguments: &'w [String],
    /// `-n`, `-p`: the code runs for every line of its input.
    pub(super) loops: bool,
    pub(super) prints: bool,
    /// `-i`
    pub(super) edits: bool,
    /// `-l`
    pub(super) ends_lines: bool,
    /// `-0`, as a number: 0777 reads everything at once.
    pub(super) separator: Option<u32>,
    /// `-a`
    pub(super) splits: bool,
    /// `-F`
    pub(super) pattern: Option<String>,
    pub(super) checks_only: bool,
}

impl<'w> PerlWords<'w> {
    pub(super) fn of(arguments: &'w [String]) -> Self {
        let mut words = Self { arguments, ..Self::default() };
        while let Some((word, after)) = words.arguments.split_first() {
            let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else { break };
            words.arguments = after;
            if letters == "-" {
                break;
            }
            words.cluster(letters);
        }
        if words.code.is_none()
            && let Some((file, after)) = words.arguments.split_first()
        {
            words.file = Some(file);
            words.arguments = after;
        }
        words
    }

    fn value(&mut self, attached: &'w str) -> &'w str {
        if !attached.is_empty() {
            return attached;
        }
        match self.arguments.split_first() {
            Some((value, after)) => {
                self.arguments = after;
                value
            }
            None => "",
        }
    }

    /// Reads the letters of one word.
    fn cluster(&mut self, letters: &'w str) {
        for (at, letter) in letters.char_indices() {
            let rest = letters.get(at + letter.len_utf8()..).unwrap_or("");
            match letter {
                'e' | 'E' => {
                    let line = self.value(rest);
                    let code = self.code.get_or_insert_default();
                    code.push_str(line);
                    code.push('\n');
                    return;
                }
                'M' | 'm' | 'I' => {
                    self.value(rest);
                    return;
                }
                'F' => {
                    let pattern = self.value(rest);
                    self.pattern = Some(pattern.trim_matches(['/', '"', '\'']).to_owned());
                    self.splits = true;
                    self.loops = true;
                    return;
                }
                'i' => {
                    self.edits = true;
                    return;
                }
                '0' | 'l' => {
                    let is_hexadecimal = rest.starts_with(['x', 'X']);
                    let digits = rest.trim_start_matches(['x', 'X']);
                    let count = digits.len()
                        - digits
                            .trim_start_matches(|digit: char| {
                                digit.is_ascii_hexdigit() && (is_hexadecimal || digit.is_digit(8))
                            })
                            .len();
                    if letter == '0' {
                        let number =
                            u32::from_str_radix(digits.get(..count).unwrap_or(""), if is_hexadecimal { 16 } else { 8 });
                        self.separator = Some(number.unwrap_or(0));
                    } else {
                        self.ends_lines = true;
                    }
                    let skipped = rest.len() - digits.len() + count;
                    return self.cluster(rest.get(skipped..).unwrap_or(""));
                }
                'C' | 'd' | 'D' | 'V' => return,
                'n' => self.loops = true,
                'p' => {
                    self.loops = true;
                    self.prints = true;
                }
                'a' => {
                    self.splits = true;
                    self.loops = true;
                }
                'c' => self.checks_only = true,
                _ => {}
            }
        }
    }
}
