use serde_json::{Value, json};

use super::super::tests::{read, refused};
use crate::{Policy, SoftErrors};

/// What the policy says of a result of this tool.
fn says(policy: &Policy, tool: &str, payload: &Value) -> Option<String> {
    policy.classifier_of(tool).classify(tool, payload)
}

/// Results that rules of all sorts are told apart by.
fn payloads() -> Vec<Value> {
    let mut payloads = vec![
        json!({"data": {"phase": "failed", "fine": false, "oops": "o", "why": "w"}}),
        json!({"phase": "CRASHED", "why": "w", "error": "e"}),
        json!({"ok": false, "why": "w", "message": "m"}),
        json!({"fine": true, "error": "e", "oops": "o"}),
        json!({"fine": false, "reason": "r"}),
        json!({"oops": "o"}),
        json!({"error": "e"}),
    ];
    for status in ["failed", "error", "Failure", "crashed", "Gone", "fine"] {
        payloads.push(json!({"status": status, "detail": "d"}));
        payloads.push(json!({"state": status}));
    }
    payloads
}

/// Whether both policies say the same of all results of this tool, and look at the same members.
fn is_same(one: &Policy, other: &Policy, tool: &str) -> bool {
    let members = |policy: &Policy| policy.classifier_of(tool).members().cloned();
    members(one) == members(other)
        && payloads().iter().all(|payload| says(one, tool, payload) == says(other, tool, payload))
}

/// Each key with what its method does.
fn each_key() -> Vec<(&'static str, SoftErrors)> {
    let rules = SoftErrors::new;
    vec![
        ("statuses = ['crashed', 'Gone']", rules().statuses(["crashed", "Gone"])),
        ("extra_statuses = ['crashed']", rules().extra_statuses(["crashed"])),
        ("status_keys = ['phase', 'data.phase']", rules().status_keys(["phase", "data.phase"])),
        ("flag_keys = ['fine', 'data.fine']", rules().flag_keys(["fine", "data.fine"])),
        ("error_keys = ['oops', 'data.oops']", rules().error_keys(["oops", "data.oops"])),
        ("message_keys = ['why', 'data.why']", rules().message_keys(["why", "data.why"])),
    ]
}

#[test]
fn each_key_does_what_the_method_of_its_name_does() {
    let keys: Vec<_> = each_key().iter().filter_map(|(line, _)| line.split(' ').next()).collect();
    assert_eq!(keys, super::KEYS);
    let default = Policy::new();
    for (line, rules) in each_key() {
        let all = Policy::new().soft_errors(rules.clone());
        assert!(!is_same(&all, &default, "any"), "{line} tells nothing apart");
        for text in [format!("[soft_errors]\n{line}"), format!("soft_errors = {{ {line} }}")] {
            assert!(is_same(&read(&text), &all, "any"), "{text}");
        }
        let text = format!("[tools.one.soft_errors]\n{line}");
        let one = Policy::new().soft_errors_of("one", rules);
        for tool in ["one", "other"] {
            assert!(is_same(&read(&text), &one, tool), "{text}: {tool}");
        }
    }
}

#[test]
fn extra_statuses_come_to_the_others_in_any_order() {
    let rules = SoftErrors::new().statuses(["gone"]).extra_statuses(["crashed"]);
    let both = Policy::new().soft_errors(rules);
    for text in [
        "[soft_errors]\nstatuses = ['gone']\nextra_statuses = ['crashed']",
        "[soft_errors]\nextra_statuses = ['crashed']\nstatuses = ['gone']",
        // What is one already, by default or here, is one.
        "[soft_errors]\nextra_statuses = ['crashed', 'GONE']\nstatuses = ['gone']",
    ] {
        assert!(is_same(&read(text), &both, "any"), "{text}");
    }
    assert!(is_same(&read("soft_errors.extra_statuses = ['Failed']"), &Policy::new(), "any"));
}

#[test]
fn an_empty_list_is_a_list() {
    for (line, payload) in [
        ("statuses = []", json!({"status": "failed"})),
        ("status_keys = []", json!({"status": "failed"})),
        ("flag_keys = []", json!({"ok": false})),
        ("error_keys = []", json!({"error": "e"})),
    ] {
        assert!(says(&Policy::new(), "any", &payload).is_some(), "{payload}");
        let policy = read(&format!("[soft_errors]\n{line}"));
        assert_eq!(says(&policy, "any", &payload), None, "{line}");
    }
    let silent = read("[soft_errors]\nmessage_keys = []");
    let payload = json!({"ok": false, "message": "m"});
    assert_eq!(says(&silent, "any", &payload).as_deref(), Some("ok=false"));
    assert!(is_same(&read("soft_errors.extra_statuses = []"), &Policy::new(), "any"));
}

