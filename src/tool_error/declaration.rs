//! The record: how a declaration travels from where a failure is raised to the layers.

use serde_json::{Map, Value};

use super::{
    bounds,
    effects::{Effects, Limit},
};
use crate::outcome::{Actor, Code, Declared, Level, Retryable};

/// What a failure declares about itself: the record `tower-outcome/failure` in the `_meta` of a
/// result, or in the `data` of a JSON-RPC error.
///
/// It crosses tasks, processes and languages, so everything in it is public by construction: a
/// cause never stands here. What comes from elsewhere is read with
/// [`from_value`](Self::from_value), which keeps what is valid.
///
/// ```
/// use tower_outcome::{Actor, Declaration, Level};
/// use serde_json::json;
///
/// let from_python = json!({"outcome": "fault", "actor": "time", "retry_after_seconds": 12});
/// let declaration = Declaration::from_value(&from_python).ok_or("no declaration")?;
/// assert_eq!(declaration.actor(), Actor::Time);
/// assert_eq!(declaration.level(), Level::Warn);
/// assert_eq!(declaration.to_value(), from_python);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Declaration {
    /// What the failure means.
    pub outcome: Declared,
    /// What kind of failure, countable. [`code()`](Self::code) knows the default.
    pub code: Option<Code>,
    /// Who has to act. [`actor()`](Self::actor) knows the default.
    pub actor: Option<Actor>,
    /// The level of the log line. [`level()`](Self::level) knows the default.
    pub level: Option<Level>,
    /// Whether sending the call again can succeed. [`retryable()`](Self::retryable) knows the
    /// default.
    pub retryable: Option<Retryable>,
    /// What was wrong, in words for the model; at most 1500 characters.
    pub message: Option<String>,
    /// The exact next step, in words for the model; at most 400 characters.
    pub recover: Option<String>,
    /// The path of the argument at fault; at most 128 characters.
    pub field: Option<String>,
    /// The value that was sent; at most 256 bytes of JSON.
    pub received: Option<Value>,
    /// What is allowed instead: a string of at most 256 characters, or an array of at most 64
    /// values of at most 256 bytes of JSON each.
    pub permitted: Option<Value>,
    /// What may have been meant; at most 64 strings of at most 300 characters. Empty where
    /// nothing is known.
    pub closest_matches: Vec<String>,
    /// When the same call can succeed; finite, not negative.
    pub retry_after_seconds: Option<f64>,
    /// The limit that the call ran into.
    pub limit: Option<Limit>,
    /// Whether the user has to do something first.
    pub user_action_required: Option<bool>,
    /// What is known to have happened.
    pub effects: Option<Effects>,
    /// What a user can refer to when asking for help; at most 128 characters.
    pub reference: Option<String>,
}

impl Declaration {
    /// The key of the record in `_meta`, or in `error.data`.
    pub const KEY: &'static str = "tower-outcome/failure";

    /// Characters of one of the closest matches: an id and its label.
    const MATCH_CHARS: usize = 300;

    /// A declaration of this outcome and nothing else.
    #[must_use]
    pub const fn new(outcome: Declared) -> Self {
        Self {
            outcome,
            code: None,
            actor: None,
            level: None,
            retryable: None,
            message: None,
            recover: None,
            field: None,
            received: None,
            permitted: None,
            closest_matches: Vec::new(),
            retry_after_seconds: None,
            limit: None,
            user_action_required: None,
            effects: None,
            reference: None,
        }
    }

