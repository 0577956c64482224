//! Server-sent events: their data, fed to the scanner for JSON.

use memchr::memchr2;

use super::{Config, Facts, Progress, Scanner, Seen};

/// The byte order mark that a stream may begin with.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
/// No name of a field that matters is as long.
const NAME_BYTES: usize = 6;

/// Reads a stream of server-sent events as it streams past, and the JSON in their data, as
/// section 9.2.6 of HTML has it.
///
/// Lines may end in any of the three ways and be cut anywhere. Data is read as it comes, its lines
/// joined by a line feed, and never put together.
#[derive(Debug)]
pub(crate) struct EventScanner {
    json: Scanner,
    line: Line,
    /// The last byte was a carriage return: a line feed after it belongs to it.
    is_after_return: bool,
    /// Bytes at the front of what comes next among which no line ends. Of a batch, one long line
    /// is handed on in many pieces, and its end is looked for once.
    plain: usize,
    is_dispatched: bool,
    has_data: bool,
    /// The id that the line being read sets.
    id_line: Id,
    /// The one that will be the stream's at the end of the event.
    id: Id,
    has_event_id: bool,
    /// Bytes that were read, and those before the event.
    offset: u64,
    begin: u64,
}

/// Where in a line the next byte stands.
#[derive(Clone, Copy, Debug)]
enum Line {
    /// In the byte order mark, behind so many bytes of it.
    Mark(usize),
    /// In the name of the field, which has so many bytes until now.
    Name([u8; NAME_BYTES], usize),
    /// Behind the colon, where one space belongs to no value.
    Space(Field),
    Value(Field),
}

/// A field whose value matters, and the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Data,
    Id,
    /// A comment among them, which is a field without a name.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    None,
    Empty,
    Some,
    /// With a NUL in it: the stream keeps the one that it has.
    Invalid,
}

