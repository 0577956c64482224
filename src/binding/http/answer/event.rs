//! One event, as it came: its lines, and what stands in its data.

use std::borrow::Cow;

use bytes::Bytes;

/// The data of an event, its lines joined; without a copy where it is one.
pub(super) fn data_of(event: &[u8]) -> Cow<'_, [u8]> {
    let mut lines = lines_of(event).filter_map(data_line);
    let first = lines.next().unwrap_or_default();
    let mut data = Cow::Borrowed(first);
    for line in lines {
        let data = data.to_mut();
        data.push(b'\n');
        data.extend_from_slice(line);
    }
    data
}

/// The same event, its id and name included, with other data.
pub(super) fn with_data(event: &[u8], data: &str) -> Bytes {
    let mut text = Vec::with_capacity(data.len() + 64);
    for line in lines_of(event) {
        if !line.is_empty() && data_line(line).is_none() {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
    }
    text.extend_from_slice(b"data: ");
    // Line breaks in JSON are white space.
    text.extend(data.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
    text.extend_from_slice(b"\n\n");
    text.into()
}

fn lines_of(event: &[u8]) -> impl Iterator<Item = &[u8]> {
    let event = event.strip_prefix("\u{feff}".as_bytes()).unwrap_or(event);
    // The empty line between the two bytes of a CRLF is none that matters.
    event.split(|byte| matches!(byte, b'\n' | b'\r'))
}

fn data_line(line: &[u8]) -> Option<&[u8]> {
    let value = line.strip_prefix(b"data")?;
    match value {
        [] => Some(value),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

/// The messages of an array.
pub(super) fn elements_of(data: &[u8]) -> Vec<&serde_json::value::RawValue> {
    serde_json::from_slice(data).unwrap_or_default()
}
