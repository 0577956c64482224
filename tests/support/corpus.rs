//! The exchanges in `tests/corpus/`, and what the layers have to conclude from each. The format is
//! in `tests/corpus/README.md`.

// Every test binary that says `mod corpus;` compiles all of it and uses a part.
#![allow(dead_code, unreachable_pub)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Version};

/// One exchange.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Where it is, as `folder/file` without the ending.
    pub name: String,
    /// What the client sent.
    pub request: Request<Bytes>,
    /// What the server answered; transfer encodings are undone.
    pub response: Response<Bytes>,
    /// What the layers have to conclude.
    pub expected: Expected,
}

/// What the layers have to conclude from an exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The terminal event of each call that ends here; `notification_received` of each
    /// notification.
    pub events: Vec<Event>,
    /// What the client gets, where nothing is configured.
    pub client: Client,
    /// How the server's answer ends.
    pub ends: Ends,
    /// The exchange whose calls are still open when this one begins.
    pub follows: Option<String>,
    /// The ids, as JSON, of the calls that are open when this one has ended: their answer may
    /// come in another exchange.
    pub pending: Vec<String>,
    /// The revision that the session agreed on, where no header says it.
    pub revision: Option<String>,
    /// What is worth knowing.
    pub notes: Vec<String>,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The id of the request, as JSON; none where there is none.
    pub id: Option<String>,
    /// The event's name.
    pub name: String,
    /// `outcome`.
    pub outcome: Option<String>,
    /// `code`.
    pub code: Option<String>,
    /// Its level.
    pub level: String,
}

/// What the client gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Client {
    /// Every byte as it came.
    #[default]
    Unchanged,
    /// Outcome 4 in place of each answer; of an SSE stream, what came before the answer stays.
    Replaced,
    /// Every byte as it came, then an event with outcome 4.
    Appended,
}

/// How the server's answer ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ends {
    /// As HTTP has it.
    #[default]
    Clean,
    /// The connection broke.
    Broken,
    /// The client left before the end.
    Left,
}

/// The folder.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// All exchanges, by name.
pub fn all() -> Vec<Exchange> {
    let mut files = Vec::new();
    collect(&folder(), &mut files);
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "http") {
            files.push(path);
        }
    }
}

fn read(file: &Path) -> Exchange {
    let name = file.strip_prefix(folder()).expect("a file in it").with_extension("");
    let name = name.to_str().expect("an ASCII name").replace('\\', "/");
    let bytes = fs::read(file).expect("a readable file");
    parse(name.clone(), &bytes).unwrap_or_else(|why| panic!("{name}: {why}"))
}

const RESPONSE: &[u8] = b"\n--- response\n";

/// Reads the text of a file.
pub fn parse(name: String, bytes: &[u8]) -> Result<Exchange, String> {
    let (expected, exchange) = expected(bytes)?;
    let at = exchange.windows(RESPONSE.len()).position(|window| window == RESPONSE);
    let at = at.ok_or("there is no line '--- response'")?;
    Ok(Exchange {
        name,
        request: request(&exchange[..at])?,
        response: response(&exchange[at + RESPONSE.len()..])?,
        expected,
    })
}

/// The block of `# key: value` lines, and what follows it.
pub fn expected(bytes: &[u8]) -> Result<(Expected, &[u8]), String> {
    let (mut expected, mut rest) = (Expected::default(), bytes);
    while let Some(line) = rest.strip_prefix(b"# ") {
        let end = line.iter().position(|byte| *byte == b'\n').ok_or("an open line")?;
        let text = std::str::from_utf8(&line[..end]).map_err(|error| error.to_string())?;
        rest = &line[end + 1..];
        let (key, value) = text.split_once(": ").ok_or_else(|| format!("no key: {text}"))?;
        match (key, value) {
            ("event", _) => expected.events.push(event(value)?),
            ("client", "unchanged") => expected.client = Client::Unchanged,
            ("client", "replaced") => expected.client = Client::Replaced,
            ("client", "appended") => expected.client = Client::Appended,
            ("ends", "clean") => expected.ends = Ends::Clean,
            ("ends", "broken") => expected.ends = Ends::Broken,
            ("ends", "left") => expected.ends = Ends::Left,
            ("follows", _) => expected.follows = Some(value.to_owned()),
            ("pending", _) => expected.pending.push(value.to_owned()),
            ("revision", _) => expected.revision = Some(value.to_owned()),
            ("note", _) => expected.notes.push(value.to_owned()),
            _ => return Err(format!("unknown: {text}")),
        }
    }
    Ok((expected, rest))
}

/// `NAME OUTCOME CODE LEVEL ID`; the id comes last, as it may hold blanks.
fn event(text: &str) -> Result<Event, String> {
    let mut words = text.splitn(5, ' ');
    let mut word = || words.next().ok_or_else(|| format!("too few words: {text}"));
    let known = |word: &str| (word != "-").then(|| word.to_owned());
    Ok(Event {
        name: word()?.to_owned(),
        outcome: known(word()?),
        code: known(word()?),
        level: word()?.to_owned(),
        id: known(word()?),
    })
}

fn request(bytes: &[u8]) -> Result<Request<Bytes>, String> {
    let (line, headers, body) = message(bytes)?;
    let mut words = line.split(' ');
    let mut request = Request::new(body);
    *request.method_mut() = words.next().and_then(|word| word.parse().ok()).ok_or("no method")?;
    *request.uri_mut() = words.next().and_then(|word| word.parse().ok()).ok_or("no path")?;
    *request.version_mut() = Version::HTTP_11;
    *request.headers_mut() = headers;
    Ok(request)
}

fn response(bytes: &[u8]) -> Result<Response<Bytes>, String> {
    let (line, headers, body) = message(bytes)?;
    let mut response = Response::new(body);
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or("no status")?;
    *response.status_mut() = status;
    *response.version_mut() = Version::HTTP_11;
    *response.headers_mut() = headers;
    Ok(response)
}

/// The first line, the headers, and the body of a message. Heads are written with LF.
fn message(bytes: &[u8]) -> Result<(String, HeaderMap, Bytes), String> {
    let end = bytes.windows(2).position(|window| window == b"\n\n");
    let (head, body) = match end {
        Some(end) => (&bytes[..end], &bytes[end + 2..]),
        None => return Err("no blank line after a head".to_owned()),
    };
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let mut headers = HeaderMap::new();
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':').ok_or("a header without a colon")?;
        let name = HeaderName::from_bytes(&line[..colon]).map_err(|error| error.to_string())?;
        let value = line[colon + 1..].trim_ascii();
        headers.append(name, HeaderValue::from_bytes(value).map_err(|error| error.to_string())?);
    }
    Ok((first, headers, Bytes::copy_from_slice(body)))
}
