//! Turns the commented defaults of the settings into JSON, which the program reads faster.

use std::error::Error;
use std::path::Path;

const DEFAULTS: &str = "src/settings/defaults.toml";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={DEFAULTS}");
    // The program fills in these two lists, which are the library's.
    let text = std::fs::read_to_string(DEFAULTS)?.replace("{withhold}", "[]").replace("{allow}", "[]");
    let defaults: toml::Table = toml::from_str(&text)?;
    let to = Path::new(&std::env::var_os("OUT_DIR").ok_or("no OUT_DIR")?).join("defaults.json");
    std::fs::write(to, serde_json::to_string(&defaults)?)?;
    Ok(())
}
