use super::{
    super::facts::{Blocks, Code, Shape},
    *,
};

/// All that is seen in `text`, with where, and the scanner at the end.
fn read(text: &str, config: Config) -> (Vec<(Seen, u64)>, Scanner) {
    let mut scanner = Scanner::new(config);
    let mut all = Vec::new();
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let (read, seen) = scanner.push(rest);
        rest = &rest[read..];
        if seen != Seen::Nothing {
            all.push((seen, scanner.offset()));
        }
    }
    (all, scanner)
}

fn answer(text: &str) -> Facts {
    read(text, Config::answers().structured_bytes(64)).1.take_facts()
}

fn request(text: &str) -> Facts {
    read(text, Config::requests()).1.take_facts()
}

fn text(text: &Text) -> Option<String> {
    text.get().map(String::from)
}

#[test]
fn a_result_is_known_by_its_parts() {
    let facts = answer(
        r#" {"result":{"resultType":"complete","content":[{"type":"image","text":"no"},{"text":"one\n",
        "type":"text"},{"type":"text","text":"two"}],"structuredContent":{"ok": [false]},"isError":true,
        "_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"},"tower-outcome/failure":
        {"outcome":"stale"}},"taskId":"t2","status":"working","task":{"status":"failed","taskId":"t3"}},"id":"a\"b"}"#,
    );
    assert_eq!(facts.id.get().as_deref(), Some(r#""a\"b""#));
    assert_eq!(facts.envelope(), Envelope::Result);
    let result = facts.result;
    assert!(result.result_type.is("complete"));
    assert_eq!((result.blocks, text(&result.text)), (Blocks::Many, Some("one\n".into())));
    assert_eq!(result.structured.get().as_deref(), Some(r#"{"ok": [false]}"#));
    assert_eq!(result.is_error, Some(true));
    assert!(result.related_task.is("t1"));
    assert_eq!(result.record.get().unwrap().replace([' ', '\n'], ""), r#"{"outcome":"stale"}"#);
    assert!(result.flat_task.id.is("t2") && result.flat_task.status.is("working"));
    assert!(result.task.id.is("t3") && result.task.status.is("failed"));
    assert!(!result.is_input_required());
}

#[test]
fn only_literal_booleans_say_whether_it_is_an_error() {
    for (json, expected) in [
        (r#""isError":true"#, Some(true)),
        (r#""isError" : false"#, Some(false)),
        (r#""isError":"true""#, None),
        (r#""isError":1"#, None),
        (r#""isError":null"#, None),
        (r#""isError":[true]"#, None),
        (r#""iserror":true"#, None),
        (r#""x":{"isError":true}"#, None),
        (r#""isErro\u0072":true"#, Some(true)),
        (r#""isError":true,"isError":false"#, Some(false)),
        (r#""isError":true,"isError":7"#, None),
    ] {
        let facts = answer(&format!(r#"{{"result":{{{json}}}}}"#));
        assert_eq!(facts.result.is_error, expected, "{json}");
        let facts = answer(&format!(r#"{{{json},"result":{{}}}}"#));
        assert_eq!(facts.result.is_error, None, "{json}");
    }
}

#[test]
fn the_first_block_of_type_text_counts_and_no_other() {
    for (content, blocks, expected) in [
        ("[]", Blocks::None, None),
        (r#"{"type":"text","text":"a"}"#, Blocks::None, None),
        (r#"["text"]"#, Blocks::One, None),
        (r#"[{"type":"text","text":"a"}]"#, Blocks::One, Some("a")),
        (r#"[{"text":"a"},{"type":"text","text":"b"}]"#, Blocks::Many, Some("b")),
        (r#"[{"type":"text","text":7},{"type":"text","text":"b"}]"#, Blocks::Many, None),
        (r#"[{"type":"text"},{"type":"text","text":"b"}]"#, Blocks::Many, None),
        (
            r#"[{"type":"text","text":"a","type":"image"},{"type":"text","text":"b"}]"#,
            Blocks::Many,
            Some("b"),
        ),
        (
            r#"[{"type":"text","text":"a"}, [{"]":"\\"}], {"type":"text","text":"b"}]"#,
            Blocks::Many,
            Some("a"),
        ),
        (r#"[{"type":"text","text":"a"}],"content":[{"type":"image"}]"#, Blocks::One, None),
        (
            r#"[{"type":"text","text":"a"}],"content":[{"type":"text","text":"b"}]"#,
            Blocks::One,
            Some("b"),
        ),
    ] {
        let facts = answer(&format!(r#"{{"result":{{"content":{content},"isError":true}}}}"#));
        assert_eq!(facts.result.blocks, blocks, "{content}");
        assert_eq!(text(&facts.result.text).as_deref(), expected, "{content}");
        assert_eq!(facts.result.is_error, Some(true), "{content}");
    }
}

#[test]
fn an_error_is_known_by_its_parts() {
    let facts = answer(
        r#"{"error":{"data":{"tower-outcome/failure":[1]},"message":"no\t\u20ac","code":-32603},"id":null}"#,
    );
    assert_eq!((facts.envelope(), facts.error.code), (Envelope::Error, Code::Number(-32603)));
    assert_eq!(text(&facts.error.message).as_deref(), Some("no\t€"));
    assert_eq!(facts.error.record.get().as_deref(), Some("[1]"));
    assert_eq!(facts.id.get().as_deref(), Some("null"));
    for (code, expected) in [
        ("0", Code::Number(0)),
        ("9223372036854775807", Code::Number(i64::MAX)),
        ("-9223372036854775808", Code::Number(i64::MIN)),
        ("9223372036854775808", Code::Invalid),
        ("-32603.0", Code::Invalid),
        ("1e2", Code::Invalid),
        (r#""-32603""#, Code::Invalid),
        ("null", Code::Invalid),
    ] {
        let facts = answer(&format!(r#"{{"error":{{"code":{code}}}}}"#));
        assert_eq!(facts.error.code, expected, "{code}");
    }
}

#[test]
fn a_request_is_known_by_its_parts() {
    let facts = request(
        r#"{"params":{"arguments":{"name":"no"},"name":"read_note","_meta":{"traceparent":"00-1","clientInfo":0,
        "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":
        {"version":"2","name":"b"}},"uri":"file:///\u0061","taskId":"t","requestId":"7","protocolVersion":
        "2025-11-25","clientInfo":{"name":"a","version":"1"}},"method":"tools\/call","id":18446744073709551616}"#,
    );
    assert!(facts.method.name.is("tools/call"));
    assert_eq!(facts.id.get().as_deref(), Some("18446744073709551616"));
    assert_eq!(facts.envelope(), Envelope::NotAnAnswer);
    let params = facts.params.unwrap();
    assert_eq!((params.shape, params.arguments), (Shape::Object, Shape::Object));
    assert_eq!(params.request_id.get().as_deref(), Some(r#""7""#));
    for (found, expected) in [
        (params.name, "read_note"),
        (params.uri, "file:///a"),
        (params.task_id, "t"),
        (params.traceparent, "00-1"),
        (params.client.protocol_version, "2025-11-25"),
        (params.client.name, "a"),
        (params.client.version, "1"),
        (params.meta_client.protocol_version, "2026-07-28"),
        (params.meta_client.name, "b"),
        (params.meta_client.version, "2"),
    ] {
        assert_eq!(text(&found).as_deref(), Some(expected));
    }
    for (arguments, shape) in [
        ("", Shape::Absent),
        (r#""arguments":"x""#, Shape::String),
        (r#""arguments":null"#, Shape::Null),
    ] {
        let facts = request(&format!(r#"{{"method":"m","params":{{{arguments}}}}}"#));
        assert_eq!(facts.params.unwrap().arguments, shape, "{arguments}");
    }
    let facts = request(r#"{"method":"m","params":{"name":"a"},"params":[{"name":"b"}]}"#);
    assert_eq!(
        (facts.params.as_ref().unwrap().shape, &facts.params.unwrap().name),
        (Shape::Array, &Text::default())
    );
}

#[test]
fn the_envelope_is_told_as_soon_as_it_is_known() {
    use Envelope::{Error, NotAnAnswer, Result, Undecided};
    for (message, told, finally) in [
        (r#"{"id":1,"result":{"#, vec![(r#"{"id":1,"result":{"#, Result)], Result),
        (r#"{"error":{"code":1},"id":1}"#, vec![(r#"{"error":{"#, Error)], Error),
        (r#"{"error":null,"result":{}}"#, vec![(r#"{"error":null,"result":{"#, Result)], Result),
        (r#"{"result":null,"error":{}}"#, vec![(r#"{"result":null,"error":{"#, Error)], Error),
        (r#"{"result":null,"id":1}"#, vec![], Result),
        (r#"{"error":null,"id":1}"#, vec![], Undecided),
        (r#"{"method":"m","result":{}}"#, vec![(r#"{"method":"m""#, NotAnAnswer)], NotAnAnswer),
        (
            r#"{"result":{},"method":"m"}"#,
            vec![(r#"{"result":{"#, Result), (r#"{"result":{},"method":"m""#, NotAnAnswer)],
            NotAnAnswer,
        ),
        (r#"{"method":null,"result":{}}"#, vec![(r#"{"method":null,"result":{"#, Result)], Result),
        (
            r#"{"result":{},"error":{}}"#,
            vec![(r#"{"result":{"#, Result), (r#"{"result":{},"error":{"#, Error)],
            Error,
        ),
        (r#"{"id":1}"#, vec![], Undecided),
    ] {
        let (seen, scanner) = read(message, Config::answers());
        let envelopes = seen.iter().filter(|(seen, _)| *seen == Seen::Envelope);
        let places: Vec<u64> = envelopes.map(|(_, place)| *place).collect();
        assert_eq!(
            places,
            told.iter().map(|(until, _)| until.len() as u64).collect::<Vec<_>>(),
            "{message}"
        );
        assert_eq!(scanner.facts().envelope(), finally, "{message}");
        for (until, envelope) in told {
            let (_, scanner) = read(until, Config::answers());
            assert_eq!(scanner.facts().envelope(), envelope, "{message}");
        }
    }
}

#[test]
fn the_messages_of_a_batch_have_their_places() {
    let batch = r#" [ {"id":1,"result":{}}, 7, {"id":2,"error":{}} ,[{"id":3}],"x"] "#;
    let mut scanner = Scanner::new(Config::answers());
    let (mut rest, mut found) = (batch.as_bytes(), Vec::new());
    while !rest.is_empty() {
        let (read, seen) = scanner.push(rest);
        rest = &rest[read..];
        if seen == Seen::End {
            let facts = scanner.take_facts();
            assert_eq!(facts.end, Some(scanner.offset()));
            found.push((
                batch[facts.begin as usize..scanner.offset() as usize].to_owned(),
                facts.envelope(),
            ));
        }
    }
    let expected = [
        (r#"{"id":1,"result":{}}"#.to_owned(), Envelope::Result),
        (r#"{"id":2,"error":{}}"#.to_owned(), Envelope::Error),
    ];
    assert_eq!(found, expected);
    assert!(scanner.is_batch());
    assert_eq!(scanner.progress(), Progress::Complete);
}

#[test]
fn nothing_of_one_message_is_left_in_the_next() {
    let message =
        |text: &str| format!(r#"{{"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#);
    let batch = format!(
        r#"[{},{},{{"result":{{"content":[{{"text":"c"}}]}}}}]"#,
        message("a"),
        message("b")
    );
    let mut scanner = Scanner::new(Config::answers());
    let mut texts = Vec::new();
    for _ in 0..2 {
        let mut rest = batch.as_bytes();
        while !rest.is_empty() {
            let (read, seen) = scanner.push(rest);
            rest = &rest[read..];
            if seen == Seen::End {
                texts.push(text(&scanner.facts().result.text));
            }
        }
        scanner.restart();
    }
    let once = [Some("a".to_owned()), Some("b".to_owned()), None];
    assert_eq!(texts, [once.clone(), once].concat());
}

#[test]
fn what_is_not_json_where_it_is_looked_at_is_malformed() {
    for (text, progress) in [
        ("", Progress::Empty),
        (" \r\n\t", Progress::Empty),
        ("{}", Progress::Complete),
        ("[]", Progress::Complete),
        (r#""junk""#, Progress::Complete),
        ("{", Progress::Open),
        (r#"{"result":{"content":"#, Progress::Open),
        (r#"{"id":"é"#, Progress::Open),
        ("{}{}", Progress::Malformed),
        ("{} x", Progress::Malformed),
        ("junk", Progress::Malformed),
        ("\u{feff}{}", Progress::Malformed),
        ("{,}", Progress::Malformed),
        (r#"{"id":1,}"#, Progress::Malformed),
        (r#"{"id" 1}"#, Progress::Malformed),
        (r#"{"id":}"#, Progress::Malformed),
        (r#"{"id":1 2}"#, Progress::Malformed),
        (r#"{"id":01}"#, Progress::Malformed),
        (r#"{"id":1.}"#, Progress::Malformed),
        (r#"{"id":-}"#, Progress::Malformed),
        (r#"{"id":1e}"#, Progress::Malformed),
        (r#"{"id":tru}"#, Progress::Malformed),
        (r#"{"x":nul}"#, Progress::Malformed),
        (r#"{"x":NaN}"#, Progress::Malformed),
        (r#"{"id":1]"#, Progress::Malformed),
        (r#"[{"id":1},]"#, Progress::Malformed),
        (r#"[{"id":1}}"#, Progress::Malformed),
        (r#"{"x":[1}"#, Progress::Malformed),
        (r#"{"x":{"a":[]]}"#, Progress::Malformed),
        (r#"{1:2}"#, Progress::Malformed),
    ] {
        let (_, mut scanner) = read(text, Config::answers());
        assert_eq!(scanner.progress(), progress, "{text}");
        if progress == Progress::Malformed {
            assert_eq!(scanner.push(b"{\"id\":1}"), (8, Seen::Nothing));
        }
    }
}

#[test]
fn what_is_too_long_is_cut() {
    let long = "é".repeat(20_000);
    let facts = answer(&format!(
        r#"{{"id":"{long}","error":{{"message":"{long}","data":{{"tower-outcome/failure":"{long}"}}}}}}"#
    ));
    assert_eq!((facts.id.get(), facts.id.is_cut()), (None, true));
    assert_eq!(
        (text(&facts.error.message), facts.error.message.is_cut()),
        (Some("é".repeat(2048)), true)
    );
    assert!(facts.error.record.is_cut());
    let digits = "1".repeat(20_000);
    let facts = answer(&format!(
        r#"{{"id":{digits},"result":{{"structuredContent":[{digits}],"isError":{digits}}}}}"#
    ));
    assert!(facts.id.is_cut() && facts.result.structured.is_cut());
    assert_eq!(facts.result.is_error, None);
    let facts = answer(&format!(r#"{{"{long}":1,"\u0069d":2,"{}":3}}"#, "\\u0069".repeat(100)));
    assert_eq!(facts.id.get().as_deref(), Some("2"));
}

#[test]
fn another_text_begins_anew() {
    let (_, mut scanner) =
        read(r#"[{"id":1,"result":{"content":[{"type":"text","text":"a\"#, Config::answers());
    scanner.restart();
    assert_eq!((scanner.progress(), scanner.is_batch()), (Progress::Empty, false));
    assert_eq!(scanner.facts(), &Facts::default());
    let begin = scanner.offset();
    scanner.push(br#"{"result":{"content":[{"text":"b"}]}}"#);
    scanner.push(br#"{"content":[{"text":"b"}]}}"#);
    assert_eq!(scanner.facts().begin, begin);
    assert!(scanner.facts().result.text.is_absent());
}
