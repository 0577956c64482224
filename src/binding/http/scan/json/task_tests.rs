//! What a task ended in, in each of the messages that tell it.

use serde_json::{Value, json};

use super::{
    super::facts::{Blocks, Code, Inner, Shape},
    *,
};

fn scan(text: &str, config: &Config) -> Facts {
    let [whole, cut] = [usize::MAX, 1].map(|size| {
        let mut scanner = Scanner::new(config.clone());
        for mut piece in text.as_bytes().chunks(size) {
            while !piece.is_empty() {
                let (read, _) = scanner.push(piece);
                piece = &piece[read..];
            }
        }
        assert_eq!(scanner.progress(), Progress::Complete, "{text}");
        scanner.take_facts()
    });
    assert_eq!(whole, cut, "{text}");
    whole
}

const ENDED: &str = r#""result":{"isError":true,"content":[{"type":"text","text":"no"}],
    "_meta":{"tower-outcome/failure":{"outcome":"stale"}},"resultType":"complete","structuredContent":{"ok":false}}"#;

fn check(inner: &Inner) {
    let result = &inner.result;
    assert_eq!(
        (result.shape, result.is_error, result.blocks),
        (Shape::Object, Some(true), Blocks::One)
    );
    assert_eq!(result.lone_text().and_then(Text::get).as_deref(), Some("no"));
    assert_eq!(result.record.get().as_deref(), Some(r#"{"outcome":"stale"}"#));
    assert!(result.result_type.is("complete") && result.structured_shape == Shape::Object);
}

#[test]
fn the_answer_to_a_question_for_a_task_has_its_result() {
    let answer = format!(
        r#"{{"id":1,"result":{{"taskId":"t","content":[{{"type":"text","text":"outer"}},7],{ENDED},"isError":false,"status":"completed","ttlMs":60000}}}}"#
    );
    let facts = scan(&answer, &Config::answers());
    assert!(facts.result.flat_task.id.is("t") && facts.result.flat_task.status.is("completed"));
    assert_eq!(facts.result.flat_task.ttl, Some(60_000));
    check(facts.inner.as_deref().unwrap());
    // They are not mixed up.
    assert_eq!((facts.result.is_error, facts.result.blocks), (Some(false), Blocks::Many));
    assert!(facts.result.text.is("outer") && facts.result.record.is_absent());
    assert_eq!(facts.envelope(), Envelope::Result);
}

#[test]
fn an_error_of_a_task_is_none_of_the_message() {
    let error = r#""error":{"message":"broke","data":{"tower-outcome/failure":1},"code":-32603}"#;
    let answer = format!(r#"{{"result":{{{error},"status":"failed","taskId":"t"}},"id":1}}"#);
    let facts = scan(&answer, &Config::answers());
    let notification = format!(
        r#"{{"params":{{{error},"status":"failed","taskId":"t"}},"method":"notifications/tasks"}}"#
    );
    let notified = scan(&notification, &Config::answers());
    let params = notified.params.as_deref().unwrap();
    assert!(params.task_id.is("t") && params.status.is("failed"));
    assert_eq!((facts.envelope(), notified.envelope()), (Envelope::Result, Envelope::NotAnAnswer));
    for (outer, inner) in [(&facts.error, &facts.inner), (&notified.error, &params.inner)] {
        let inner = &inner.as_ref().unwrap().error;
        assert_eq!((inner.shape, inner.code), (Shape::Object, Code::Number(-32603)));
        assert!(inner.message.is("broke") && inner.record.get().as_deref() == Some("1"));
        assert_eq!((outer.shape, outer.code), (Shape::Absent, Code::Absent));
    }
}

#[test]
fn a_notification_of_a_task_has_its_result_whichever_comes_first() {
    let (method, params) = (
        r#""method":"notifications/tasks""#.to_owned(),
        format!(r#""params":{{"status":"completed",{ENDED},"taskId":"t"}}"#),
    );
    for [first, second] in [[&method, &params], [&params, &method]] {
        let facts = scan(&format!("{{{first},{second}}}"), &Config::answers());
        let params = facts.params.as_deref().unwrap();
        assert!(params.task_id.is("t") && params.status.is("completed"));
        check(params.inner.as_deref().unwrap());
        assert_eq!((&facts.inner, facts.result.shape), (&None, Shape::Absent));
    }
    let facts = scan(
        r#"{"method":"notifications/tasks/status","params":{"taskId":"t","status":"failed","statusMessage":"x"}}"#,
        &Config::answers(),
    );
    let params = facts.params.unwrap();
    assert!(params.task_id.is("t") && params.status.is("failed") && params.inner.is_none());
}

#[test]
fn of_what_is_there_twice_the_last_counts_in_tasks_too() {
    for (result, is_error, blocks) in [
        (r#""result":{"isError":true},"result":{"content":[1]}"#, None, Blocks::One),
        (r#""result":{"isError":true,"isError":false}"#, Some(false), Blocks::None),
        (r#""result":{"content":[1,2]},"result":{"isError":true}"#, Some(true), Blocks::None),
        (r#""result":{"isError":true},"result":null"#, None, Blocks::None),
        (r#""result":{"isError":true},"error":{"isError":false}"#, Some(true), Blocks::None),
    ] {
        let facts = scan(&format!(r#"{{"result":{{{result}}}}}"#), &Config::answers());
        let inner = facts.inner.unwrap().result;
        assert_eq!((inner.is_error, inner.blocks), (is_error, blocks), "{result}");
    }
    for message in [
        format!(r#"{{"result":{{{ENDED}}},"result":{{"taskId":"t"}}}}"#),
        format!(r#"{{"params":{{{ENDED}}},"params":{{"taskId":"t"}}}}"#),
        format!(
            r#"[{{"params":{{{ENDED}}},"result":{{{ENDED}}}}},{{"params":{{}},"result":{{}}}}]"#
        ),
    ] {
        let facts = scan(&message, &Config::answers());
        assert!(facts.inner.is_none() && facts.params.is_none_or(|params| params.inner.is_none()));
    }
}

#[test]
fn what_a_task_ended_in_is_no_task_again() {
    let facts = scan(
        r#"{"result":{"result":{"result":{"isError":true},"error":{"code":1},"taskId":"t","isError":false}}}"#,
        &Config::answers(),
    );
    let inner = facts.inner.unwrap();
    assert!(inner.result.flat_task.id.is("t") && inner.error.shape == Shape::Absent);
    assert_eq!(inner.result.is_error, Some(false));
    assert_eq!((facts.result.is_error, facts.result.flat_task.id.is_absent()), (None, true));
}

#[test]
fn a_text_of_a_message_is_none_of_its_task() {
    // Each first block has what the last one of the other list left behind.
    let facts = scan(
        r#"{"result":{"content":[{"type":"text","text":"outer"}],"result":{"content":[{"text":"inner"}]},
        "content":[{"text":"again"}]}}"#,
        &Config::answers(),
    );
    assert!(facts.result.text.is_absent() && facts.inner.unwrap().result.text.is_absent());
    let facts = scan(
        r#"{"result":{"result":{"content":[{"type":"text","text":"inner"}]},"content":[{"type":"text","text":"outer"}]}}"#,
        &Config::answers(),
    );
    assert!(facts.result.text.is("outer") && facts.inner.unwrap().result.text.is("inner"));
}

#[test]
fn a_ttl_is_a_whole_number() {
    for (json, ttl) in [
        ("60000", Some(60_000)),
        ("0", Some(0)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("null", None),
        ("-1", None),
        ("1.5", None),
        ("\"60000\"", None),
        ("1,\"ttl\":2,\"ttlMs\":3", Some(2)),
        ("1,\"ttl\":{}", None),
    ] {
        let facts = scan(
            &format!(r#"{{"result":{{"task":{{"taskId":"t","status":"working","ttl":{json}}}}}}}"#),
            &Config::answers(),
        );
        assert_eq!((facts.result.task.ttl, facts.result.flat_task.ttl), (ttl, None), "{json}");
        let json = json.replace("\"ttl\"", "\"ttlMs\"").replace(",\"ttlMs\":3", ",\"ttl\":3");
        let facts = scan(&format!(r#"{{"result":{{"ttlMs":{json}}}}}"#), &Config::answers());
        let expected = if json.contains("3") && json.starts_with("1,") { Some(2) } else { ttl };
        assert_eq!(facts.result.flat_task.ttl, expected, "{json}");
    }
}

#[test]
fn requests_tell_of_no_result() {
    let message =
        format!(r#"{{"method":"tasks/get","params":{{{ENDED},"taskId":"t","status":"x"}}}}"#);
    let params = scan(&message, &Config::requests()).params.unwrap();
    assert!(params.task_id.is("t") && params.status.is_absent() && params.inner.is_none());
    let params = r#""params":{"name":"n","uri":"u","requestId":1,"_meta":{"traceparent":"p"},"clientInfo":{"name":"c"}}"#;
    let facts = scan(&format!(r#"{{"method":"m",{params}}}"#), &Config::answers());
    let params = facts.params.unwrap();
    assert!(params.name.is_absent() && params.uri.is_absent() && params.request_id.is_absent());
    assert!(params.traceparent.is_absent() && params.client.name.is_absent());
}

#[test]
fn members_are_found_in_the_result_of_a_task() {
    let asked = std::sync::Arc::new(super::super::Members::new(["ok", "error.message"]));
    let config = Config::answers().members(std::sync::Arc::clone(&asked));
    let facts = scan(
        r#"{"result":{"structuredContent":{"ok":true},"result":{"structuredContent":{"x":{"ok":1},"error":{"message":"m"},"ok":false}}},
        "params":{"result":{"structuredContent":{"error":{"message":7}}}},"method":"m"}"#,
        &config,
    );
    let params = facts.params.unwrap();
    let found = [&facts.result, &facts.inner.unwrap().result, &params.inner.unwrap().result]
        .map(|result| Value::Object(result.members(&asked).unwrap()));
    let expected = [
        json!({"ok": true}),
        json!({"error": {"message": "m"}, "ok": false}),
        json!({"error": {"message": 7}}),
    ];
    assert_eq!(found, expected);
}
