//! The same said in other bytes: the verdict is the same, and what passes is what came.

use bytes::Bytes;

use crate::{
    choices::Choices,
    client::Setup,
    corpus::{Ends, Exchange},
    events::{self, Event},
    framing::random,
    stacks::STACKS,
    tree,
    whole::{Corpus, have},
};

#[test]
fn other_orders_of_keys_white_space_and_lines() {
    let corpus = Corpus::read();
    random(3000, |choices| {
        let exchange = &corpus.all()[choices.below(corpus.all().len())];
        let Some(anew) = rewritten(exchange, choices) else { return Ok(()) };
        let stack = choices.of(&STACKS);
        let (request, response) =
            (choices.frames(anew.request.body()), choices.frames(anew.response.body()));
        let setup = |given| {
            let setup = Setup::new(given, stack);
            match std::ptr::eq(given, &anew) {
                true => Setup { request: request.clone(), response: response.clone(), ..setup },
                // The exchange that this one follows.
                false => setup,
            }
        };
        have(&corpus, &anew, stack, setup).map_err(|why| {
            let (asked, said) = (anew.request.body(), anew.response.body());
            format!("{}, {stack:?}: {why}\n{asked:?}\n{said:?}", exchange.name)
        })
    });
}

/// The same exchange in other words; `None` where there is no other way to say it.
fn rewritten(exchange: &Exchange, choices: &mut Choices<'_>) -> Option<Exchange> {
    let mut anew = exchange.clone();
    let body = exchange.request.body();
    let request = tree::rewritten(body, choices);
    let headers = exchange.response.headers();
    let is_stream = headers.get("content-type").is_some_and(|it| it == "text/event-stream");
    let response = match is_stream {
        true => Some(stream(exchange.response.body(), choices)),
        false if exchange.expected.ends == Ends::Clean => {
            tree::rewritten(exchange.response.body(), choices).map(String::into_bytes)
        }
        false => None,
    };
    if request.is_none() && response.is_none() {
        return None;
    }
    if let Some(request) = request {
        if anew.request.headers().contains_key("content-length") {
            anew.request.headers_mut().insert("content-length", request.len().into());
        }
        *anew.request.body_mut() = request.into();
    }
    if let Some(response) = response {
        if anew.response.headers().contains_key("content-length") {
            anew.response.headers_mut().insert("content-length", response.len().into());
        }
        *anew.response.body_mut() = Bytes::from(response);
    }
    Some(anew)
}

/// The same events in other lines.
fn stream(body: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    let (events, rest) = events::read(body);
    let mut stream = Vec::new();
    if choices.once_in(6) && !body.starts_with(&[0xef]) {
        stream.extend_from_slice(&[0xef, 0xbb, 0xbf]);
    }
    for event in &events {
        while choices.once_in(5) {
            let comment = choices.of(&[":", ": keep-alive", ":data: {\"id\":1,\"result\":{}}"]);
            stream.extend_from_slice(comment.as_bytes());
            end(&mut stream, choices);
            if choices.once_in(2) {
                end(&mut stream, choices);
            }
        }
        rewrite(event, choices, &mut stream);
    }
    // What is not a whole event stays as it is, and where it is.
    stream.extend_from_slice(rest);
    stream
}

fn rewrite(event: &Event, choices: &mut Choices<'_>, stream: &mut Vec<u8>) {
    let data = event.data();
    let anew = data.as_deref().and_then(|data| tree::rewritten(data, choices));
    let is_sortable = event.lines.iter().all(|line| !line.starts_with(b"id"));
    let mut lines: Vec<Vec<u8>> = match anew {
        Some(anew) => {
            let mut lines: Vec<Vec<u8>> = event.others().into_iter().map(<[u8]>::to_vec).collect();
            let at = choices.below(lines.len() + 1);
            lines.splice(at..at, data_lines(anew.as_bytes(), choices));
            lines
        }
        None => event.lines.clone(),
    };
    if is_sortable && choices.once_in(3) {
        lines.insert(0, b"retry: 10".to_vec());
    }
    for line in lines {
        stream.extend_from_slice(&line);
        end(stream, choices);
    }
    end(stream, choices);
}

/// The lines of some data, which ends its lines itself or between two tokens.
fn data_lines(json: &[u8], choices: &mut Choices<'_>) -> Vec<Vec<u8>> {
    let mut pieces: Vec<&[u8]> = Vec::new();
    let mut start = 0;
    for gap in tree::gaps(json) {
        if choices.once_in(12) {
            pieces.push(&json[start..gap]);
            start = gap;
        }
    }
    pieces.push(&json[start..]);
    let mut lines = Vec::new();
    for line in pieces.iter().flat_map(|piece| piece.split(|byte| matches!(byte, b'\r' | b'\n'))) {
        // One space belongs to no value; where the value begins with one, it has to stand there.
        let space = if choices.once_in(2) || line.starts_with(b" ") { &b" "[..] } else { b"" };
        lines.push([b"data:", space, line].concat());
    }
    lines
}

/// Ends a line in one of the three ways. A line feed right behind a carriage return would end the
/// same line.
fn end(stream: &mut Vec<u8>, choices: &mut Choices<'_>) {
    let ends: [&[u8]; 3] = [b"\n", b"\r\n", b"\r"];
    let end = choices.of(&ends);
    let end = if stream.ends_with(b"\r") && end == b"\n" { b"\r" } else { end };
    stream.extend_from_slice(end);
}

#[test]
fn events_in_other_lines_are_the_same_events() {
    let body = b"id: 1\nevent: message\ndata: {\"a\":[1,2],\"b\":{}}\n\ndata: x\n\n: open";
    let data = |stream: &[u8]| {
        let (events, rest) = events::read(stream);
        let data = events.iter().filter_map(Event::data);
        let data = data.map(|data| serde_json::from_slice::<serde_json::Value>(&data).ok());
        (data.collect::<Vec<_>>(), rest.to_vec())
    };
    for seed in 0..100_u8 {
        let bytes: Vec<u8> =
            (0..90_u8).map(|at| at.wrapping_mul(seed).wrapping_add(seed)).collect();
        let anew = stream(body, &mut Choices::new(&bytes));
        assert_eq!(data(&anew), data(body), "{:?}", Bytes::from(anew));
    }
}
