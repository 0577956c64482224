use serde_json::Value;

use super::ResultClassifier;

/// Finds failures by the keys and values that say so.
///
/// By default, in this order, at the top level of the payload:
///
/// 1. `status` or `state` is `error`, `failed` or `failure`, in any case: a failure;
/// 2. `ok` or `success` is exactly `false`: a failure;
/// 3. `ok` or `success` is exactly `true`: none, whatever else is there;
/// 4. `error` is a text that is not blank: a failure.
///
/// The text for the log is the first of `error`, `message`, `detail` and `reason`, or that one's
/// own, one level down, if it is an object.
///
/// Each list can be replaced; keys may be dotted paths, `data.state`. Keys match exactly, statuses
/// in any case.
///
/// ```
/// use serde_json::json;
/// use tower_outcome::{ResultClassifier as _, SoftErrors};
///
/// let by_default = SoftErrors::new();
/// let text = |payload| by_default.classify("copy", &payload);
/// assert_eq!(text(json!({"status": "failed", "error": "disk full"})).as_deref(), Some("disk full"));
/// assert_eq!(text(json!({"ok": false})).as_deref(), Some("ok=false"));
/// assert_eq!(text(json!({"ok": true, "error": "deprecated argument"})), None);
/// assert_eq!(text(json!({"error": 0.02})), None);
///
/// let own = SoftErrors::new().status_keys(["phase"]).statuses(["crashed", "aborted"]);
/// assert!(own.classify("copy", &json!({"phase": "Crashed"})).is_some());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SoftErrors {
    status_keys: Vec<String>,
    statuses: Vec<String>,
    flag_keys: Vec<String>,
    error_keys: Vec<String>,
    message_keys: Vec<String>,
}

impl Default for SoftErrors {
    fn default() -> Self {
        let all = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self {
            status_keys: all(&["status", "state"]),
            statuses: all(&["error", "failed", "failure"]),
            flag_keys: all(&["ok", "success"]),
            error_keys: all(&["error"]),
            message_keys: all(&["error", "message", "detail", "reason"]),
        }
    }
}

/// Texts of a caller's own.
fn owned<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Vec<String> {
    texts.into_iter().map(Into::into).collect()
}

impl SoftErrors {
    /// The default rules.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The words by which a status says that it failed, in place of the default ones.
    #[must_use]
    pub fn statuses<T: Into<String>>(mut self, statuses: impl IntoIterator<Item = T>) -> Self {
        self.statuses = owned(statuses);
        self
    }

    /// More words by which a status says that it failed.
    #[must_use]
    pub fn extra_statuses<T: Into<String>>(mut self, more: impl IntoIterator<Item = T>) -> Self {
        self.statuses.extend(owned(more));
        self
    }

    /// The keys of a status; none, and no status is looked at.
    #[must_use]
    pub fn status_keys<T: Into<String>>(mut self, keys: impl IntoIterator<Item = T>) -> Self {
        self.status_keys = owned(keys);
        self
    }

    /// The keys of a flag that is `true` of a success and `false` of a failure.
    #[must_use]
    pub fn flag_keys<T: Into<String>>(mut self, keys: impl IntoIterator<Item = T>) -> Self {
        self.flag_keys = owned(keys);
        self
    }

    /// The keys under which a text that is not blank is a failure by itself.
    #[must_use]
    pub fn error_keys<T: Into<String>>(mut self, keys: impl IntoIterator<Item = T>) -> Self {
        self.error_keys = owned(keys);
        self
    }

    /// The keys of what a failure says of itself, the first that says something first.
    #[must_use]
    pub fn message_keys<T: Into<String>>(mut self, keys: impl IntoIterator<Item = T>) -> Self {
        self.message_keys = owned(keys);
        self
    }

    /// What says that it failed, if anything does.
    fn failure(&self, payload: &Value) -> Option<String> {
        let found = |keys: &'_ [String]| -> Vec<(String, Value)> {
            keys.iter().filter_map(|key| Some((key.clone(), at(payload, key)?.clone()))).collect()
        };
        for (key, status) in found(&self.status_keys) {
            if let Some(status) = status.as_str()
                && self.statuses.iter().any(|known| is_same_word(known, status))
            {
                return Some(format!("{key}={status}"));
            }
        }
        let flags = found(&self.flag_keys);
        if let Some((key, _)) = flags.iter().find(|(_, flag)| *flag == Value::Bool(false)) {
            return Some(format!("{key}=false"));
        }
        if flags.iter().any(|(_, flag)| *flag == Value::Bool(true)) {
            return None;
        }
        let errors = found(&self.error_keys);
        errors.iter().find_map(|(_, error)| said(error)).map(str::to_owned)
    }

    /// What a failure says of itself.
    fn message(&self, payload: &Value) -> Option<String> {
        self.message_keys.iter().find_map(|key| {
            let value = at(payload, key)?;
            let inner = || self.message_keys.iter().find_map(|key| said(at(value, key)?));
            said(value).or_else(inner).map(str::to_owned)
        })
    }
}

