//! The tool `bash` of the dialect `pi`, sentence by sentence of its document, in the document's order, over MCP.
//!
//! Terminals and clients that run commands themselves are not built, and not here. How commands run, stop and
//! share a shell has tests of its own.

mod errors;
mod flow;
mod inputs;
mod limits;
mod notes;
mod outputs;

use bashful_testkit::Home;
use serde_json::{Value, json};

use crate::server::Server;

use crate::BASHFUL;

/// Settings that turn the interceptor on, with all tools that the document names.
const INTERCEPTOR: [(&str, &str); 2] = [
    ("BASHFUL_INTERCEPTOR_ENABLED", "true"),
    ("BASHFUL_INTERCEPTOR_TOOLS", r#"["read", "search", "find", "edit", "write"]"#),
];

/// A server that speaks pi, in a home of its own.
struct Pi {
    home: Home,
    server: Server,
}

/// A result, taken apart.
struct Result {
    text: String,
    is_error: bool,
    details: Value,
}

impl Pi {
    fn new() -> Self {
        Self::with(&[])
    }

    /// A server with variables on top of the usual ones.
    fn with(variables: &[(&str, &str)]) -> Self {
        Self::at(Home::new(BASHFUL), variables)
    }

    /// A server in a home that holds something already.
    fn at(home: Home, variables: &[(&str, &str)]) -> Self {
        let server = Server::greeted(&home, &["--dialect", "pi"], variables);
        Self { home, server }
    }

    #[track_caller]
    fn bash(&mut self, arguments: &Value) -> Result {
        Result::of(&self.server.call("bash", arguments))
    }

    #[track_caller]
    fn job(&mut self, arguments: &Value) -> Result {
        Result::of(&self.server.call("job", arguments))
    }

    /// The output of a command that is expected to end well.
    #[track_caller]
    fn output(&mut self, arguments: &Value) -> String {
        let result = self.bash(arguments);
        assert!(!result.is_error, "{}", result.text);
        result.output().to_owned()
    }

    /// The whole text of a call that is expected to fail before anything runs.
    #[track_caller]
    fn refused(&mut self, arguments: &Value) -> String {
        let result = self.bash(arguments);
        assert!(result.is_error && !result.text.contains("Wall time"), "{}", result.text);
        assert_eq!(result.details, json!({ "error": result.text }));
        result.text
    }

    fn path(&self, name: &str) -> String {
        self.home.path().join(name).to_str().expect("text").to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, text).expect("written");
    }

    fn exists(&self, name: &str) -> bool {
        self.home.path().join(name).exists()
    }

    /// Ends the server; nothing that it started is left.
    #[track_caller]
    fn end(mut self) {
        self.server.close();
        assert!(self.server.end().success());
        self.home.check_nothing_survives();
    }
}

impl Result {
    #[track_caller]
    fn of(result: &Value) -> Self {
        let blocks = result["content"].as_array().expect("blocks");
        assert_eq!(blocks.len(), 1, "a single text block: {result}");
        assert_eq!(blocks[0]["type"], "text", "{result}");
        Self {
            text: crate::server::text(result).to_owned(),
            is_error: result["isError"] == true,
            details: result["_meta"]["bashful/facts"].clone(),
        }
    }

    /// The part of the text that the command wrote.
    #[track_caller]
    fn output(&self) -> &str {
        self.text.split_once("\n\nWall time: ").unwrap_or_else(|| panic!("no wall time in {:?}", self.text)).0
    }

    /// The lines behind the output.
    #[track_caller]
    fn notices(&self) -> &str {
        self.text.split_once("\n\nWall time: ").unwrap_or_else(|| panic!("no wall time in {:?}", self.text)).1
    }
}