    /// The declaration that a record from elsewhere makes; `None` where it has no valid
    /// `outcome`. Every other key that is not valid is ignored, an actor that the outcome does
    /// not allow too; texts are cut.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        let name = |key: &str| object.get(key).and_then(Value::as_str);
        let text = |key: &str, max| name(key).map(|text| bounds::cut(text, max));
        let outcome = name("outcome").and_then(Declared::from_name)?;
        Some(Self {
            outcome,
            code: name("code").and_then(Code::parse),
            actor: name("actor").and_then(Actor::from_name).filter(|actor| outcome.allows(*actor)),
            level: name("level").and_then(Level::from_name),
            retryable: name("retryable").and_then(Retryable::from_name),
            message: text("message", bounds::MESSAGE_CHARS),
            recover: text("recover", bounds::RECOVER_CHARS),
            field: text("field", bounds::NAME_CHARS),
            received: object.get("received").filter(|value| bounds::fits(value)).cloned(),
            permitted: object.get("permitted").and_then(permitted),
            closest_matches: object.get("closest_matches").and_then(matches).unwrap_or_default(),
            retry_after_seconds: object
                .get("retry_after_seconds")
                .and_then(Value::as_f64)
                .and_then(bounds::seconds),
            limit: object.get("limit").and_then(Limit::from_value),
            user_action_required: object.get("user_action_required").and_then(Value::as_bool),
            effects: object.get("effects").and_then(Effects::from_value),
            reference: text("reference", bounds::NAME_CHARS),
        })
    }

    /// The record, without the keys that nothing is known for.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut object = Map::new();
        let mut insert = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                object.insert(key.into(), value);
            }
        };
        let text = |text: &Option<String>| text.as_deref().map(Value::from);
        insert("outcome", Some(self.outcome.as_str().into()));
        insert("code", self.code.as_ref().map(|code| code.as_str().into()));
        insert("actor", self.actor.map(|actor| actor.as_str().into()));
        insert("level", self.level.map(|level| level.as_str().into()));
        insert("retryable", self.retryable.map(|retryable| retryable.as_str().into()));
        insert("message", text(&self.message));
        insert("recover", text(&self.recover));
        insert("field", text(&self.field));
        insert("received", self.received.clone());
        insert("permitted", self.permitted.clone());
        let matches = &self.closest_matches;
        insert("closest_matches", (!matches.is_empty()).then(|| matches.clone().into()));
        insert("retry_after_seconds", self.retry_after_seconds.map(bounds::number));
        insert("limit", self.limit.map(Limit::to_value));
        insert("user_action_required", self.user_action_required.map(Value::from));
        insert("effects", self.effects.as_ref().map(Effects::to_value));
        insert("reference", text(&self.reference));
        object.into()
    }

    /// Who has to act: as declared, else by the outcome.
    #[must_use]
    pub fn actor(&self) -> Actor {
        self.actor.unwrap_or_else(|| self.outcome.default_actor())
    }

    /// The kind of failure: as declared, else by the outcome.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code.clone().unwrap_or_else(|| self.outcome.default_code())
    }

    /// The level of the log line: as declared, else by who has to act.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level.unwrap_or_else(|| self.actor().default_level())
    }

    /// Whether sending the call again can succeed: as declared, else by who has to act.
    #[must_use]
    pub fn retryable(&self) -> Retryable {
        self.retryable.unwrap_or_else(|| self.actor().retryable())
    }
}

/// The permitted form in a record from elsewhere, whose list may be of any size.
fn permitted(value: &Value) -> Option<Value> {
    match value {
        Value::Array(values) => {
            bounds::permitted(values.iter().take(bounds::ITEMS).cloned().collect())
        }
        value => bounds::permitted(value.clone()),
    }
}

