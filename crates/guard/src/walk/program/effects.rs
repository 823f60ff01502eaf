//! Calls that delete, move to another directory, or end the program.

use crate::walk::program::call::Given;
use crate::walk::program::value::Value;
use crate::walk::program::{Run, Stop, Trial};

impl Trial<'_, '_> {
    /// Calls that delete, move, exit, evaluate or print. None if this is no such call.
    pub(super) fn effect_call(&mut self, module: &str, base: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        let is_fs = matches!(module, "fs" | "fs-extra" | "Deno" | "del" | "rimraf" | "trash");
        Ok(Some(match base {
            "rmtree" | "remove_tree" | "rmtree_p" => {
                let path = given.named("path").cloned().unwrap_or(first);
                self.delete_path(&path, true)?;
                Value::None
            }
            "rimraf" | "rimrafSync" | "removeSync" | "emptyDirSync" | "emptyDir" | "del" | "deleteSync"
            | "deleteAsync" => {
                for path in self.paths_in(&first)? {
                    self.delete_path(&path, true)?;
                }
                Value::Undefined
            }
            "sync" if module == "rimraf" => {
                self.delete_path(&first, true)?;
                Value::Undefined
            }
            "remove" if module == "fs-extra" => {
                self.delete_path(&first, true)?;
                Value::Undefined
            }
            "rmSync" | "rm" | "rmdirSync" | "rmdir" | "unlinkSync" | "unlink" | "removeSync_" | "remove" if is_fs => {
                let is_tree = match given.get(1) {
                    Some(options @ (Value::Dict(_) | Value::Object(_))) => {
                        let flag = self.item(&options.clone(), &Value::text("recursive"))?;
                        self.truth(&flag) != Some(false)
                    }
                    Some(options) if options.is_unknown() => true,
                    _ => false,
                };
                if is_tree || !base.starts_with("rmdir") {
                    self.delete_path(&first, is_tree)?;
                }
                Value::Undefined
            }
            "remove" | "unlink" if module == "os" => {
                let path = given.named("path").cloned().unwrap_or(first);
                self.delete_path(&path, false)?;
                Value::None
            }
            "rmdir" | "removedirs" if module == "os" => {
                if self.fails_here(self.place) {
                    return Err(self.exception("OSError", ""));
                }
                Value::None
            }
            "chdir" if matches!(module, "os" | "process" | "Deno") => {
                let path = self.text_of(&first)?;
                let path = self.walk.absolute(&path);
                self.walk.world.shell.set_directory(path);
                Value::None
            }
            "getcwd" | "cwd" | "cwdSync" if matches!(module, "os" | "process" | "Deno") => {
                Value::text(self.walk.directory())
            }
            "exit" | "_exit" | "quit" | "abort" | "reallyExit"
                if matches!(module, "" | "sys" | "os" | "process" | "Deno") =>
            {
                if self.is_python() && base != "_exit" {
                    return Err(self.exception("SystemExit", ""));
                }
                return Err(Stop::Exit);
            }
            _ => return Ok(None),
        }))
    }

    pub(super) fn paths_in(&mut self, value: &Value) -> Run<Vec<Value>> {
        if matches!(value, Value::List(_) | Value::Tuple(_)) { self.items(value) } else { Ok(vec![value.clone()]) }
    }
}
