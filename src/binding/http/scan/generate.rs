//! Messages of every kind, made from bytes: for the tests and the fuzz target.

/// Turns bytes into choices; when they are used up, every choice is the first.
pub(crate) struct Generator<'a> {
    choices: &'a [u8],
    text: Vec<u8>,
}

/// What a value is meant to be.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Object(&'static [(&'static str, Kind)]),
    Array(&'static Kind),
    Text,
    Word,
    Bool,
    Number,
    /// A result: those of tasks are in results.
    Result,
    Any,
}

use Kind::{Any, Array, Bool, Number, Object, Result, Text, Word};

const MESSAGE: Kind = Object(&[
    ("jsonrpc", Text),
    ("id", Any),
    // What has more in it stands here more often.
    ("result", RESULT),
    ("result", RESULT),
    ("error", ERROR),
    ("params", PARAMS),
    ("method", Text),
    ("other", Any),
]);
const RESULT: Kind = Object(&[
    ("content", Array(&BLOCK)),
    ("content", Array(&BLOCK)),
    ("content", Array(&BLOCK)),
    ("isError", Bool),
    (
        "_meta",
        Object(&[
            ("tower-outcome/failure", Any),
            ("io.modelcontextprotocol/related-task", TASK),
            ("x", Any),
        ]),
    ),
    ("structuredContent", STRUCTURED),
    ("structuredContent", STRUCTURED),
    ("structuredContent", Any),
    ("resultType", Word),
    ("taskId", Text),
    ("status", Word),
    ("statusMessage", Text),
    ("task", TASK),
    ("ttlMs", Number),
    ("ttl", Number),
    ("result", Result),
    ("error", ERROR),
    ("isErrors", Bool),
]);
const STRUCTURED: Kind = Object(&[
    ("status", Text),
    ("ok", Bool),
    ("error", ERROR),
    ("error", Text),
    ("data", Object(&[("state", Word), ("state", Any), ("list", Object(&[("x", Number)]))])),
    ("a", Object(&[("a", Object(&[("a", Any), ("b", Any)])), ("é\n\"", Number)])),
    ("result", Any),
    ("text", Number),
    ("x", Any),
    ("statuses", Number),
    ("é", Word),
    ("oks", Bool),
]);
const BLOCK: Kind = Object(&[("type", Word), ("text", Text), ("annotations", Any)]);
const TASK: Kind = Object(&[("taskId", Text), ("status", Word), ("ttl", Number)]);
const ERROR: Kind = Object(&[
    ("code", Number),
    ("message", Text),
    ("data", Object(&[("tower-outcome/failure", Any), ("", Any)])),
]);
const PARAMS: Kind = Object(&[
    ("name", Text),
    ("arguments", Any),
    ("uri", Text),
    ("taskId", Text),
    ("status", Word),
    ("statusMessage", Text),
    ("result", Result),
    ("error", ERROR),
    ("requestId", Any),
    ("protocolVersion", Text),
    ("clientInfo", CLIENT),
    (
        "_meta",
        Object(&[
            ("traceparent", Text),
            ("io.modelcontextprotocol/protocolVersion", Text),
            ("io.modelcontextprotocol/clientInfo", CLIENT),
            ("progressToken", Any),
        ]),
    ),
]);
const CLIENT: Kind = Object(&[("name", Text), ("version", Text), ("title", Text)]);

/// What may be asked for of a `structuredContent`: below what is asked for and below what is not, and
/// keys with escapes in them.
pub(crate) const PATHS: [&str; 11] = [
    "status",
    "ok",
    "error",
    "error.message",
    "error.data.tower-outcome/failure",
    "data.state",
    "data.list.x",
    "a.a.a",
    "a.é\n\"",
    "result",
    "text",
];

/// Pieces of strings, as JSON.
const PIECES: [&str; 20] = [
    "a",
    "text",
    "\\\"",
    "\\\\",
    "\\n",
    "\\u0041",
    "é",
    "\\u00e9",
    "\\ud83d\\ude00",
    "😀",
    "{",
    "]",
    "\\\\\\\"",
    ",",
    ":",
    " and a few words more, ",
    "\\/",
    "\\b\\f\\r\\t",
    "isError",
    "0123456789abcdef0123456789abcdef",
];
const WORDS: [&str; 7] =
    ["text", "text", "task", "complete", "input_required", "t\\u0065xt", "image"];
const NUMBERS: [&str; 12] = [
    "0",
    "7",
    "-1",
    "-32602",
    "-32603",
    "1.5",
    "-0",
    "1e3",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "123456789012345678901234567890123456789012345678901234567890123456789012345.5e-3",
];

