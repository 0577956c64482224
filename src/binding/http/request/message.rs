//! The messages that a request carries.

use std::{
    borrow::Cow,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use http::HeaderMap;

use super::{head, id::Id};
use crate::{
    binding::{
        client::InlineClient,
        http::scan::{ClientFacts, Facts, ParamsFacts, Shape, Text},
    },
    call::{Call, Client, Kind, Origin, RequestId, Session, TraceContext},
    text,
};

const TOOL_CALL: &str = "tools/call";
const CANCELLED: &str = "notifications/cancelled";
/// The first revision without sessions, in which closing a stream is how a client cancels.
pub(in super::super) const MODERN: &str = "2026-07-28";

/// A request or notification, as far as its end depends on it.
#[derive(Debug)]
pub(in super::super) struct Message {
    pub(in super::super) kind: Kind,
    /// Not known of a notification, nor of what could not be read as far as it.
    id: OnceLock<Id>,
    pub(in super::super) call: Call,
    answered: AtomicBool,
    cancelled: AtomicBool,
    /// Other connections of the session find it.
    listed: AtomicBool,
}

/// A message, and what else of it matters to somebody.
#[derive(Debug)]
pub(in super::super) struct Read {
    pub(in super::super) message: Message,
    /// The revision that it says it is under.
    pub(in super::super) version: Option<String>,
    /// The request that it cancels.
    pub(in super::super) cancels: Option<RequestId>,
}

impl Message {
    fn new(
        kind: Kind,
        method: Cow<'static, str>,
        tool: Option<&str>,
        id: Option<Id>,
        origin: Origin,
    ) -> Self {
        let key = id.as_ref().map(|id| id.key.clone());
        let call = Call::begin(kind, method, tool, key);
        call.add_origin(origin);
        let message = Self {
            kind,
            id: OnceLock::new(),
            call,
            answered: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
            listed: AtomicBool::new(false),
        };
        if let Some(id) = id {
            message.learn_id(id);
        }
        message
    }

    pub(in super::super) fn id(&self) -> Option<&Id> {
        self.id.get()
    }

    /// The id of a message that was read on after it was handed on.
    pub(in super::super) fn learn_id(&self, id: Id) {
        let _ = self.id.set(id);
    }

    /// Whether it has to be answered.
    pub(in super::super) fn is_request(&self) -> bool {
        self.kind != Kind::Notification
    }

    /// Whether it may ask what a task says of itself.
    pub(in super::super) fn may_ask_for_task(&self) -> bool {
        let method = self.call.method();
        method.is_empty() || method.starts_with("tasks/") && method != "tasks/result"
    }

    /// Whether its answer is a stream of what others have caused.
    pub(in super::super) fn is_subscription(&self) -> bool {
        self.call.method() == "subscriptions/listen"
    }

    /// Whether its answer has gone by, or never will.
    pub(in super::super) fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    pub(in super::super) fn set_answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// Whether nobody wants its answer any more: the client has asked for it to stop.
    pub(in super::super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(in super::super) fn set_cancelled(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub(in super::super) fn set_listed(&self) {
        self.listed.store(true, Ordering::Relaxed);
    }

    /// Whether other connections of the session find it; they are then taken not to any more.
    pub(in super::super) fn take_listed(&self) -> bool {
        self.listed.swap(false, Ordering::Relaxed)
    }
}

impl Read {
    /// The message that these facts are about, of `bytes` bytes; `None` where it is an answer to
    /// the server, or none at all.
    pub(in super::super) fn of(facts: &Facts, headers: &HeaderMap) -> Option<Self> {
        // JSON of something else may have an id and a method as well.
        if facts.version != Shape::String && !head::speaks_mcp(headers) {
            return None;
        }
        if facts.method.shape.is_nothing() {
            let is_answer =
                facts.result.shape != Shape::Absent || facts.error.shape != Shape::Absent;
            return Id::of(&facts.id)
                .filter(|_| !is_answer)
                .map(|id| Self::unreadable(Some(id), headers));
        }
        let none = ParamsFacts::default();
        let params = facts.params.as_deref().unwrap_or(&none);
        let name = facts.method.name.get().unwrap_or_default();
        let id = Id::of(&facts.id);
        let kind = kind(&name, facts, params);
        let method = method(kind, &name);
        let tool = if kind.is_tool() { params.name.get() } else { None };
        let version = text(&params.meta_client.protocol_version);
        let origin = origin(headers, &name, params, version.as_deref());
        let message = Message::new(kind, method, tool.as_deref(), id, origin);
        if name.starts_with("tasks/")
            && let Some(task_id) = params.task_id.get()
        {
            message.call.set_asked_task(&task_id);
        }
        if let Some(end) = facts.end {
            message.call.set_request_bytes(end.saturating_sub(facts.begin));
        }
        let cancels = (name == CANCELLED).then(|| Id::of(&params.request_id)).flatten();
        Some(Self { message, version, cancels: cancels.map(|id| id.key) })
    }

    /// The message of a body that could not be read to its end: by what it says as far as it was
    /// read, and by its headers, where the revision requires them.
    pub(in super::super) fn of_start(facts: &Facts, headers: &HeaderMap) -> Option<Self> {
        if !facts.method.shape.is_nothing() {
            return Self::of(facts, headers).map(|mut read| {
                // What is not read yet is not missing.
                if facts.id.is_absent() && read.message.kind == Kind::Notification {
                    read.message = Self::by_name(
                        &facts.method.name.get().unwrap_or_default(),
                        facts.params.as_ref().and_then(|params| params.name.get()).as_deref(),
                        None,
                        headers,
                    );
                }
                read
            });
        }
        let method = head::method(headers)?;
        let tool = head::name(headers).filter(|_| method == TOOL_CALL);
        let message = Self::by_name(method, tool.as_deref(), Id::of(&facts.id), headers);
        Some(Self { message, version: None, cancels: None })
    }

    /// A request that is not even a message, but meant to be one.
    pub(in super::super) fn unreadable(id: Option<Id>, headers: &HeaderMap) -> Self {
        let message = Self::by_name("", None, id, headers);
        Self { message, version: None, cancels: None }
    }

    fn by_name(name: &str, tool: Option<&str>, id: Option<Id>, headers: &HeaderMap) -> Message {
        let kind = match name {
            TOOL_CALL => Kind::ToolCall,
            _ if name.starts_with("notifications/") => Kind::Notification,
            _ => Kind::Request,
        };
        let origin = origin(headers, name, &ParamsFacts::default(), None);
        Message::new(kind, method(kind, name), tool, id, origin)
    }
}

fn kind(method: &str, facts: &Facts, params: &ParamsFacts) -> Kind {
    if facts.id.is_absent() {
        return Kind::Notification;
    }
    if method != TOOL_CALL {
        return Kind::Request;
    }
    let has_arguments = matches!(params.arguments, Shape::Absent | Shape::Null | Shape::Object);
    if params.name.is_absent() || !has_arguments {
        return Kind::MalformedToolCall;
    }
    Kind::ToolCall
}

/// The name of a method, cut as every binding cuts it.
fn method(kind: Kind, name: &str) -> Cow<'static, str> {
    const KNOWN: [&str; 11] = [
        TOOL_CALL,
        "initialize",
        "tools/list",
        "notifications/initialized",
        "resources/read",
        "resources/list",
        "prompts/get",
        "prompts/list",
        "ping",
        "tasks/get",
        CANCELLED,
    ];
    if let Some(known) = KNOWN.iter().find(|known| **known == name) {
        return Cow::Borrowed(known);
    }
    let max = if kind == Kind::Notification { text::NAME_CHARS } else { text::RAW_NAME_CHARS };
    Cow::Owned(text::cut(name, max).into_owned())
}

fn origin(
    headers: &HeaderMap,
    method: &str,
    params: &ParamsFacts,
    version: Option<&str>,
) -> Origin {
    let trace = params.traceparent.get().and_then(|trace| TraceContext::parse(&trace));
    let client = if method == "initialize" { client(&params.client) } else { None };
    let asked = if method == "initialize" { text(&params.client.protocol_version) } else { None };
    let version = version.or_else(|| head::version(headers)).map(str::to_owned).or(asked);
    Origin {
        client: client.or_else(|| self::client(&params.meta_client)),
        protocol_version: version.map(known_version),
        transport: Some(Cow::Borrowed("http")),
        session: head::session(headers).map(|id| Session::from_id(id.as_bytes())),
        trace: trace
            .or_else(|| headers.get("traceparent")?.to_str().ok().and_then(TraceContext::parse)),
        ..Origin::default()
    }
}

/// A revision, nearly always one that needs no copy.
fn known_version(version: String) -> Cow<'static, str> {
    const KNOWN: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN];
    let known = KNOWN.iter().find(|known| **known == version);
    known.map_or(Cow::Owned(version), |known| Cow::Borrowed(known))
}

