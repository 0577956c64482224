//! Both scanners against `serde_json`, and in how little memory they do it.

use std::sync::Arc;

use proptest::prelude::*;

use super::{
    Config, EventScanner, JSON_TEXT_BYTES, Members, Scanner, TEXT_BYTES, Text, generate::Generator,
    oracle,
};

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        Just(vec![1]),
        prop::collection::vec(0_usize..9, 1..9),
        prop::collection::vec(0_usize..200, 1..9),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let large = Config::answers().structured_bytes(16 << 10);
    let members = Config::answers().members(Arc::new(oracle::members()));
    prop::sample::select(vec![
        Config::answers(),
        Config::requests(),
        large,
        members,
        oracle::small_config(),
        oracle::small_config_with_members(),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn messages_are_read_as_serde_json_reads_them(
        choices in prop::collection::vec(any::<u8>(), 0..2000),
        sizes in sizes(),
        config in config(),
    ) {
        oracle::check(&Generator::new(&choices).message(), &sizes, &config);
    }

    #[test]
    fn what_is_nearly_a_message_panics_nobody(
        choices in prop::collection::vec(any::<u8>(), 0..300),
        at in any::<prop::sample::Index>(),
        byte in prop::sample::select(b"\"\\{}[],:tn0- \n\xff\x00".to_vec()),
        is_longer in any::<bool>(),
        sizes in sizes(),
        config in config(),
    ) {
        let mut text = Generator::new(&choices).message();
        let at = at.index(text.len());
        text.splice(at..at + usize::from(!is_longer), [byte]);
        oracle::check(&text, &sizes, &config);
    }

    #[test]
    fn any_bytes_panic_nobody(
        text in prop::collection::vec(any::<u8>(), 0..300),
        sizes in sizes(),
        config in config(),
    ) {
        oracle::check(&text, &sizes, &config);
        oracle::check_events(&text, &sizes, &config);
    }

    #[test]
    fn events_are_read_as_the_specification_has_it(
        choices in prop::collection::vec(any::<u8>(), 0..2000),
        sizes in sizes(),
        config in config(),
    ) {
        oracle::check_events(&Generator::new(&choices).events(), &sizes, &config);
    }

    #[test]
    fn events_of_any_lines(
        stream in "(data|id|:|: |\\x00|a|\\{|\\}|\"|\r|\n|\r\n){0,40}",
        sizes in sizes(),
    ) {
        oracle::check_events(stream.as_bytes(), &sizes, &Config::answers());
    }
}

#[test]
fn every_place_to_cut_gives_the_same() {
    // One of each thing that a cut can go through.
    let message = "\u{20}{\"jsonrpc\":\"2.0\",\"i\\u0064\":\"a\\\"b\\u00e9é\",\"result\":{\"content\":[{\"text\":\"x\\\\\",\
        \"type\":\"text\"},{\"type\":\"image\",\"data\":\"]}\\\"[\"}],\"isError\":true,\"_meta\":\
        {\"tower-outcome/failure\":{\"outcome\":\"stale\",\"n\":[1,-2.5e+10,null]}}}}\r\n";
    for config in [Config::answers(), oracle::small_config_with_members()] {
        for first in 0..=message.len() {
            for second in first..=message.len() {
                oracle::check(message.as_bytes(), &[first, second - first, 0], &config);
            }
        }
        let stream = format!(
            "\u{feff}: hi\r\n\r\nid: 7\r\nevent: message\r\ndata:{}\r\n\r\n",
            message.trim()
        );
        for first in 0..=stream.len() {
            oracle::check_events(stream.as_bytes(), &[first, 1, 0], &config);
        }
    }
}

#[test]
fn memory_does_not_grow_with_the_answer() {
    let element =
        br#"{"type":"resource","uri":"x","text":"some \"text\" of an element, escaped and all"},"#;
    let frame = element.repeat(200);
    for (structured_bytes, bytes) in [(0, 1 << 20), (16 << 10, 64 << 20)] {
        let config = Config::answers().structured_bytes(structured_bytes);
        let mut scanner = Scanner::new(config);
        push(&mut scanner, br#"{"id":1,"result":{"structuredContent":["#);
        for _ in 0..bytes / frame.len() {
            push(&mut scanner, &frame);
            assert!(scanner.capacity() <= 16 << 10);
        }
        push(&mut scanner, br#"0],"content":["#);
        push(&mut scanner, &frame);
        push(&mut scanner, br#"{"type":"text","text":"done"}],"isError":true}}"#);
        let result = &scanner.facts().result;
        assert_eq!((result.is_error, result.text.is("done")), (Some(true), true));
        assert_eq!(result.structured.is_cut(), structured_bytes > 0);
        assert!(scanner.capacity() <= 16 << 10);
    }
    assert!(size_of::<EventScanner>() <= 1024, "{}", size_of::<EventScanner>());
}

fn push(scanner: &mut Scanner, bytes: &[u8]) {
    let mut rest = bytes;
    while !rest.is_empty() {
        let (read, _) = scanner.push(rest);
        rest = &rest[read..];
    }
}

#[test]
fn no_depth_is_too_deep() {
    let deep = [b"{\"result\":{\"content\":".to_vec(), b"[{\"a\":".repeat(500_000), b"0".to_vec()]
        .concat();
    let mut scanner = Scanner::new(Config::answers());
    let whole = [deep, b"}]".repeat(500_000), b",\"isError\":true}}".to_vec()].concat();
    push(&mut scanner, &whole);
    assert!(scanner.facts().end.is_some());
    assert_eq!(scanner.facts().result.is_error, Some(true));
}

#[test]
fn all_that_is_kept_is_bounded() {
    let long = |text: &str| format!("\"{}\"", text.repeat(20_000 / text.len()));
    let (text, escaped) = (long("x"), long("\\u00e9"));
    let block = format!(r#"{{"text":{text},"type":{text}}},{{"text":{text},"type":"text"}}"#);
    let error = format!(
        r#"{{"message":{text},"code":{escaped},"data":{{"tower-outcome/failure":[{escaped}]}}}}"#
    );
    let member = format!(r#"{{"a":{text},"b":{escaped},"c":{{"d":{text},"e":{text}}}}}"#);
    let task = format!(r#"{{"taskId":{text},"status":{text},"ttl":{text}}}"#);
    let rest = format!(
        r#""content":[{block}],"taskId":{text},"status":{text},"resultType":{text},"task":{task},
        "structuredContent":{member},"_meta":{{"tower-outcome/failure":[{text}],
        "io.modelcontextprotocol/related-task":{task}}}"#
    );
    let result = format!(r#"{{{rest},"result":{{{rest}}},"error":{error}}}"#);
    let message = format!(
        r#"{{"id":{text},"method":{text},"error":{error},"result":{result},"params":{result}}}"#
    );
    let members = Arc::new(Members::new(["a", "b", "c.d", "c.e", "x"]));
    for config in [Config::answers(), Config::requests(), Config::answers().members(members)] {
        for size in [700, 16 << 10, usize::MAX] {
            let mut scanner = Scanner::new(config.clone());
            let mut held = 0;
            for piece in message.as_bytes().chunks(size) {
                held += allocation_counter::measure(|| push(&mut scanner, piece)).bytes_current;
                // What is told by its place in a struct, and what is too short to count.
                let fixed = 3 << 10;
                assert!(held <= (16 << 10) + fixed, "{held} {size} {config:?}");
            }
            assert!(scanner.facts().end.is_some() && held > 8 << 10, "{held}");
        }
    }
}

#[test]
fn what_is_asked_for_beyond_the_usual_is_kept() {
    let text = format!("{{{}", "x".repeat(99_999));
    let answer = format!(
        r#"{{"id":"{}","result":{{"content":[{{"type":"text","text":"{text}"}}],"structuredContent":["{text}"]}}}}"#,
        "i".repeat(8000)
    );
    let mut scanner = Scanner::new(Config::answers().text_bytes(100_000).structured_bytes(100_004));
    push(&mut scanner, answer.as_bytes());
    let result = &scanner.facts().result;
    assert!(result.text.is(&text) && !result.structured.is_cut() && !scanner.facts().id.is_cut());
    let mut scanner = Scanner::new(Config::answers().text_bytes(99_999));
    push(&mut scanner, answer.as_bytes());
    assert!(scanner.facts().result.lone_text().is_some_and(Text::is_cut));
}

#[test]
fn of_a_text_that_is_no_json_no_more_is_kept_than_is_told() {
    for (begin, is_kept) in [
        ("{", true),
        (r" \n\t{", true),
        ("x", false),
        ("[", false),
        ("no {", false),
        (r#"\"{"#, false),
    ] {
        let text = format!("{begin}{}", "x".repeat(8000));
        let answer = format!(r#"{{"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#);
        let mut scanner = Scanner::new(Config::answers().text_bytes(JSON_TEXT_BYTES));
        push(&mut scanner, answer.as_bytes());
        let kept = &scanner.facts().result.text;
        let length = kept.get().map_or(0, |text| text.len());
        assert_eq!((kept.is_cut(), length > TEXT_BYTES), (!is_kept, is_kept), "{begin}: {length}");
    }
}

#[test]
fn texts_of_blocks_that_are_none_of_text_take_no_room() {
    let long = "x".repeat(4000);
    let other = format!(r#"{{"text":"{long}","text":"{long}","type":"image"}},"#).repeat(9);
    let answer = format!(
        r#"{{"result":{{"content":[{other}{{"text":"{long}","type":"text"}}],"result":{{"content":
        [{other}{{"text":"{long}","type":"text"}}]}}}}}}"#
    );
    for size in [100, usize::MAX] {
        let mut scanner = Scanner::new(Config::answers());
        for piece in answer.as_bytes().chunks(size) {
            push(&mut scanner, piece);
        }
        let facts = scanner.take_facts();
        assert!(facts.result.text.is(&long) && facts.inner.unwrap().result.text.is(&long));
    }
}