#[test]
fn soft_errors_are_off_or_on_for_all_tools() {
    let failed = json!({"status": "failed"});
    let off = read("soft_errors = false");
    assert!(!off.classifier_of("any").is_on());
    assert_eq!(says(&off, "any", &failed), None);
    for text in ["soft_errors = true", "[soft_errors]"] {
        assert!(is_same(&read(text), &Policy::new(), "any"), "{text}");
        // It is said, so that no outer policy says otherwise.
        let within = read(text).within(&Policy::new().no_soft_errors());
        assert!(says(&within, "any", &failed).is_some(), "{text}");
    }
}

#[test]
fn a_tool_has_rules_of_its_own() {
    let failed = json!({"status": "failed"});
    for text in [
        "[tools.get_build]\nsoft_errors = false",
        "tools.get_build.soft_errors = false",
        "tools = { get_build = { soft_errors = false } }",
    ] {
        let policy = read(text);
        assert!(!policy.classifier_of("get_build").is_on(), "{text}");
        for other in ["start_build", "Get_Build", "get_build "] {
            assert!(says(&policy, other, &failed).is_some(), "{text}: {other}");
        }
    }
    let policy = read(
        "soft_errors = false\n\
         [tools.by_default]\nsoft_errors = true\n\
         [tools.\"jobs.run\".soft_errors]\nstatuses = ['crashed']\n\
         [tools.nothing]",
    );
    assert!(is_same(&policy, &Policy::new(), "by_default"));
    let own = Policy::new().soft_errors(SoftErrors::new().statuses(["crashed"]));
    assert!(is_same(&policy, &own, "jobs.run"));
    for other in ["nothing", "jobs", "any"] {
        assert!(!policy.classifier_of(other).is_on(), "{other}");
    }
}

#[test]
fn a_tools_rules_start_from_the_default_ones() {
    let policy = read(
        "[soft_errors]\nstatuses = ['gone']\n\
         [tools.own.soft_errors]\nextra_statuses = ['crashed']\n\
         [tools.by_default]\nsoft_errors = true",
    );
    let own = Policy::new().soft_errors(SoftErrors::new().extra_statuses(["crashed"]));
    assert!(is_same(&policy, &own, "own"));
    assert!(is_same(&policy, &Policy::new(), "by_default"));
    let all = Policy::new().soft_errors(SoftErrors::new().statuses(["gone"]));
    assert!(is_same(&policy, &all, "any"));
}

#[test]
fn a_value_that_does_not_fit_says_what_does() {
    const RULES: &str = "with lines such as extra_statuses = [\"crashed\", \"aborted\"]";
    const TOOLS: &str = "does not fit; write a table for each tool, such as [tools.get_build] \
                         with the line soft_errors = false";
    let all = |found| {
        format!("{found} does not fit; write true, false or the table [soft_errors], {RULES}")
    };
    let one = |found| {
        format!(
            "[tools.x] {found} does not fit; write true, false or the table \
             [tools.x.soft_errors], {RULES}"
        )
    };
    for (text, error) in [
        ("soft_errors = \"off\"", all("line 1: soft_errors = \"off\"")),
        ("soft_errors = [\n'crashed']", all("line 1: soft_errors = [")),
        ("\n[[soft_errors]]", all("line 2: [[soft_errors]]")),
        ("[tools.x]\nsoft_errors = 0", format!("line 2: {}", one("soft_errors = 0"))),
        ("[[tools.x.soft_errors]]", format!("line 1: {}", one("[[tools.x.soft_errors]]"))),
        ("tools = ['x']", format!("line 1: tools = ['x'] {TOOLS}")),
        ("[[tools]]\nname = 'x'", format!("line 1: [[tools]] {TOOLS}")),
        ("[tools]\nx = false", format!("line 2: [tools] x = false {TOOLS}")),
        ("[tools]\nsoft_errors = true", format!("line 2: [tools] soft_errors = true {TOOLS}")),
    ] {
        assert_eq!(refused(text), error);
    }
}

#[test]
fn a_list_that_does_not_fit_says_what_does() {
    let words = "write an array of words in quotes, such as [\"crashed\", \"aborted\"]";
    let keys = |key| {
        format!(
            "write an array of keys or dotted paths in quotes, such as [\"{key}\", \"data.{key}\"]"
        )
    };
    for (key, fix) in [
        ("statuses", words.to_owned()),
        ("extra_statuses", words.to_owned()),
        ("status_keys", keys("status")),
        ("flag_keys", keys("ok")),
        ("error_keys", keys("error")),
        ("message_keys", keys("message")),
    ] {
        for value in ["\"crashed\"", "true", "3"] {
            assert_eq!(
                refused(&format!("[soft_errors]\n{key} = {value}")),
                format!("line 2: [soft_errors] {key} = {value} does not fit; {fix}")
            );
        }
        assert_eq!(
            refused(&format!("[soft_errors.{key}]")),
            format!("line 1: [soft_errors] the table {key} does not fit; {fix}")
        );
        for item in ["3", "false", "\"\"", "' '", "\"\\t\"", "['a']", "{ a = 1 }", "1979-05-27"] {
            assert_eq!(
                refused(&format!("[soft_errors]\n{key} = [\n  'a',\n  {item},\n]")),
                format!("line 4: [soft_errors] {key} has {item}, which does not fit; {fix}")
            );
        }
    }
}