impl<'a> Generator<'a> {
    pub(crate) fn new(choices: &'a [u8]) -> Self {
        Self { choices, text: Vec::new() }
    }

    /// A message, or a batch.
    pub(crate) fn message(mut self) -> Vec<u8> {
        match self.choose(8) {
            0 => self.value(Array(&MESSAGE), 0),
            _ => self.value(MESSAGE, 0),
        }
        self.space();
        self.text
    }

    /// A stream of events.
    pub(crate) fn events(mut self) -> Vec<u8> {
        if self.choose(4) == 0 {
            self.put("\u{feff}");
        }
        for _ in 0..self.choose(6) {
            for _ in 0..self.choose(4) {
                let field = [
                    "event: message",
                    "id: 7",
                    "id:",
                    "id",
                    ": comment",
                    "retry: 3",
                    ":",
                    "data",
                    "id:\0",
                    "dat: 5",
                    "databases: 1",
                ];
                let field = field[self.choose(field.len())];
                self.put(field);
                self.line_end();
            }
            for _ in 0..self.choose(3) {
                let mut message = Generator::new(self.choices);
                message.value(MESSAGE, 0);
                self.choices = message.choices;
                // White space between tokens may be where a line of data ends.
                for line in message.text.split(|byte| *byte == b'\n') {
                    let name = ["data: ", "data:", "data:  "][self.choose(3)];
                    self.put(name);
                    self.text.extend(line);
                    self.line_end();
                }
            }
            if self.choose(8) > 0 {
                self.line_end();
            }
        }
        self.text
    }

    fn value(&mut self, kind: Kind, depth: usize) {
        self.space();
        // Now and then, it is not what it is meant to be.
        let kind = if self.choose(12) == 11 { Any } else { kind };
        match kind {
            Object(members) => self.object(members, depth),
            Array(element) => self.array(*element, depth),
            Text => self.string(),
            Word => {
                let word = WORDS[self.choose(WORDS.len())];
                self.put(&format!("\"{word}\""));
            }
            Bool => {
                let literal = ["true", "false"][self.choose(2)];
                self.put(literal);
            }
            Number => {
                let number = NUMBERS[self.choose(NUMBERS.len())];
                self.put(number);
            }
            Result => self.value(RESULT, depth),
            Any => match self.choose(if depth > 6 { 4 } else { 8 }) {
                0 => self.put("null"),
                1 => self.value(Number, depth),
                2 => self.string(),
                3 => self.value(Bool, depth),
                4 => self.array(Any, depth),
                5 => self.object(&[("a", Any), ("id", Any), ("result", Any)], depth),
                6 => self.value(RESULT, depth),
                _ => self.value(MESSAGE, depth),
            },
        }
        self.space();
    }

    fn object(&mut self, members: &[(&str, Kind)], depth: usize) {
        self.put("{");
        for index in 0..self.choose(7) {
            if index > 0 {
                self.put(",");
            }
            let (key, kind) = members[self.choose(members.len())];
            self.space();
            self.key(key);
            self.space();
            self.put(":");
            self.value(kind, depth + 1);
        }
        self.space();
        self.put("}");
    }

    fn array(&mut self, element: Kind, depth: usize) {
        self.put("[");
        for index in 0..self.choose(4) {
            if index > 0 {
                self.put(",");
            }
            self.value(element, depth + 1);
        }
        self.space();
        self.put("]");
    }

    fn key(&mut self, key: &str) {
        let escaped = if self.choose(8) == 7 { self.choose(key.len().max(1)) } else { key.len() };
        self.put("\"");
        for (index, character) in key.chars().enumerate() {
            if index == escaped || matches!(character, '"' | '\\' | '\0'..='\x1f') {
                self.put(&format!("\\u{:04x}", u32::from(character)));
            } else {
                self.put(&character.to_string());
            }
        }
        self.put("\"");
    }

    fn string(&mut self) {
        self.put("\"");
        for _ in 0..self.choose(5) {
            let piece = PIECES[self.choose(PIECES.len())];
            let times = [1, 1, 2, 3, 33, 64, 130][self.choose(7)];
            self.put(&piece.repeat(times));
        }
        self.put("\"");
    }

    fn space(&mut self) {
        if self.choose(10) == 9 {
            let space = [" ", "\n", "\t \r\n"][self.choose(3)];
            self.put(space);
        }
    }

    fn line_end(&mut self) {
        let end = ["\n", "\r\n", "\r"][self.choose(3)];
        self.put(end);
    }

    fn put(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    fn choose(&mut self, among: usize) -> usize {
        let Some((choice, rest)) = self.choices.split_first() else { return 0 };
        self.choices = rest;
        usize::from(*choice) % among
    }
}
