//! What one layer does about a request, whichever of the layers it is.

use std::{sync::Arc, time::Duration};

use super::{
    answer::Desk,
    exchange::Exchange,
    frames::Frames,
    guard::Guard,
    request::{Contents, Reading, Sort},
    seats::Seats,
    sessions,
};
use crate::{
    call::{Kind, Origin, Reach},
    contain::Settings,
    log::Logging,
    policy::Policy,
    target,
};

/// Bytes of a request that are kept, unread, until something fails.
const MAX_UNREAD: usize = 16 * 1024;

/// What one layer does about a request.
#[derive(Default)]
pub(super) struct Duty {
    pub(super) logging: Option<Arc<Logging>>,
    pub(super) policy: Option<Arc<Policy>>,
    pub(super) contains: bool,
    pub(super) deadline: Option<Duration>,
    /// Whether what is inside is dropped once its client does not want it any more.
    pub(super) aborts: bool,
    pub(super) max_request_bytes: Option<usize>,
}

/// A layer at work on a request.
pub(super) struct Begun {
    pub(super) desk: Desk,
    pub(super) guard: Guard,
    /// The layer's own, which the policy's gives way to.
    deadline: Option<Duration>,
}

impl Begun {
    /// Begins to count, where there has to be an answer in time. To be asked once the request is
    /// handed on: a layer further in may have given the call its policy.
    pub(super) fn arm(&mut self) {
        if !self.guard.contains || self.desk.exchange.is_unread() {
            return;
        }
        let mut tools = self.desk.exchange.messages().iter().filter(|it| it.kind == Kind::ToolCall);
        let deadline = tools
            .next()
            .and_then(|tool| self.deadline.or_else(|| tool.call.policy().deadline_after()));
        self.guard.set_deadline(deadline);
    }
}

impl Duty {
    /// Of a layer that contains.
    pub(super) fn containing(settings: &Settings) -> Self {
        Self {
            policy: settings.policy.clone(),
            contains: true,
            deadline: settings.deadline,
            aborts: settings.abort_on_cancel,
            max_request_bytes: settings.max_request_bytes,
            logging: None,
        }
    }

    /// Logs as well.
    pub(super) fn logging(self, logging: Arc<Logging>) -> Self {
        Self { max_request_bytes: logging.max_request_bytes, logging: Some(logging), ..self }
    }

    /// Whether the layer has anything to do.
    pub(super) fn is_needed(&self) -> bool {
        self.contains || self.needs_calls()
    }

    /// Whether it needs to know what a request says, even if it does not fail.
    fn needs_calls(&self) -> bool {
        let is_told = self.logging.as_ref().is_some_and(|logging| logging.is_needed());
        // One that only logs has nothing to do with what others need.
        let is_log = self.logging.is_some() && !self.contains;
        let has_rules = self.policy.is_some() || self.deadline.is_some();
        is_told || (!is_log && (has_rules || target::are_calls_needed()))
    }

    /// What is known of a request whose body has been read as far as it will be.
    pub(super) fn exchange<B: http_body::Body>(
        &self,
        parts: &http::request::Parts,
        reading: &Reading<B>,
    ) -> Exchange {
        if !self.needs_calls() && reading.is_whole() && reading.len() <= MAX_UNREAD {
            return Exchange::unread(Sort::Messages, parts, reading.frames().clone());
        }
        Exchange::new(Sort::Messages, parts, reading.contents(&parts.headers))
    }

    /// The same of one whose body nobody reads.
    pub(super) fn exchange_by_head(&self, sort: Sort, parts: &http::request::Parts) -> Exchange {
        if !self.needs_calls() {
            return Exchange::unread(sort, parts, Frames::default());
        }
        let contents = match sort {
            Sort::Encoded => Contents::unread(&parts.headers),
            _ => Contents::default(),
        };
        Exchange::new(sort, parts, contents)
    }

    /// Begins the work.
    pub(super) fn begin(self, exchange: Arc<Exchange>, is_owner: bool) -> Begun {
        let mut guard = Guard::new(self.contains);
        guard.aborts = self.aborts;
        let sits = match &self.logging {
            Some(logging) if !self.contains => logging.is_heard(),
            _ => self.needs_calls(),
        };
        if let Some(route) = self.logging.as_ref().and_then(|logging| logging.route()) {
            exchange.set_route(route);
        }
        let mut seats = Seats::new(self.logging.clone(), self.policy);
        if !exchange.is_unread() {
            seats.take(&exchange, sits);
        }
        if sits && is_owner {
            begin_session(&exchange);
        }
        // Of several messages nobody can tell here which one is worked on.
        if sits
            && !exchange.is_unread()
            && let [message] = exchange.messages()
        {
            guard.reach = Reach::of(message.call.clone());
        }
        if let Some(logging) = self.logging.as_ref().filter(|logging| logging.is_heard()) {
            guard.span = begin_logging(logging, &exchange);
        }
        let deadline = self.deadline;
        Begun { desk: Desk::new(exchange, seats, self.contains, is_owner), guard, deadline }
    }
}

fn begin_logging(logging: &Logging, exchange: &Exchange) -> Option<crate::log::ToolSpan> {
    let mut span = None;
    if let Some(call) = exchange.http_call() {
        logging.name_route(call);
    }
    for message in exchange.messages() {
        let begun = logging.begin(&message.call);
        if exchange.messages().len() == 1 {
            span = begun;
        }
    }
    span
}

/// Lets other connections of the session find the calls.
fn begin_session(exchange: &Arc<Exchange>) {
    let Some(session) = exchange.session else { return };
    for message in exchange.messages().iter().filter(|message| message.is_request()) {
        if let Some(id) = message.id() {
            message.set_listed();
            let client = sessions::begin(session, &id.key, &message.call, exchange);
            if client.is_some() {
                message.call.add_origin(Origin { client, ..Origin::default() });
            }
        }
    }
    for id in exchange.cancels() {
        sessions::cancel(session, id);
    }
}
