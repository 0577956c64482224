//! Which classifier decides about which tool.

#[cfg(feature = "http")]
use std::any::Any;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use serde_json::Value;

use crate::classify::{Members, ResultClassifier, SoftErrors};

/// Decides about the results of a tool, or of all tools.
#[derive(Clone)]
pub(crate) struct Classifier(Option<Arc<Rules>>);

struct Rules {
    classifier: Box<dyn ResultClassifier>,
    /// What it looks at; `None` is all of it.
    #[cfg(feature = "http")]
    paths: Option<Vec<String>>,
    #[cfg(feature = "http")]
    compiled: OnceLock<Arc<dyn Any + Send + Sync>>,
    members: Option<Members>,
}

/// A classifier for all tools, and those for some.
#[derive(Clone, Default)]
pub(super) struct SoftRules {
    all: Option<Classifier>,
    tools: BTreeMap<String, Classifier>,
}

impl Classifier {
    pub(super) fn new(classifier: impl ResultClassifier + 'static) -> Self {
        // Its author's code; of what it looks at nothing is known if it panics.
        let paths = crate::unwind::catch(|| classifier.members()).ok().flatten();
        let members = paths.as_ref().map(|paths| Members::new(paths.iter().map(String::as_str)));
        Self(Some(Arc::new(Rules {
            classifier: Box::new(classifier),
            #[cfg(feature = "http")]
            paths,
            #[cfg(feature = "http")]
            compiled: OnceLock::new(),
            members,
        })))
    }

    pub(super) fn off() -> Self {
        Self(None)
    }

    /// Whether it is asked at all.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// What a binding makes of the dotted paths of the members that it looks at, made once; `None`
    /// where it looks at all of it.
    #[cfg(feature = "http")]
    pub(crate) fn compiled<T: Any + Send + Sync>(
        &self,
        compile: impl FnOnce(&[String]) -> T,
    ) -> Option<Arc<T>> {
        let rules = self.0.as_ref()?;
        let paths = rules.paths.as_deref()?;
        let compiled = rules.compiled.get_or_init(|| Arc::new(compile(paths)));
        Arc::clone(compiled).downcast().ok()
    }

    /// The same members, to read a text by.
    pub(crate) fn members(&self) -> Option<&Members> {
        self.0.as_ref()?.members.as_ref()
    }

    /// What `payload` says of a failure. May panic: it is somebody else's code.
    pub(crate) fn classify(&self, tool: &str, payload: &Value) -> Option<String> {
        self.0.as_ref()?.classifier.classify(tool, payload)
    }

    fn default_shared() -> &'static Self {
        static DEFAULT: OnceLock<Classifier> = OnceLock::new();
        DEFAULT.get_or_init(|| Self::new(SoftErrors::new()))
    }
}

impl SoftRules {
    pub(super) fn set(&mut self, classifier: Classifier) {
        self.all = Some(classifier);
    }

    pub(super) fn set_of(&mut self, tool: String, classifier: Classifier) {
        self.tools.insert(tool, classifier);
    }

    pub(super) fn of(&self, tool: &str) -> &Classifier {
        let own = self.tools.get(tool).or(self.all.as_ref());
        own.unwrap_or_else(|| Classifier::default_shared())
    }

    #[cfg(feature = "http")]
    pub(super) fn knows_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    /// These rules within outer ones: what they say of all tools comes before what an outer policy
    /// says of one.
    pub(super) fn within(&self, outer: &Self) -> Self {
        let mut both = self.clone();
        if self.all.is_none() {
            both.all = outer.all.clone();
            for (tool, classifier) in &outer.tools {
                both.tools.entry(tool.clone()).or_insert_with(|| classifier.clone());
            }
        }
        both
    }
}

impl fmt::Debug for SoftRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |it: &Classifier| if it.is_on() { "own" } else { "off" };
        f.debug_struct("SoftRules")
            .field("all", &self.all.as_ref().map_or("default", name))
            .field(
                "tools",
                &self.tools.iter().map(|(tool, it)| (tool, name(it))).collect::<Vec<_>>(),
            )
            .finish()
    }
}
