//! Calls of functions that a filter defines, and the names that it finds.

use crate::walk::jq::json::Json;
use crate::walk::jq::parser::{Definition, Filter, Pattern};
use crate::walk::jq::run::{Binding, ENVIRONMENT, Emit, Halt, Jq, Names, Outcome, Scope};
use std::rc::Rc;

impl Jq<'_> {
    #[expect(clippy::unnecessary_wraps, reason = "names may be none")]
    pub(super) fn with(names: &Names, binding: Binding) -> Names {
        Some(Rc::new(Scope { binding, parent: names.clone() }))
    }

    pub(super) fn with_value(names: &Names, name: &str, value: Json) -> Names {
        Self::with(names, Binding::Value(name.to_owned(), value))
    }

    pub(super) fn variable(name: &str, names: &Names) -> Json {
        let mut scope = names.as_ref();
        while let Some(current) = scope {
            if let Binding::Value(own, value) = &current.binding
                && own == name
            {
                return value.clone();
            }
            scope = current.parent.as_ref();
        }
        if name == "ENV" { Json::text(ENVIRONMENT) } else { Json::Unknown }
    }

    /// The names behind a pattern that has taken a value apart.
    pub(super) fn bound(&self, pattern: &Pattern, value: &Json, names: &Names) -> Result<Names, Halt> {
        Ok(match pattern {
            Pattern::Variable(name) => Self::with_value(names, name, value.clone()),
            Pattern::List(items) => {
                let mut names = names.clone();
                for (at, pattern) in items.iter().enumerate() {
                    let item = self.item(value, &Json::count(at))?;
                    names = self.bound(pattern, &item, &names)?;
                }
                names
            }
            Pattern::Table(entries) => {
                let mut names = names.clone();
                for (key, variable, inner) in entries {
                    let key = self.all(key, value, &names)?.pop().unwrap_or(Json::Null);
                    let found = self.item(value, &key)?;
                    if let Some(variable) = variable {
                        names = Self::with_value(&names, variable, found.clone());
                    }
                    if let Some(inner) = inner {
                        names = self.bound(inner, &found, &names)?;
                    }
                }
                names
            }
        })
    }

    pub(super) fn call(
        &self,
        name: &str,
        arguments: &[Rc<Filter>],
        input: &Json,
        names: &Names,
        emit: Emit<'_>,
    ) -> Outcome {
        match Self::function(name, arguments, names) {
            Some((body, inner)) => self.call_own(body, &inner, arguments, input, names, emit),
            None => self.builtin(name, arguments, input, names, emit),
        }
    }

    /// The function or the argument of this name.
    pub(super) fn function(
        name: &str,
        arguments: &[Rc<Filter>],
        names: &Names,
    ) -> Option<(Option<Rc<Definition>>, Names)> {
        let mut scope = names.as_ref();
        while let Some(current) = scope {
            match &current.binding {
                Binding::Function(definition)
                    if definition.name == name && definition.parameters.len() == arguments.len() =>
                {
                    return Some((Some(Rc::clone(definition)), Some(Rc::clone(current))));
                }
                Binding::Argument(own, ..) if own == name && arguments.is_empty() => {
                    return Some((None, Some(Rc::clone(current))));
                }
                _ => {}
            }
            scope = current.parent.as_ref();
        }
        None
    }

    pub(super) fn call_own(
        &self,
        definition: Option<Rc<Definition>>,
        scope: &Names,
        arguments: &[Rc<Filter>],
        input: &Json,
        names: &Names,
        emit: Emit<'_>,
    ) -> Outcome {
        let Some(definition) = definition else {
            let Some(current) = scope else { return Ok(()) };
            let Binding::Argument(_, filter, inner) = &current.binding else { return Ok(()) };
            return self.run(filter, input, inner, emit);
        };
        self.call_with(&definition, 0, scope, arguments, input, names, emit)
    }

    /// Binds the arguments from `at` on, and runs the function. An argument that is a value may have several.
    #[expect(clippy::too_many_arguments, reason = "a call is all of these")]
    pub(super) fn call_with(
        &self,
        definition: &Rc<Definition>,
        at: usize,
        scope: &Names,
        arguments: &[Rc<Filter>],
        input: &Json,
        names: &Names,
        emit: Emit<'_>,
    ) -> Outcome {
        let (Some(parameter), Some(argument)) = (definition.parameters.get(at), arguments.get(at)) else {
            return self.run(&definition.body, input, scope, emit);
        };
        if let Some(name) = parameter.strip_prefix('$') {
            self.run(argument, input, names, &mut |value| {
                let inner = Self::with_value(scope, name, value.clone());
                let literal = Rc::new(Filter::Literal(value));
                let inner = Self::with(&inner, Binding::Argument(name.to_owned(), literal, None));
                self.call_with(definition, at + 1, &inner, arguments, input, names, &mut *emit)
            })
        } else {
            let binding = Binding::Argument(parameter.clone(), Rc::clone(argument), names.clone());
            self.call_with(definition, at + 1, &Self::with(scope, binding), arguments, input, names, emit)
        }
    }

    /// The definition of a name, for paths through it.
    pub(super) fn function_body(name: &str, arguments: &[Rc<Filter>], names: &Names) -> Option<(Rc<Filter>, Names)> {
        match Self::function(name, arguments, names)? {
            (Some(definition), scope) => {
                let mut scope = scope;
                for (parameter, argument) in definition.parameters.iter().zip(arguments) {
                    let binding = Binding::Argument(
                        parameter.trim_start_matches('$').to_owned(),
                        Rc::clone(argument),
                        names.clone(),
                    );
                    scope = Self::with(&scope, binding);
                }
                Some((Rc::clone(&definition.body), scope))
            }
            (None, scope) => {
                let current = scope?;
                match &current.binding {
                    Binding::Argument(_, filter, inner) => Some((Rc::clone(filter), inner.clone())),
                    _ => None,
                }
            }
        }
    }
}