#[test]
fn between_two_dots_there_is_a_key() {
    for path in ["data..state", ".state", "state.", ".", "data. .state"] {
        for key in super::KEYS {
            let text = format!("[tools.x.soft_errors]\n{key} = ['{path}']");
            if key.ends_with("_keys") {
                let has = format!("line 2: [tools.x.soft_errors] {key} has '{path}', which does ");
                assert!(refused(&text).starts_with(&has), "{text}: {}", refused(&text));
            } else {
                read(&text);
            }
        }
    }
}

#[test]
fn what_is_there_twice_is_a_slip() {
    for (key, is_of_words) in super::KEYS.map(|key| (key, key.ends_with("statuses"))) {
        assert_eq!(
            refused(&format!("[soft_errors]\n{key} = [\"a\", 'b',\n 'a']")),
            format!(
                "line 3: [soft_errors] {key} has 'a', which is the same as \"a\" before it; \
                 remove one of them"
            )
        );
        // The case of a status counts for nothing, that of a key does.
        let text = format!("[soft_errors]\n{key} = ['état', 'ÉTAT']");
        if is_of_words {
            let same = "has 'ÉTAT', which is the same as 'état' before it";
            assert!(refused(&text).contains(same), "{text}: {}", refused(&text));
        } else {
            read(&text);
        }
    }
    // One key may be in two lists: "error" is, by default.
    read("[soft_errors]\nerror_keys = ['error']\nmessage_keys = ['error']");
    for (text, line) in [
        ("soft_errors = false\n[soft_errors]", "line 2: '[soft_errors]'"),
        ("[tools.x]\n[tools.\"x\"]", "line 2: '[tools.\"x\"]'"),
        ("[tools.x]\nsoft_errors = true\n[tools.x.soft_errors]", "line 3: '[tools.x.soft_errors]'"),
    ] {
        assert_eq!(refused(text), format!("{line} is not TOML: duplicate key"));
    }
}

#[test]
fn an_unknown_key_is_told_those_of_its_table() {
    const KNOWN: &str = "one of statuses, extra_statuses, status_keys, flag_keys, error_keys, \
                         message_keys";
    for (key, meant) in [
        ("status", "write statuses, or "),
        ("Extra_Statuses", "write extra_statuses, or "),
        ("flag_key", "write flag_keys, or "),
        ("levels", ""),
        ("soft_errors", ""),
    ] {
        for table in ["soft_errors", "tools.\"a b\".soft_errors"] {
            assert_eq!(
                refused(&format!("[{table}]\n{key} = ['a']")),
                format!("line 2: [{table}] the key '{key}' is not known; {meant}{KNOWN}")
            );
        }
    }
    for key in ["soft_error", "level", "zebra"] {
        assert_eq!(
            refused(&format!("[tools.x]\n{key} = false")),
            format!("line 2: [tools.x] the key '{key}' is not known; write soft_errors")
        );
    }
}

#[test]
fn a_key_of_another_table_is_told_where_it_belongs() {
    for (text, error) in [
        (
            "statuses = ['a']",
            "line 1: the key 'statuses' is not known here; write it in [soft_errors]",
        ),
        (
            "[tools.x]\nstatus_keys = ['a']",
            "line 2: [tools.x] the key 'status_keys' is not known here; write it in \
             [tools.x.soft_errors]",
        ),
        (
            "[tools.x]\nsoft_errors = false\ndeadline = 3",
            "line 3: [tools.x] the key 'deadline' is not known here; write it above the first \
             table",
        ),
        (
            "[soft_errors]\nundeclared = 'mask'",
            "line 2: [soft_errors] the key 'undeclared' is not known here; write it above the \
             first table",
        ),
    ] {
        assert_eq!(refused(text), error);
    }
}

#[test]
fn a_tool_has_a_name() {
    for key in ["\"\"", "' '", "\"\\t\""] {
        assert_eq!(
            refused(&format!("\n[tools.{key}]\nsoft_errors = false")),
            format!("line 2: [tools] {key} is no tool's name; write one, as [tools.NAME]")
        );
    }
}

#[test]
fn a_name_with_a_dot_takes_quotes() {
    let error = "line 1: [tools.jobs] the key 'run' is not known; write soft_errors, or \
                 [tools.\"jobs.run\"] where that is the tool's name";
    assert_eq!(refused("[tools.jobs.run]\nsoft_errors = false"), error);
    assert_eq!(refused("tools.jobs.run.soft_errors = false"), error);
    let quoted = read("[tools.\"jobs.run\"]\nsoft_errors = false");
    assert!(!quoted.classifier_of("jobs.run").is_on());
}
