//! What goes on of a call behind its answer: work that it has spawned, a task.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, atomic::AtomicU32},
    time::Instant,
};

use super::{Call, Inner, Kind, Name, State, Verdict};
use crate::text;

impl Call {
    /// What goes on of this call behind its answer: a record of its own under the same id, which is
    /// closed when the end of the task is seen that the call ends in. Where it ends in none, what
    /// is left with it is the call's own, or, from then on, is logged at once.
    pub(crate) fn background(&self) -> Self {
        let mut state = self.state();
        if state.is_background {
            return self.clone();
        }
        if state.closed && state.background.is_none() {
            // It has ended in no task.
            let background = self.sibling(&state);
            background.state().closed = true;
            return background;
        }
        self.background_in(&mut state)
    }

    /// The same of an open call, whose state this is.
    pub(super) fn background_in(&self, state: &mut State) -> Self {
        if let Some(background) = &state.background {
            return background.clone();
        }
        let background = self.sibling(state);
        state.background.insert(background).clone()
    }

    /// A record under the same id, told to the same sinks under the same policy.
    fn sibling(&self, own: &State) -> Self {
        let call = self.under_same_id(own, self.0.kind, self.0.method.clone(), self.0.tool.clone());
        call.state().is_background = true;
        call
    }

    /// The record of a task that nobody remembers, which an answer to this call tells of: no more
    /// is known of it than that a tool began it.
    pub(super) fn of_unknown_task(&self, id: &str) -> Self {
        let call = self.under_same_id(&self.state(), Kind::ToolCall, "tools/call".into(), None);
        call.set_asked_task(id);
        call.state().closed = true;
        call
    }

    pub(super) fn under_same_id(
        &self,
        own: &State,
        kind: Kind,
        method: Cow<'static, str>,
        tool: Option<Name>,
    ) -> Self {
        let state = State {
            has_started: true,
            has_span: true,
            origin: own.origin.clone(),
            policy: own.policy.clone(),
            sinks: own.sinks.clone(),
            ..State::default()
        };
        Self(Arc::new(Inner {
            id: self.0.id,
            started: self.0.started,
            kind,
            method,
            tool,
            request_id: self.0.request_id.clone(),
            seats: AtomicU32::new(0),
            state: Mutex::new(state),
        }))
    }

    /// The task that it is, or that it asks about.
    pub(crate) fn asked_task(&self) -> Option<Box<str>> {
        self.state().task_id.clone()
    }

    /// Says which task it asks about.
    pub(crate) fn set_asked_task(&self, id: &str) {
        self.state().task_id = Some(text::prefix(id, text::RAW_NAME_CHARS).into());
    }

    /// Closes the record of a task that has ended in this, at that time.
    pub(super) fn finish_task(&self, verdict: Verdict, at: Instant) {
        self.state().verdict = Some((verdict, at));
        self.close(|| Verdict::abandoned(None));
    }

    /// Closes the call without an event. What was left with it is the caller's; what will be is
    /// logged at once.
    pub(super) fn close_untold(&self) -> Option<Box<Verdict>> {
        let mut state = self.state();
        state.closed = true;
        state.deposit.take()
    }

    /// Whether a failure of it was logged that no terminal event tells of.
    pub(super) fn is_reported(&self) -> bool {
        self.state().is_reported
    }

    /// Whether nobody is told of it.
    pub(super) fn is_unheard(&self) -> bool {
        self.state().sinks.is_empty()
    }
}