impl ResultClassifier for SoftErrors {
    fn classify(&self, _: &str, payload: &Value) -> Option<String> {
        let sign = self.failure(payload)?;
        Some(self.message(payload).unwrap_or(sign))
    }

    fn members(&self) -> Option<Vec<String>> {
        let keys = [&self.status_keys, &self.flag_keys, &self.error_keys, &self.message_keys];
        let mut members: Vec<String> = keys.into_iter().flatten().cloned().collect();
        for outer in &self.message_keys {
            members.extend(self.message_keys.iter().map(|inner| format!("{outer}.{inner}")));
        }
        Some(members)
    }
}

/// The value at a dotted path.
fn at<'a>(payload: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(payload, |value, key| value.as_object()?.get(key))
}

/// A text that says something.
fn said(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.trim().is_empty())
}

fn is_same_word(known: &str, status: &str) -> bool {
    known.eq_ignore_ascii_case(status) || known.to_lowercase() == status.to_lowercase()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_default_rules_have_an_order() {
        let rules = SoftErrors::new();
        for (payload, expected) in [
            (json!({"status": "failed"}), Some("status=failed")),
            (json!({"status": "FAILED", "error": "disk full"}), Some("disk full")),
            (json!({"state": "Failure"}), Some("state=Failure")),
            (json!({"ok": true, "status": "error"}), Some("status=error")),
            (json!({"success": false}), Some("success=false")),
            (json!({"ok": true, "success": false}), Some("success=false")),
            (json!({"ok": true, "error": "x"}), None),
            (json!({"error": "x"}), Some("x")),
            (json!({"error": "x", "message": "y"}), Some("x")),
            (json!({"ok": false, "message": "y"}), Some("y")),
            (json!({"ok": false, "error": {"code": "E", "message": "y"}}), Some("y")),
            (json!({"ok": false, "error": {"error": {"message": "deep"}}}), Some("ok=false")),
            (json!({"ok": false, "error": {}, "detail": "z"}), Some("z")),
            (json!({"ok": false, "error": " ", "reason": "r"}), Some("r")),
            // None of these says that it failed.
            (json!({}), None),
            (json!({"ok": 0}), None),
            (json!({"ok": null}), None),
            (json!({"ok": "false"}), None),
            (json!({"success": 1, "error": ""}), None),
            (json!({"error": null}), None),
            (json!({"error": "  "}), None),
            (json!({"error": 0.02}), None),
            (json!({"error": {"message": "y"}}), None),
            (json!({"error": ["y"]}), None),
            (json!({"failed": 0}), None),
            (json!({"failed": true}), None),
            (json!({"Status": "failed"}), None),
            (json!({"status": ["failed"]}), None),
            (json!({"status": "failed over"}), None),
            (json!({"result": {"status": "failed"}}), None),
            (json!(["failed"]), None),
            (json!("failed"), None),
        ] {
            assert_eq!(rules.classify("t", &payload).as_deref(), expected, "{payload}");
        }
    }

    #[test]
    fn each_list_can_be_replaced() {
        let none: [&str; 0] = [];
        let failed = json!({"status": "failed"});
        assert_eq!(SoftErrors::new().status_keys(none).classify("t", &failed), None);
        assert_eq!(SoftErrors::new().statuses(["gone"]).classify("t", &failed), None);
        assert!(SoftErrors::new().extra_statuses(["gone"]).classify("t", &failed).is_some());
        let gone = json!({"status": "GONE"});
        assert!(SoftErrors::new().extra_statuses(["gone"]).classify("t", &gone).is_some());
        let error = json!({"error": "x"});
        assert_eq!(SoftErrors::new().error_keys(none).classify("t", &error), None);
        let flag = json!({"worked": false, "why": "y"});
        let own = SoftErrors::new().flag_keys(["worked"]).message_keys(["why"]);
        assert_eq!(own.classify("t", &flag).as_deref(), Some("y"));
        let deep = json!({"data": {"job": {"state": "failed"}}, "data.job.state": "ok"});
        let own = SoftErrors::new().status_keys(["data.job.state"]);
        assert_eq!(own.classify("t", &deep).as_deref(), Some("data.job.state=failed"));
        assert!(own.members().unwrap_or_default().contains(&"data.job.state".to_owned()));
    }
}