fn matches(value: &Value) -> Option<Vec<String>> {
    let list = value.as_array()?.iter().take(bounds::ITEMS);
    list.map(|name| name.as_str().map(|name| bounds::cut(name, Declaration::MATCH_CHARS))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn full() -> Value {
        json!({
            "outcome": "fault", "code": "rate_limited", "actor": "time", "level": "info",
            "retryable": "after_delay", "message": "m", "recover": "r", "field": "a.b",
            "received": {"x": [1]}, "permitted": ["a", 1], "closest_matches": ["c (C)"],
            "retry_after_seconds": 1.5, "user_action_required": false, "reference": "ref",
            "limit": {"requests": 3, "window_seconds": 60, "remaining": 0},
            "effects": {"confirmed": ["a"], "unresolved": [], "unknown": true},
        })
    }

    #[test]
    fn every_key_survives_the_way_there_and_back() {
        let value = full();
        let declaration = Declaration::from_value(&value).unwrap();
        assert_eq!(declaration.to_value(), value);
        assert_eq!(declaration.effects.map(|effects| effects.unknown), Some(true));
    }

    #[test]
    fn a_key_that_is_not_valid_is_ignored_alone() {
        for (key, invalid) in [
            ("code", json!("Not A Code")),
            ("code", json!("x".repeat(65))),
            ("actor", json!("nobody")),
            ("actor", json!("model")),
            ("level", json!("WARN")),
            ("retryable", json!(true)),
            ("message", json!(["m"])),
            ("recover", json!(1)),
            ("field", json!({})),
            ("received", json!("x".repeat(255))),
            ("permitted", json!(1)),
            ("permitted", json!(["x".repeat(255)])),
            ("closest_matches", json!(["a", 1])),
            ("retry_after_seconds", json!(-1)),
            ("retry_after_seconds", json!(1e300)),
            ("retry_after_seconds", json!("1")),
            ("limit", json!({"requests": -1})),
            ("user_action_required", json!("yes")),
            ("effects", json!({"confirmed": [1]})),
            ("effects", json!({"unknown": 1})),
            ("effects", json!([])),
            ("reference", json!(null)),
        ] {
            let mut value = full();
            let mut expected = full();
            let keys = value.as_object_mut().unwrap();
            keys.insert(key.into(), invalid.clone());
            expected.as_object_mut().unwrap().remove(key);
            let declaration = Declaration::from_value(&value).unwrap();
            assert_eq!(declaration.to_value(), expected, "{key}: {invalid}");
        }
    }

    #[test]
    fn without_a_valid_outcome_there_is_none() {
        for value in [
            json!(null),
            json!("fault"),
            json!([]),
            json!({}),
            json!({"outcome": "completed"}),
            json!({"outcome": "Fault"}),
            json!({"outcome": 4, "code": "x"}),
        ] {
            assert_eq!(Declaration::from_value(&value), None, "{value}");
        }
    }

    #[test]
    fn who_acts_follows_from_the_outcome_where_they_contradict_each_other() {
        for (outcome, actor, expected, level) in [
            ("rejected", "operator", Actor::Model, Level::Info),
            ("stale", "time", Actor::Model, Level::Info),
            ("fault", "model", Actor::Operator, Level::Error),
            ("fault", "time", Actor::Time, Level::Warn),
            ("fault", "user", Actor::User, Level::Info),
            ("rejected", "model", Actor::Model, Level::Info),
        ] {
            let value = json!({"outcome": outcome, "actor": actor});
            let declaration = Declaration::from_value(&value).unwrap();
            assert_eq!(declaration.actor(), expected, "{value}");
            assert_eq!(declaration.level(), level, "{value}");
            assert_eq!(declaration.retryable(), expected.retryable(), "{value}");
        }
        let silent = Declaration::new(Declared::Stale);
        assert_eq!(silent.code(), Code::STALE);
        assert_eq!(silent.to_value(), json!({"outcome": "stale"}));
    }

    #[test]
    fn texts_from_elsewhere_are_cut() {
        let long = "ä".repeat(10_000);
        let list = vec![long.clone(); 1_000];
        let value = json!({
            "outcome": "rejected", "message": long, "recover": long, "field": long,
            "permitted": long, "closest_matches": list, "reference": long,
            "effects": {"confirmed": list},
        });
        let declaration = Declaration::from_value(&value).unwrap();
        assert!(declaration.to_value().to_string().len() < 64 * 1024);
        assert_eq!(declaration.closest_matches.len(), bounds::ITEMS);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,20}".prop_map(Value::from),
            prop_oneof![Just("time"), Just("model"), Just("warn"), Just("never")]
                .prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            let key = prop_oneof![
                Just("requests"),
                Just("window_seconds"),
                Just("confirmed"),
                Just("unknown"),
                Just("x")
            ];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec((key, inner), 0..4)
                    .prop_map(|pairs| pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_json_panics_and_what_was_read_is_written_and_read_alike(
            outcome in prop_oneof![Just("rejected"), Just("stale"), Just("fault"), Just("x")],
            values in proptest::collection::vec((0_usize..16, any_json()), 0..16),
        ) {
            let mut value = full();
            let keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
            for (at, new) in values {
                value.as_object_mut().unwrap().insert(keys[at].clone(), new);
            }
            value.as_object_mut().unwrap().insert("outcome".into(), outcome.into());
            if let Some(declaration) = Declaration::from_value(&value) {
                let written = declaration.to_value();
                prop_assert_eq!(Declaration::from_value(&written), Some(declaration));
            }
        }
    }
}
