//! How a call is closed: its terminal event, and what no terminal event tells of.

use std::{
    borrow::Cow,
    sync::{Arc, MutexGuard},
    time::{Duration, Instant},
};

use crate::{
    call::{Call, CallId, Kind, Origin, Record, State, Verdict, record, tasks},
    outcome::{Code, Outcome},
};

impl Call {
    /// Closes the call and writes its terminal event. `otherwise` is the verdict where there is
    /// none. Whatever happens in there costs at most the event.
    pub(crate) fn close(&self, otherwise: impl FnOnce() -> Verdict) {
        self.finish(self.state(), otherwise);
    }

    /// The same, unless the end may still come on another connection.
    pub(super) fn close_unless_waited_for(&self, otherwise: impl FnOnce() -> Verdict) {
        let state = self.state();
        if state.waiting == 0 || state.verdict.is_some() {
            self.finish(state, otherwise);
        }
    }

    /// Gives up waiting.
    #[cfg(feature = "http")]
    pub(super) fn wait_no_more(&self) {
        let mut state = self.state();
        state.waiting = state.waiting.saturating_sub(1);
        if state.waiting == 0 && self.is_idle() {
            self.finish(state, || Verdict::abandoned(None));
        }
    }

    fn finish(&self, mut state: MutexGuard<'_, State>, otherwise: impl FnOnce() -> Verdict) {
        if std::mem::replace(&mut state.closed, true) {
            return;
        }
        let decided = state.verdict.take();
        let waker = state.waker.take();
        let deposit = state.deposit.take();
        let notes = std::mem::take(&mut state.notes);
        let asked_task = state.task_id.clone();
        let is_deferred = decided.as_ref().is_some_and(|(verdict, _)| verdict.task.is_some());
        // A task's stays, for work that begins when it has been answered already.
        let background = match is_deferred {
            true => Some(self.background_in(&mut state)),
            false => state.background.take(),
        };
        // Those two stay, for what is reported after the terminal event.
        let sinks = state.sinks.clone();
        let origin = state.origin.clone();
        let traffic = state.traffic;
        drop(state);

        // From here on others' code runs: subscribers, hooks, redactors.
        drop(waker);
        let (mut verdict, at) = decided.unwrap_or_else(|| (otherwise(), Instant::now()));
        let created = verdict.task.take();
        // Without a task there is no other end for what work of the call's own has left behind.
        let (background, left) = match background {
            Some(background) if created.is_none() => (None, background.close_untold()),
            other => (other, None),
        };
        let (deposit, also_lost) = match deposit {
            Some(deposit) => (Some(deposit), left),
            None if verdict.failure.is_some() => (left, None),
            // Whatever the call itself came to, nobody else tells of that.
            None => (None, left),
        };
        let (verdict, lost) = settle(verdict, deposit);
        let level = record::level_of(self.0.kind, verdict.failure.as_deref(), !traffic.is_unread);
        if sinks.want(level) {
            let record = Record {
                outcome: verdict.outcome,
                failure: verdict.failure,
                reason: verdict.reason,
                task_id: created.as_ref().map(|task| task.id.clone()).or(asked_task),
                duration: at.saturating_duration_since(self.0.started),
                notes,
                request_bytes: traffic.request,
                result_bytes: traffic.result,
                result_scanned: !traffic.is_unread,
                ..self.blank_record(origin.unwrap_or_default())
            };
            sinks.tell(record);
        } else if sinks.is_empty() && verdict.has_cause() {
            // No LogLayer: the cause is all that is written.
            self.report(verdict);
        }
        for lost in lost.into_iter().chain(also_lost.map(|lost| *lost)) {
            self.report(lost);
        }
        if let (Some(task), Some(background)) = (created, background) {
            tasks::remember(background, &task);
        }
    }

    pub(super) fn record_of_lost(&self, verdict: Verdict, origin: Arc<Origin>) -> Record {
        Record {
            outcome: verdict.outcome,
            failure: verdict.failure,
            duration: self.0.started.elapsed(),
            task_id: self.asked_task(),
            ..self.blank_record(origin)
        }
    }

    fn blank_record(&self, origin: Arc<Origin>) -> Record {
        Record {
            call_id: self.0.id,
            kind: self.0.kind,
            method: self.0.method.clone(),
            tool: self.raw_tool().map(Into::into),
            request_id: self.0.request_id.clone(),
            origin,
            outcome: Outcome::Completed,
            failure: None,
            reason: None,
            task_id: None,
            duration: Duration::ZERO,
            request_bytes: None,
            result_bytes: None,
            result_scanned: true,
            notes: Vec::new(),
        }
    }
}

/// Puts what the tool left behind with the verdict that it belongs to; gives back what belongs to
/// none.
fn settle(mut verdict: Verdict, deposit: Option<Box<Verdict>>) -> (Verdict, Option<Verdict>) {
    let Some(mut deposit) = deposit else {
        return (verdict, None);
    };
    let (Some(failure), Some(left)) = (&mut verdict.failure, &mut deposit.failure) else {
        // The tool failed while its client was leaving: no terminal line says so. Or it met a
        // failure and got over it.
        let left = matches!(verdict.outcome, Outcome::Cancelled | Outcome::Abandoned);
        return (verdict, Some(*deposit).filter(|_| left));
    };
    // The wire says `internal_error` of a panic.
    let is_panic = failure.code == Code::INTERNAL_ERROR && left.code == Code::PANIC;
    if verdict.outcome != deposit.outcome || (failure.code != left.code && !is_panic) {
        return (verdict, Some(*deposit));
    }
    if is_panic {
        failure.code = left.code.clone();
        failure.level = left.level;
    }
    failure.cause = failure.cause.take().or(left.cause.take());
    (verdict, None)
}

/// Logs at once what the client is not told about a failure, where no call is in reach: in a task
/// of its own, or outside of any request. `reference` is what the client is told to refer to;
/// `method` is empty where it is not known.
pub(crate) fn report_without_call(
    reference: CallId,
    kind: Kind,
    method: &'static str,
    failure: Verdict,
) {
    Call::new(reference, kind, Cow::Borrowed(method), None, None).report(failure);
}