fn client(facts: &ClientFacts) -> Option<Arc<dyn Client>> {
    if facts.name.is_absent() && facts.version.is_absent() {
        return None;
    }
    let (name, version) = (text(&facts.name), text(&facts.version));
    Some(Arc::new(InlineClient::new(name.as_deref(), version.as_deref())))
}

fn text(fact: &Text) -> Option<String> {
    fact.get().map(|fact| text::cut(&fact, text::RAW_NAME_CHARS).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::http::scan::{Config, Scanner};

    fn read(message: &str) -> Option<Read> {
        let mut scanner = Scanner::new(Config::requests());
        let mut rest = message.as_bytes();
        while !rest.is_empty() {
            let (read, _) = scanner.push(rest);
            rest = &rest[read..];
        }
        let mut headers = HeaderMap::new();
        headers.insert("mcp-protocol-version", http::HeaderValue::from_static("2025-11-25"));
        Read::of(scanner.facts(), &headers)
    }

    #[test]
    fn what_a_message_is() {
        for (message, expected) in [
            (r#"{"id":1,"method":"tools/call","params":{"name":"t"}}"#, Some(Kind::ToolCall)),
            (
                r#"{"params":{"arguments":{},"name":"t"},"method":"tools/call","id":"a"}"#,
                Some(Kind::ToolCall),
            ),
            (
                r#"{"id":1,"method":"tools/call","params":{"name":"t","arguments":null}}"#,
                Some(Kind::ToolCall),
            ),
            (
                r#"{"id":1,"method":"tools/call","params":{"name":"t","arguments":"x"}}"#,
                Some(Kind::MalformedToolCall),
            ),
            (
                r#"{"id":1,"method":"tools/call","params":{"name":7}}"#,
                Some(Kind::MalformedToolCall),
            ),
            (r#"{"id":1,"method":"tools/call"}"#, Some(Kind::MalformedToolCall)),
            (r#"{"id":1,"method":"tools/list"}"#, Some(Kind::Request)),
            (r#"{"method":"notifications/initialized"}"#, Some(Kind::Notification)),
            (r#"{"id":null,"method":"ping"}"#, Some(Kind::Request)),
            (r#"{"id":1,"method":7}"#, Some(Kind::Request)),
            (r#"{"id":1,"result":{}}"#, None),
            (r#"{"id":1,"error":null}"#, None),
            (r#"{"id":1,"method":null}"#, Some(Kind::Request)),
            (r#"{"id":1}"#, Some(Kind::Request)),
            ("{}", None),
            ("7", None),
            ("", None),
        ] {
            assert_eq!(read(message).map(|read| read.message.kind), expected, "{message}");
        }
    }

    #[test]
    fn an_id_means_what_it_means_to_the_servers_own_library() {
        let id = |json: &str| {
            let read = read(&format!(r#"{{"method":"m","id":{json}}}"#)).unwrap();
            read.message.id().map(|id| (id.json.to_string(), id.key.clone()))
        };
        let number = |number| Some((number_text(number), RequestId::Number(number)));
        fn number_text(number: i64) -> String {
            number.to_string()
        }
        for it in [0, -3, 7, i64::MAX, i64::MIN] {
            assert_eq!(id(&it.to_string()), number(it));
        }
        for json in ["1.0", "-0", "-0.0", "1e309", "18446744073709551616", "null", r#"{"a":[1]}"#] {
            assert_eq!(id(json), Some((json.to_owned(), RequestId::Json(json.into()))), "{json}");
        }
        let text = r#""\u0061""#;
        assert_eq!(id(text), Some((text.to_owned(), RequestId::String("a".into()))));
        let long = format!("\"{}\"", "x".repeat(10_000));
        assert_eq!(id(&long).map(|(json, _)| json), Some(long));
        assert_eq!(id(&format!("\"{}\"", "x".repeat(20_000))), None);
    }
}
