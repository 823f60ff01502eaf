//! A URL scheme of your own: `source://lib.rs` is a file name in every command.
#![expect(clippy::print_stdout, reason = "it shows its result")]

use std::error::Error;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bashful_dialect::{Dialect, Limits, ToolCaller, Toolbox};
use bashful_engine::{Engine, Options, Scheme, UrlError, UrlFile};

/// The files of one directory.
#[derive(Debug)]
struct SourceUrls(PathBuf);

impl Scheme for SourceUrls {
    fn name(&self) -> &'static str {
        "source"
    }

    fn find(&self, name: &str) -> Result<UrlFile, UrlError> {
        // The model chooses the name, so nothing but plain names may pass.
        if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(UrlError::Traversal { scheme: self.name().to_owned() });
        }
        let path = self.0.join(name);
        if !path.is_file() {
            return Err(UrlError::Unknown { kind: "source", name: name.to_owned(), available: Vec::new() });
        }
        Ok(UrlFile { path, wanted: None })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    bashful_engine::keeper_main(); // first thing in `main`
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut options = Options::new("/bin/bash".into(), "/".into()).inherit();
    options.rewriting.schemes.push(Arc::new(SourceUrls(sources)));
    runtime.block_on(async {
        let toolbox = Toolbox::new(Engine::new(options)?, Dialect::NATIVE, Limits::default(), "/".as_ref());
        for command in ["grep -c Toolbox source://lib.rs", "cat source://../Cargo.toml", "cat source://nothing.rs"] {
            let arguments = serde_json::json!({ "command": command });
            let answer = toolbox.call("bash", arguments, ToolCaller::default()).await?;
            println!("$ {command}\n{}", answer.text);
        }
        Ok(())
    })
}
