use std::time::Duration;

use super::*;
use crate::{
    classify::SoftErrors,
    outcome::{Code, Level},
    policy::Undeclared,
};

pub(super) fn read(text: &str) -> Policy {
    Policy::from_toml(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(super) fn refused(text: &str) -> String {
    match Policy::from_toml(text) {
        Ok(policy) => panic!("{text}: {policy:?}"),
        Err(error) => error.to_string(),
    }
}

/// As far as a policy without recognisers goes.
fn same(one: &Policy, other: &Policy) -> bool {
    format!("{one:?}") == format!("{other:?}")
}

#[test]
fn every_key_does_what_the_builder_does() {
    let text = r#"
        undeclared = "mask"
        undeclared_level = "warn"
        trust_declared_levels = false
        deadline = "30s"

        [levels]
        unknown_note = "debug"
        "Bad Mode!" = "trace"

        [soft_errors]
        statuses = ["gone"]

        [tools.get_build]
        soft_errors = false
    "#;
    let built = Policy::new()
        .undeclared(Undeclared::Mask)
        .undeclared_level(Level::Warn)
        .trust_declared_levels(false)
        .deadline(Duration::from_secs(30))
        .level("unknown_note", Level::Debug)
        .level("bad_mode", Level::Trace)
        .soft_errors(SoftErrors::new().statuses(["gone"]))
        .no_soft_errors_of("get_build");
    assert!(same(&read(text), &built), "{:?}", read(text));
    for key in KEYS {
        assert!(text.contains(key), "{key}");
    }
}

#[test]
fn what_is_left_out_is_as_by_default() {
    for text in [
        "",
        "# nothing\r\n",
        "[levels]",
        "[tools]",
        "[tools.get_build]",
        "undeclared = 'pass'\ntrust_declared_levels = true",
    ] {
        assert!(same(&read(text), &Policy::new()), "{text}");
    }
    assert!(same(&read("levels.a = 'info'"), &read("[levels]\na = \"info\"\n")));
}

#[test]
fn every_level_has_a_name() {
    for level in value::LEVELS {
        let policy = read(&format!("undeclared_level = '{level}'"));
        assert_eq!(policy.level_of_undeclared(&Code::UNDECLARED_ERROR), level);
    }
}

#[test]
fn a_deadline_has_a_unit_or_is_in_seconds() {
    for (value, milliseconds) in [
        ("'500ms'", 500),
        ("'30s'", 30_000),
        ("'30 s'", 30_000),
        ("'1.5s'", 1_500),
        ("'2m'", 120_000),
        ("2", 2_000),
        ("1_000", 1_000_000),
        ("0.25", 250),
    ] {
        let policy = read(&format!("deadline = {value}"));
        assert_eq!(policy.deadline_after(), Some(Duration::from_millis(milliseconds)), "{value}");
    }
    for value in [
        "'30'", "'30h'", "''", "'s'", "'-1s'", "'1.2.3s'", "'0s'", "0", "-1", "nan", "inf", "1e99",
        "true", "[1]",
    ] {
        assert_eq!(
            refused(&format!("# when\ndeadline = {value}")),
            format!(
                "line 2: deadline = {value} does not fit; write \"500ms\", \"30s\", \
                 \"2m\" or a number of seconds, more than none"
            )
        );
    }
}

#[test]
fn an_error_says_where_what_and_what_instead() {
    for (text, error) in [
        (
            "\n\nundeclared = \"maks\"",
            "line 3: undeclared = \"maks\" does not fit; write \"pass\" or \"mask\"",
        ),
        (
            "[undeclared]\nmask = true",
            "line 1: the table undeclared does not fit; write \"pass\" or \"mask\"",
        ),
        (
            "undeclared_level = \"WARN\"",
            "line 1: undeclared_level = \"WARN\" does not fit; write one of \
             \"trace\", \"debug\", \"info\", \"warn\", \"error\"",
        ),
        (
            "trust_declared_levels = \"no\"",
            "line 1: trust_declared_levels = \"no\" does not fit; write true or false",
        ),
        (
            "levels = \"debug\"",
            "line 1: levels = \"debug\" does not fit; write the table [levels], with lines such \
             as unknown_note = \"debug\"",
        ),
        (
            "[levels]\r\nok = \"info\"\r\nunknown_note = 3",
            "line 3: [levels] unknown_note = 3 does not fit; write one of \
             \"trace\", \"debug\", \"info\", \"warn\", \"error\"",
        ),
        (
            "[levels]\n\"!!\" = \"debug\"",
            "line 2: [levels] \"!!\" cannot be a code; write snake_case, such as unknown_note = \
             \"debug\"",
        ),
        (
            "[levels]\nbad_mode = \"info\"\n\"Bad Mode\" = \"debug\"",
            "line 3: [levels] \"Bad Mode\" is the code bad_mode, as bad_mode is already; remove \
             one of them",
        ),
        (
            "[[levels]]\na = \"info\"",
            "line 1: [[levels]] does not fit; write the table [levels], with lines such as \
             unknown_note = \"debug\"",
        ),
    ] {
        assert_eq!(refused(text), error);
    }
}

/// What is added at the end of a file stands in its last table.
#[test]
fn a_key_behind_the_header_of_a_table_is_told_where_it_belongs() {
    for line in ["undeclared = 'mask'", "deadline = 30", "soft_errors = false"] {
        let (key, _) = line.split_once(' ').unwrap();
        assert_eq!(
            refused(&format!("[levels]\na = 'info'\n{line}")),
            format!(
                "line 3: [levels] the key '{key}' is not known here; write it above the first table"
            )
        );
    }
    // Such a code there may be.
    let policy = read("[levels]\ndeadline = 'warn'");
    assert_eq!(policy.level_of_undeclared(&Code::from_static("deadline")), Level::Warn);
}

#[test]
fn an_unknown_key_is_told_the_known_ones_and_the_nearest() {
    const KNOWN: &str = "one of undeclared, undeclared_level, trust_declared_levels, deadline, \
                         levels, soft_errors, tools";
    for (text, problem) in [
        ("undeclard = 1", "the key 'undeclard' is not known; write undeclared, or "),
        ("Deadline = 1", "the key 'Deadline' is not known; write deadline, or "),
        ("level.a = 'info'", "the key 'level' is not known; write levels, or "),
        ("[tool.search]", "the key 'tool' is not known; write tools, or "),
        ("soft_error = false", "the key 'soft_error' is not known; write soft_errors, or "),
        ("SOFT_ERRORS = false", "the key 'SOFT_ERRORS' is not known; write soft_errors, or "),
        ("[search]", "the key 'search' is not known; "),
        ("\"\\u0007x\" = 1", "the key '\\u{7}x' is not known; "),
    ] {
        assert_eq!(refused(text), format!("line 1: {problem}{KNOWN}"));
    }
}

#[test]
fn the_first_mistake_is_told_and_its_line() {
    let error = Policy::from_toml("zebra = 1\nalpha = 2").unwrap_err();
    assert!(error.to_string().contains("'zebra'"), "{error}");
    assert_eq!(error.line(), 1);
}

#[test]
fn what_is_no_toml_is_quoted() {
    for (text, line, part) in [
        ("undeclared = mask", 1, "'undeclared = mask' is not TOML: "),
        ("deadline = 1\ndeadline = 2", 2, "'deadline = 2' is not TOML: duplicate key"),
        ("\n\n[levels\n", 3, "'[levels' is not TOML: "),
        ("undeclared = \"pass", 1, "is not TOML: "),
    ] {
        let error = Policy::from_toml(text).unwrap_err();
        assert_eq!(error.line(), line, "{error}");
        assert!(error.to_string().starts_with(&format!("line {line}: ")), "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
}

/// All that a file can have, mistakes among it.
const EVERYTHING: &str = "undeclared = 'mask'\r\ndeadline = 1.5\n[levels]\n\"Bad é\" = \"info\"\n\
    [soft_errors]\nstatuses = ['x',\n \"\"\"\ny\"\"\"]\nstatus_keys = [\"a.b\", 'é']\n\
    [tools.\"ä.b\"]\nsoft_errors = true\n[tools.c.soft_errors]\nflag_keys = []\n\
    extra_statuses = ['A', 'a']\n[[tools.d.soft_errors]]\n[tools.e]\nf = {g = [{}]}\n";

#[test]
fn no_text_makes_it_panic_and_an_error_is_about_a_line_of_it() {
    let read = |text: &str| {
        if let Err(error) = Policy::from_toml(text) {
            let lines = text.matches('\n').count() + 1;
            assert!((1..=lines).contains(&error.line()), "{text}: {error}");
            assert!(!error.to_string().contains(['\n', '\r']), "{text}: {error}");
        }
    };
    let pieces = ["", "\"", "'", "[", "]", "=", ".", ",", "\n", "é", "\0", "1", "{", "[[x]]\n"];
    for (at, c) in EVERYTHING.char_indices() {
        let (before, after) = EVERYTHING.split_at(at);
        read(before);
        read(after);
        for piece in pieces {
            read(&format!("{before}{piece}{after}"));
            read(&format!("{before}{piece}{}", &after[c.len_utf8()..]));
        }
    }
}
