use std::sync::Arc;

use serde_json::json;

use super::{
    super::{Config, Facts, Scanner, Seen, Shape},
    *,
};

/// What is found of `structured` in an answer that comes in pieces of `size` bytes.
fn scan(structured: &str, asked: &Arc<Members>, size: usize) -> Facts {
    let answer = format!(r#"{{"result":{{"structuredContent":{structured},"isError":false}}}}"#);
    let mut scanner = Scanner::new(Config::answers().members(Arc::clone(asked)));
    for mut piece in answer.as_bytes().chunks(size) {
        while !piece.is_empty() {
            let (read, seen) = scanner.push(piece);
            piece = &piece[read..];
            assert_eq!(seen == Seen::End, read > 0 && scanner.facts().end.is_some());
        }
    }
    let facts = scanner.take_facts();
    assert_eq!(facts.result.is_error, Some(false), "{structured}");
    facts
}

/// The members, and whether there were more.
fn found(structured: &str, paths: &[&str]) -> (Option<Value>, bool) {
    let asked = Arc::new(Members::new(paths.iter().copied()));
    let facts = scan(structured, &asked, usize::MAX);
    assert_eq!(facts.result, scan(structured, &asked, 1).result, "{structured}");
    (facts.result.members(&asked).map(Value::Object), facts.result.members_are_cut())
}

#[test]
fn of_an_object_there_is_what_is_asked_for() {
    for (paths, structured, expected) in [
        (vec!["ok"], r#"{"ok":true}"#, json!({"ok": true})),
        (
            vec!["ok"],
            r#"{"a":[{"ok":1}],"b":"ok\"","ok" : false , "c":{"ok":2}}"#,
            json!({"ok": false}),
        ),
        (vec!["ok"], "{}", json!({})),
        (vec!["ok"], r#"{"o\u006b":null}"#, json!({"ok": null})),
        (
            vec!["ok", "no"],
            r#"{"no":-1.5e2,"ok":12345678901234567890}"#,
            json!({"no": -150.0, "ok": 12345678901234567890_u64}),
        ),
        (vec!["a"], r#"{"a":"\u00e9\n\ud83d\ude00"}"#, json!({"a": "é\n😀"})),
        (vec!["a"], r#"{"a":{"b":1}}"#, json!({"a": {}})),
        (vec!["a"], r#"{"a":[1,{"a":2}]}"#, json!({"a": []})),
        (vec!["a.b"], r#"{"a":{"c":{"b":0},"b":1},"b":2}"#, json!({"a": {"b": 1}})),
        (vec!["a.b"], r#"{"a":{"c":1}}"#, json!({})),
        (vec!["a.b"], r#"{"a":[{"b":1}]}"#, json!({})),
        (vec!["a.b"], r#"{"a":"b"}"#, json!({})),
        (vec!["a", "a.b"], r#"{"a":{"c":1}}"#, json!({"a": {}})),
        (vec!["a.b", "a"], r#"{"a":"text"}"#, json!({"a": "text"})),
        (
            vec!["a.b", "c.b"],
            r#"{"c":{"b":1},"a":{"b":{"b":2}}}"#,
            json!({"a": {"b": {}}, "c": {"b": 1}}),
        ),
        (vec![""], r#"{"":1," ":2}"#, json!({"": 1})),
        (vec!["a..b"], r#"{"a":{"":{"b":1}}}"#, json!({"a": {"": {"b": 1}}})),
        (vec!["a b", "ü"], r#"{"a b":1,"\u00fc":2}"#, json!({"a b": 1, "ü": 2})),
    ] {
        assert_eq!(found(structured, &paths), (Some(expected), false), "{structured} {paths:?}");
    }
}

#[test]
fn of_a_key_that_is_there_twice_the_last_counts() {
    let paths = ["a", "a.b", "a.c", "d.e"];
    for (structured, expected) in [
        (r#"{"a":1,"a":"x"}"#, json!({"a": "x"})),
        (r#"{"a":{"b":1},"a":{"c":2}}"#, json!({"a": {"c": 2}})),
        (r#"{"a":{"b":1},"a":[]}"#, json!({"a": []})),
        (r#"{"a":{"b":1,"b":{}}}"#, json!({"a": {"b": {}}})),
        (r#"{"d":{"e":1},"d":2}"#, json!({})),
        (r#"{"d":{"e":1},"d":{}}"#, json!({})),
        (r#"{"d":{"e":1},"d":{"e":2},"\u0064":{"e":3}}"#, json!({"d": {"e": 3}})),
        (r#"{"a":1},"structuredContent":{"d":{"e":1}}"#, json!({"d": {"e": 1}})),
    ] {
        assert_eq!(found(structured, &paths), (Some(expected), false), "{structured}");
    }
    assert_eq!(found(r#"{"a":1},"structuredContent":[1]"#, &paths), (None, false));
}

#[test]
fn what_is_no_object_has_no_members() {
    let asked = Arc::new(Members::new(["a"]));
    for (structured, shape) in [
        ("[{\"a\":1}]", Shape::Array),
        ("\"a\"", Shape::String),
        ("7", Shape::Number),
        ("true", Shape::Bool),
        ("null", Shape::Null),
        ("0,\"structuredContents\":{\"a\":1}", Shape::Number),
    ] {
        let result = scan(structured, &asked, 3).result;
        assert_eq!((result.members(&asked), result.structured_shape), (None, shape));
    }
}

#[test]
fn what_is_long_is_cut_where_a_character_ends() {
    for (character, in_json) in [("x", 1), ("é", 2), ("\\u00e9", 6), ("😀", 4), ("\\n", 2)] {
        let structured = format!(r#"{{"message":"a{}","ok":false}}"#, character.repeat(4096));
        let (found, is_cut) = found(&structured, &["message", "ok"]);
        let found = found.unwrap();
        let text = found["message"].as_str().unwrap();
        assert_eq!(text.chars().count(), 1 + 4095 / in_json, "{character}");
        assert!(!text.contains('\u{fffd}') && found["ok"] == false && !is_cut);
    }
    let all = "x".repeat(4096);
    let (found, _) = found(&format!(r#"{{"a":"{all}"}}"#), &["a"]);
    assert_eq!(found.unwrap()["a"], all);
}

#[test]
fn a_number_that_nothing_holds_is_not_there() {
    for (number, is_there) in [
        ("1".repeat(64), true),
        ("1".repeat(65), false),
        ("1e308".to_owned(), true),
        ("1e309".to_owned(), false),
    ] {
        let (found, is_cut) = found(&format!(r#"{{"a":0,"a":{number},"b":7}}"#), &["a", "b"]);
        let found = found.unwrap();
        assert_eq!((found.get("a").is_some(), is_cut), (is_there, !is_there), "{number}");
        assert_eq!(found["b"], 7);
    }
    // One that is none at all ends the reading, in whatever pieces it comes.
    for text in [
        r#"{"result":{"structuredContent":{"a":1.,"b":2}}}"#,
        r#"{"result":{"structuredContent":{"x":tru,"b":2}}}"#,
        r#"{"result":{"structuredContent":{"x":trux,"b":2}}}"#,
        r#"{"result":{"structuredContent":{"x":0,"y":nuls,"b":2}}}"#,
    ] {
        for size in [1, 7, 100] {
            let asked = Arc::new(Members::new(["a", "b"]));
            let mut scanner = Scanner::new(Config::answers().members(Arc::clone(&asked)));
            for piece in text.as_bytes().chunks(size) {
                let (read, _) = scanner.push(piece);
                scanner.push(&piece[read..]);
            }
            assert_eq!(scanner.facts().result.members(&asked), Some(Map::new()), "{text}");
            assert_eq!(scanner.progress(), super::super::Progress::Malformed, "{text}");
        }
    }
}

#[test]
fn past_the_bound_what_is_short_is_kept_yet() {
    let long = "x".repeat(4000);
    let keys = ["a", "b", "c", "d"];
    let members = keys.map(|key| format!(r#""{key}":"{long}""#)).join(",");
    let structured = format!(r#"{{{members},"status":"failed","e":{{"f":"{long}","ok":false}}}}"#);
    let (found, is_cut) = found(&structured, &[&keys[..], &["status", "e.f", "e.ok"]].concat());
    let found = found.unwrap();
    assert!(is_cut);
    assert_eq!(found["c"], long);
    assert!(found.get("d").is_none() && found["e"].get("f").is_none());
    assert_eq!((&found["status"], &found["e"]["ok"]), (&json!("failed"), &json!(false)));
}

#[test]
fn they_are_found_wherever_they_stand() {
    let row = r#"{"ok":1,"text":"some \"text\"","status":["}"]},"#.repeat(100_000);
    let rows = format!("[{}0]", row);
    let keys: String = (0..50_000).map(|key| format!(r#""k{key}":{key},"s{key}":"ok","#)).collect();
    for structured in [
        format!(r#"{{"ok":false,"rows":{rows}}}"#),
        format!(r#"{{"rows":{rows},"ok":false}}"#),
        format!(r#"{{{keys}"ok":false,"rows":{rows}}}"#),
        format!(r#"{{"rows":{rows},{keys}"ok":false}}"#),
    ] {
        let asked = Arc::new(Members::new(["ok", "status"]));
        for size in [1000, 16 << 10, usize::MAX] {
            let members = scan(&structured, &asked, size).result.members(&asked).unwrap();
            assert_eq!(Value::Object(members), json!({"ok": false}));
        }
    }
}

#[test]
fn a_key_that_is_no_text_is_none_that_is_asked_for() {
    let asked = Arc::new(Members::new(["\u{fffd}", "ok"]));
    let answer = b"{\"result\":{\"structuredContent\":{\"\xff\":1,\"ok\":2}}}";
    for size in [1, usize::MAX] {
        let mut scanner = Scanner::new(Config::answers().members(Arc::clone(&asked)));
        for piece in answer.chunks(size) {
            let (read, _) = scanner.push(piece);
            scanner.push(&piece[read..]);
        }
        let members = scanner.facts().result.members(&asked).map(Value::Object);
        assert_eq!(members, Some(json!({"ok": 2})), "{size}");
    }
}

#[test]
fn what_can_be_asked_for_is_bounded() {
    let ignored = |paths: &[&str]| Members::new(paths.iter().copied()).ignored().to_vec();
    assert_eq!(ignored(&["a.b.c.d.e.f.g.h", "a.b.c.d.e.f.g.h.i", "a"]), ["a.b.c.d.e.f.g.h.i"]);
    let (longest, longer) = ("k".repeat(128), "k".repeat(129));
    assert_eq!(ignored(&[&longest, &longer]), [longer]);
    let escaped = format!(r#"{{"{}":1}}"#, "\\u006b".repeat(128));
    assert_eq!(found(&escaped, &[&longest]), (Some(json!({ longest.clone(): 1 })), false));

    let paths: Vec<String> = (0..64).map(|at| format!("k{at}.x")).collect();
    let mut paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    paths.extend(["k7.x", "k9", "more", "k5.y"]);
    assert_eq!(ignored(&paths), ["more", "k5.y"]);
    let (found, _) = found(r#"{"k63":{"x":1},"k9":2,"more":3,"k5":{"y":4}}"#, &paths);
    assert_eq!(found, Some(json!({"k63": {"x": 1}, "k9": 2})));

    assert!(
        Members::new([]).is_empty() && Config::answers().members(Arc::default()).members.is_none()
    );
}
