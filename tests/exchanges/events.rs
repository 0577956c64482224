//! Server-sent events, read at leisure: as section 9.2.6 of HTML has it.

/// One event that is dispatched, or not even that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Lines in the order that they stand in, without their ends.
    pub lines: Vec<Vec<u8>>,
    /// Where it ends in the stream, its blank line included.
    pub end: usize,
}

impl Event {
    /// The lines of its data, joined; none where it has none.
    pub fn data(&self) -> Option<Vec<u8>> {
        let lines: Vec<&[u8]> = self.lines.iter().filter_map(|line| value(line, b"data")).collect();
        (!lines.is_empty()).then(|| lines.join(&b'\n'))
    }

    /// The fields that are not its data.
    pub fn others(&self) -> Vec<&[u8]> {
        let others = self.lines.iter().filter(|line| value(line, b"data").is_none());
        others.map(Vec::as_slice).collect()
    }
}

fn value<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    match line.strip_prefix(name)? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

/// The events of a stream, and what stands behind the last one.
pub fn read(stream: &[u8]) -> (Vec<Event>, &[u8]) {
    let mark = if stream.starts_with(&[0xef, 0xbb, 0xbf]) { 3 } else { 0 };
    let mut events = Vec::<Event>::new();
    let (mut event, mut begin, mut at) = (Event::default(), 0, mark);
    while let Some(length) = stream[at..].iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        let line = &stream[at..at + length];
        at += length + if stream[at + length..].starts_with(b"\r\n") { 2 } else { 1 };
        if !line.is_empty() {
            event.lines.push(line.to_vec());
            continue;
        }
        begin = at;
        event.end = at;
        match events.last_mut() {
            // A blank line more is no event.
            Some(last) if event.lines.is_empty() => last.end = at,
            _ => events.push(std::mem::take(&mut event)),
        }
    }
    (events, &stream[begin..])
}

#[test]
fn lines_end_in_three_ways() {
    let (events, rest) =
        read(b"\xef\xbb\xbfdata: a\r\ndata:b\rdata\n\n:\r\r\nid: 1\n\r\ndata: c\n");
    let data: Vec<Option<Vec<u8>>> = events.iter().map(Event::data).collect();
    assert_eq!(data, [Some(b"a\nb\n".to_vec()), None, None]);
    assert_eq!(rest, b"data: c\n");
    let ends: Vec<usize> = events.iter().map(|event| event.end).collect();
    assert_eq!(ends, [25, 29, 37]);
    assert_eq!(events[2].others(), [&b"id: 1"[..]]);
}
