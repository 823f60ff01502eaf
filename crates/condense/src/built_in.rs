//! The filters that come with the crate, one file a family.

use std::sync::OnceLock;

use memchr::memmem;

use crate::filter::Filter;

const FILES: [&str; 12] = [
    include_str!("../filters/pytest.toml"),
    include_str!("../filters/cargo.toml"),
    include_str!("../filters/go.toml"),
    include_str!("../filters/javascript.toml"),
    include_str!("../filters/tests.toml"),
    include_str!("../filters/builds.toml"),
    include_str!("../filters/installs.toml"),
    include_str!("../filters/progress.toml"),
    include_str!("../filters/listings.toml"),
    include_str!("../filters/logs.toml"),
    include_str!("../filters/git.toml"),
    include_str!("../filters/linters.toml"),
];

static FILTERS: [OnceLock<Vec<Filter>>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

/// The filters of the files that name the program. Reading all files would take longer than most outputs are worth.
pub(crate) fn that_name(program: &str) -> impl Iterator<Item = &'static Filter> {
    let spelled = format!("\"{program}");
    let files = FILES.iter().zip(&FILTERS);
    let naming = files.filter(move |(text, _)| memmem::find(text.as_bytes(), spelled.as_bytes()).is_some());
    naming.flat_map(|(text, filters)| read(text, filters))
}

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Filter> {
    FILES.iter().zip(&FILTERS).flat_map(|(text, filters)| read(text, filters))
}

fn read(text: &str, filters: &'static OnceLock<Vec<Filter>>) -> &'static [Filter] {
    filters.get_or_init(|| Filter::read(text).expect("a test reads every file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_can_be_read() {
        for text in FILES {
            let title = text.lines().next().unwrap_or("");
            if let Err(error) = Filter::read(text) {
                panic!("{title}: {error}: {:?}", std::error::Error::source(&error).map(ToString::to_string));
            }
        }
    }

    #[test]
    fn every_name_is_there_once() {
        let mut names: Vec<&str> = all().map(|filter| filter.name.as_str()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