impl EventScanner {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            json: Scanner::new(config),
            line: Line::Mark(0),
            is_after_return: false,
            plain: 0,
            is_dispatched: false,
            has_data: false,
            id_line: Id::None,
            id: Id::None,
            has_event_id: false,
            offset: 0,
            begin: 0,
        }
    }

    /// Reads `bytes` up to the first thing that a caller may act on, as [`Scanner::push`] does.
    ///
    /// [`Seen::Dispatch`] comes with each blank line, with the line feed of its CRLF if that is in
    /// `bytes`. What was seen of a message in it is said before, and stays to be read after.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> (usize, Seen) {
        let mut rest = bytes;
        let mut seen = Seen::Nothing;
        while seen == Seen::Nothing
            && let Some((&byte, after)) = rest.split_first()
        {
            let is_after_return = std::mem::take(&mut self.is_after_return);
            if is_after_return && byte == b'\n' {
                rest = after;
                continue;
            }
            if std::mem::take(&mut self.is_dispatched) {
                self.begin = self.position(bytes, rest);
                self.json.restart();
                self.has_data = false;
            }
            if self.plain == 0 && matches!(byte, b'\r' | b'\n') {
                seen = self.end_line();
                rest = match after {
                    [b'\n', behind @ ..] if byte == b'\r' => behind,
                    _ => after,
                };
                self.is_after_return = byte == b'\r' && rest.is_empty() && after.is_empty();
                continue;
            }
            rest = match self.line {
                Line::Mark(read) => self.mark(read, byte, rest, after),
                Line::Name(name, len) => self.name(name, len, byte, after),
                Line::Space(field) => {
                    self.line = Line::Value(field);
                    if byte == b' ' { after } else { rest }
                }
                Line::Value(field) => {
                    let read;
                    (read, seen) = self.value(field, rest);
                    rest.get(read..).unwrap_or_default()
                }
            };
        }
        self.offset = self.position(bytes, rest);
        (bytes.len() - rest.len(), seen)
    }

    /// What the message that was last begun has said so far.
    pub(crate) fn facts(&self) -> &Facts {
        self.json.facts()
    }

    /// The same, to keep. To be called when the message has ended.
    pub(crate) fn take_facts(&mut self) -> Facts {
        self.json.take_facts()
    }

    /// How far the data of the event was read. Where the stream ends, an event that
    /// [is open](Self::is_open) is incomplete, whatever this says: nobody will dispatch it.
    pub(crate) fn progress(&self) -> Progress {
        self.json.progress()
    }

    /// Whether the data is an array of messages.
    pub(crate) fn is_batch(&self) -> bool {
        self.json.is_batch()
    }

    /// Whether the event has data at all: a comment that keeps the connection open has none, the
    /// event that primes a stream has empty data.
    pub(crate) fn has_data(&self) -> bool {
        self.has_data
    }

    /// Whether something of an event was read, but not its end.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_dispatched && self.offset > self.begin
    }

    /// Whether a client that lost the stream now could resume it: an event that was dispatched has
    /// set its id.
    pub(crate) fn has_event_id(&self) -> bool {
        self.has_event_id
    }

    /// Where the event begins, comments before it included, counted from the stream's first byte.
    #[allow(dead_code, reason = "for the fuzz target")]
    pub(crate) fn begin(&self) -> u64 {
        self.begin
    }

    fn mark<'a>(&mut self, read: usize, byte: u8, rest: &'a [u8], after: &'a [u8]) -> &'a [u8] {
        let is_mark = MARK.get(read) == Some(&byte);
        self.line = match read + 1 {
            3 if is_mark => Line::Name([0; NAME_BYTES], 0),
            read if is_mark => Line::Mark(read),
            // Not a mark, but the first bytes of a name: of none that matters.
            1 => Line::Name([0; NAME_BYTES], 0),
            _ => Line::Name([0; NAME_BYTES], NAME_BYTES),
        };
        if is_mark { after } else { rest }
    }

    fn name<'a>(
        &mut self,
        mut name: [u8; NAME_BYTES],
        len: usize,
        byte: u8,
        after: &'a [u8],
    ) -> &'a [u8] {
        if byte == b':' {
            self.line = Line::Space(self.field(name, len));
        } else {
            if let Some(place) = name.get_mut(len) {
                *place = byte;
            }
            self.line = Line::Name(name, (len + 1).min(NAME_BYTES));
        }
        after
    }

    /// The field of that name, whose value begins.
    fn field(&mut self, name: [u8; NAME_BYTES], len: usize) -> Field {
        match name.get(..len) {
            Some(b"data") => {
                if std::mem::replace(&mut self.has_data, true) {
                    // A line feed ends no message and opens none: there is nothing to be seen.
                    self.json.push(b"\n");
                }
                Field::Data
            }
            Some(b"id") => {
                self.id_line = Id::Empty;
                Field::Id
            }
            _ => Field::Other,
        }
    }

    /// A piece of a value: how much of it was read.
    fn value(&mut self, field: Field, rest: &[u8]) -> (usize, Seen) {
        if self.plain == 0 {
            self.plain = memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
        }
        let piece = rest.get(..self.plain).unwrap_or(rest);
        let (read, seen) = match field {
            Field::Data => self.json.push(piece),
            Field::Id => {
                let is_valid = self.id_line != Id::Invalid && !piece.contains(&0);
                self.id_line = if is_valid { Id::Some } else { Id::Invalid };
                (piece.len(), Seen::Nothing)
            }
            Field::Other => (piece.len(), Seen::Nothing),
        };
        self.plain = self.plain.saturating_sub(read);
        (read, seen)
    }

    fn end_line(&mut self) -> Seen {
        if let Line::Name(name, len @ 1..) = self.line {
            // A line without a colon is a field without a value.
            self.field(name, len);
        }
        let is_blank = matches!(self.line, Line::Name(_, 0) | Line::Mark(0));
        self.line = Line::Name([0; NAME_BYTES], 0);
        match std::mem::replace(&mut self.id_line, Id::None) {
            Id::None | Id::Invalid => {}
            id => self.id = id,
        }
        if !is_blank {
            return Seen::Nothing;
        }
        self.is_dispatched = true;
        self.has_event_id = self.id == Id::Some;
        Seen::Dispatch
    }

    fn position(&self, bytes: &[u8], rest: &[u8]) -> u64 {
        self.offset.saturating_add((bytes.len() - rest.len()) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Envelope, *};

    /// What is seen in `stream`, with how much was read by then.
    fn seen(stream: &str) -> (Vec<(Seen, usize)>, EventScanner) {
        let mut scanner = EventScanner::new(Config::answers());
        let (mut all, mut rest) = (Vec::new(), stream.as_bytes());
        while !rest.is_empty() {
            let (read, seen) = scanner.push(rest);
            rest = &rest[read..];
            if seen != Seen::Nothing {
                all.push((seen, stream.len() - rest.len()));
            }
        }
        (all, scanner)
    }

    #[test]
    fn an_answer_is_found_however_its_event_is_framed() {
        for stream in [
            "data: {\"id\":1,\"result\":{\"isError\":true}}\n\n",
            "data:{\"id\":1,\"result\":{\"isError\":true}}\r\r",
            "event: message\r\nid: 7\r\ndata: {\"id\":1,\"result\":{\"isError\":true}}\r\n\r\n",
            "\u{feff}data: {\"id\":1,\ndata: \"result\":{\ndata:\ndata: \"isError\"\ndata::true}}\n\n",
            ": ping\n\ndata: \n\n:\nretry: 3000\ndata: {\"id\":1,\"result\":{\"isError\":true}}\n\n",
            "data: {\"method\":\"m\",\"id\":1}\n\ndata\ndata:   {\"id\":1,\"result\":{\"isError\":true}}\n\n",
        ] {
            let (_, scanner) = seen(stream);
            assert_eq!(scanner.facts().result.is_error, Some(true), "{stream}");
            assert_eq!(scanner.progress(), Progress::Complete, "{stream}");
            assert!(!scanner.is_open() && scanner.has_data(), "{stream}");
        }
    }

    #[test]
    fn what_is_seen_is_told_at_the_byte_that_shows_it() {
        let first = ": ping\n\n";
        let head = "id: 7\ndata: {\"error\":{";
        let (message, rest) = ("}}", "\r\n\r\n");
        let stream = [first, head, message, rest].concat();
        let (all, scanner) = seen(&stream);
        let until = |parts: &[&str]| parts.concat().len();
        let expected = [
            (Seen::Dispatch, until(&[first])),
            (Seen::Envelope, until(&[first, head])),
            (Seen::End, until(&[first, head, message])),
            (Seen::Dispatch, stream.len()),
        ];
        assert_eq!(all, expected);
        assert_eq!(scanner.begin(), first.len() as u64);
        assert_eq!(scanner.facts().envelope(), Envelope::Error);
    }

    #[test]
    fn the_line_feed_of_a_cut_blank_line_belongs_to_no_event() {
        let mut scanner = EventScanner::new(Config::answers());
        assert_eq!(scanner.push(b"data: {}\r\n\r"), (8, Seen::End));
        assert_eq!(scanner.push(b"\r\n\r"), (3, Seen::Dispatch));
        assert_eq!(scanner.push(b"\n"), (1, Seen::Nothing));
        assert!(!scanner.is_open());
        assert_eq!(scanner.push(b"data"), (4, Seen::Nothing));
        assert_eq!((scanner.begin(), scanner.is_open()), (12, true));
    }

    #[test]
    fn an_event_without_a_blank_line_is_incomplete() {
        let (all, scanner) = seen("data: {\"id\":1,\"result\":{}}\n");
        assert!(all.iter().all(|(seen, _)| *seen != Seen::Dispatch));
        assert!(scanner.is_open());
        assert_eq!(
            (scanner.progress(), scanner.facts().envelope()),
            (Progress::Complete, Envelope::Result)
        );
    }

    #[test]
    fn a_stream_has_an_id_when_an_event_has_set_one() {
        for (stream, has_id) in [
            ("id: 7\n", false),
            ("id: 7\n\n", true),
            ("id: 7\ndata: {}\n\ndata: {}\n\n", true),
            ("id: 7\n\nid\n\n", false),
            ("id: 7\n\nid:\n\n", false),
            ("id: 7\n\nid:\n", true),
            ("id: \u{0}\n\n", false),
            ("id: 7\n\nid: a\u{0}b\n\n", true),
            ("ids: 7\n\n", false),
            (" id: 7\n\n", false),
            (": id: 7\n\n", false),
            ("\u{feff}id: 7\n\n", true),
            ("\u{fec0}id: 7\n\n", false),
        ] {
            assert_eq!(seen(stream).1.has_event_id(), has_id, "{stream:?}");
        }
    }
}
