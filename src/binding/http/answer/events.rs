//! An answer in a stream of events.

use bytes::Bytes;

use super::{
    desk::{Decision, Desk},
    event::{data_of, elements_of, with_data},
    held::{Cut, Held, Mode, piece},
    task,
};
use crate::{
    binding::http::{
        MAX_MESSAGES,
        frames::Frames,
        request::Sort,
        scan::{Config, Envelope, EventScanner, Facts, Progress, Seen},
        write,
    },
    contain::Fault,
};

/// Reads a stream of events as it goes by, and, where it contains, keeps back of it what may not
/// go out. An event counts at its end: nobody dispatches a part of one.
pub(super) struct EventsAnswer {
    scanner: EventScanner,
    mode: Mode,
    held: Held,
    /// Whether the event's message has gone by to its end, where it is no array.
    has_message: bool,
    /// The messages of an array.
    messages: Vec<Facts>,
    /// There are more of them than are told apart.
    is_crowded: bool,
    /// Whether a part of an event has gone out that has not ended.
    is_inside: bool,
    /// Whether another event has taken the place of one.
    has_replaced: bool,
}

impl EventsAnswer {
    pub(super) fn new(config: Config) -> Self {
        Self {
            scanner: EventScanner::new(config),
            mode: Mode::Deciding,
            held: Held::default(),
            has_message: false,
            messages: Vec::new(),
            is_crowded: false,
            is_inside: false,
            has_replaced: false,
        }
    }

    pub(super) fn has_replaced(&self) -> bool {
        self.has_replaced
    }

    /// Reads a frame, all of which goes on. Tells of each message, and whether it stands in an
    /// array.
    pub(super) fn watch(
        &mut self,
        frame: &Bytes,
        desk: &mut Desk,
        mut message: impl FnMut(&mut Desk, &Facts, bool),
    ) {
        let mut rest = &**frame;
        while !rest.is_empty() {
            let (read, seen) = self.scanner.push(rest);
            rest = rest.get(read..).unwrap_or_default();
            match seen {
                Seen::End => self.end(),
                Seen::Dispatch => {
                    self.dispatched(desk);
                    for facts in std::mem::take(&mut self.messages) {
                        message(desk, &facts, true);
                    }
                    if std::mem::take(&mut self.has_message) {
                        message(desk, self.scanner.facts(), false);
                    }
                }
                Seen::Envelope | Seen::Nothing => {}
            }
        }
    }

    /// Reads a frame, of which that goes on that may, in one piece where nothing of it has to wait.
    pub(super) fn edit(
        &mut self,
        frame: &Bytes,
        desk: &mut Desk,
        out: &mut Frames,
    ) -> Result<(), Cut> {
        // What stands before `start` is settled; what stands before `event`, where the event begins
        // that is being read, may go on; what stands before `at` is read.
        let (mut start, mut event, mut at) = (0, 0, 0);
        while at < frame.len() {
            let (read, seen) = self.scanner.push(frame.get(at..).unwrap_or_default());
            at += read;
            match seen {
                Seen::Envelope => self.envelope(desk)?,
                Seen::End => self.end(),
                Seen::Dispatch => {
                    self.dispatched(desk);
                    // An error that never ended says what it must not, to whoever reads bytes.
                    let is_unfit = self.mode == Mode::Holding && self.is_unfit(desk);
                    let replacement = if is_unfit {
                        self.forget();
                        None
                    } else {
                        self.judge(frame.get(event..at).unwrap_or_default(), desk)
                    };
                    let is_dropped =
                        is_unfit || replacement.is_some() || self.mode == Mode::Discarding;
                    if is_dropped {
                        self.held.discard();
                        out.extend(piece(frame, start, event));
                        if replacement.is_none() && self.is_inside {
                            // Ends the lines of it that have gone out, which then are no event.
                            out.push_back(Bytes::from_static(b"\n"));
                        }
                        self.has_replaced |= replacement.is_some();
                        out.extend(replacement);
                        start = at;
                    } else {
                        // Of this event, so nothing of this frame has gone before it.
                        self.held.release(out);
                    }
                    event = at;
                    self.mode = Mode::Deciding;
                    self.is_inside = false;
                }
                Seen::Nothing if read == 0 => break,
                Seen::Nothing => {}
            }
        }
        let is_open = self.scanner.is_open();
        match self.mode {
            // Comments that keep a connection open need not wait, nor do other lines before the
            // data; but a line that has not ended may be the first of that.
            Mode::Deciding if is_open && !self.scanner.has_data() => {
                let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
                let lines = frame.iter().rposition(is_end).map_or(0, |at| at + 1);
                if lines > event {
                    self.is_inside = true;
                    self.held.release(out);
                    event = lines;
                }
                out.extend(piece(frame, start, event));
                self.held.push(piece(frame, event, frame.len()).unwrap_or_default());
            }
            Mode::Deciding | Mode::Holding if is_open => {
                out.extend(piece(frame, start, event));
                self.held.push(piece(frame, event, frame.len()).unwrap_or_default());
                if self.held.is_full() {
                    return self.overflow(desk, out);
                }
            }
            Mode::Discarding => out.extend(piece(frame, start, event)),
            _ => {
                self.is_inside = is_open;
                self.held.release(out);
                out.extend(piece(frame, start, frame.len()));
            }
        }
        Ok(())
    }

    /// What is in the event has become known.
    fn envelope(&mut self, desk: &Desk) -> Result<(), Cut> {
        let envelope = self.scanner.facts().envelope();
        let is_error = envelope == Envelope::Error;
        match self.mode {
            Mode::Flowing if is_error && desk.contains => return Err(Cut::TWO_KINDS),
            Mode::Flowing | Mode::Discarding => {}
            Mode::Deciding | Mode::Holding => {
                let is_held = is_error
                    || self.scanner.is_batch()
                    || match envelope {
                        Envelope::Result => desk.holds_result(self.scanner.facts()),
                        Envelope::NotAnAnswer => desk.holds_notification(self.scanner.facts()),
                        Envelope::Undecided | Envelope::Error => false,
                    };
                self.mode = if is_held { Mode::Holding } else { Mode::Flowing };
            }
        }
        Ok(())
    }

    /// Whether what is held can be judged by nobody, and may have an error in it.
    fn is_unfit(&self, desk: &Desk) -> bool {
        let facts = self.scanner.facts();
        let is_held_for_errors = match facts.envelope() {
            Envelope::Error => true,
            // On a stream of what others have caused it is as likely a result that is none's failure.
            Envelope::Result => {
                (desk.exchange.sort != Sort::Stream && desk.may_tell_of_task())
                    || task::has_error(facts, desk.may_tell_of_task())
            }
            Envelope::NotAnAnswer => task::is_notification(facts),
            Envelope::Undecided => false,
        };
        let is_open = !self.has_message
            && !self.scanner.is_batch()
            && self.scanner.progress() != Progress::Complete;
        is_open && is_held_for_errors || self.is_crowded
    }

    /// The event counts as none.
    fn forget(&mut self) {
        self.has_message = false;
        self.is_crowded = false;
        self.messages.clear();
    }

    /// A message has gone by to its end.
    fn end(&mut self) {
        if self.mode == Mode::Discarding {
            return;
        }
        if !self.scanner.is_batch() {
            self.has_message = true;
        } else if self.messages.len() < MAX_MESSAGES {
            self.messages.push(self.scanner.take_facts());
        } else {
            self.is_crowded = true;
        }
    }

    /// The event ends with `rest`. Gives what takes its place, if anything does.
    fn judge(&mut self, rest: &[u8], desk: &mut Desk) -> Option<Bytes> {
        let messages = std::mem::take(&mut self.messages);
        let raw = (self.mode == Mode::Holding).then(|| self.held.with(rest));
        let data = raw.as_deref().map(data_of);
        let text = if std::mem::take(&mut self.has_message) {
            match desk.decide_alone(self.scanner.facts(), data.as_deref()) {
                Decision::Pass => return None,
                Decision::Replace(texts) => match &*texts {
                    [text] => text.clone(),
                    texts => write::batch(texts),
                },
            }
        } else {
            judge_batch(&messages, data.as_deref(), desk)?
        };
        Some(with_data(raw.as_deref().unwrap_or_default(), &text))
    }

    /// The event has ended, and with its id it can be asked for again.
    fn dispatched(&self, desk: &Desk) {
        if self.scanner.has_event_id() {
            desk.exchange.set_resumable();
        }
    }

    /// More is held than may be.
    fn overflow(&mut self, desk: &mut Desk, out: &mut Frames) -> Result<(), Cut> {
        if !self.has_error(desk) {
            // A success of whatever size is not to be harmed.
            self.mode = Mode::Flowing;
            self.is_inside = true;
            self.held.release(out);
            return Ok(());
        }
        let raw = self.held.take_start();
        let fault = Fault::oversize(&raw);
        self.mode = Mode::Discarding;
        self.messages.clear();
        if self.scanner.is_batch() {
            return Err(Cut::OVERSIZE);
        }
        if self.scanner.facts().envelope() == Envelope::NotAnAnswer {
            // Clients ask for a task whose notification has not come.
            return Ok(());
        }
        match desk.fail_one(self.scanner.facts(), &fault) {
            Some(answer) => {
                out.push_back(with_data(&raw, &answer));
                self.has_replaced = true;
                self.is_inside = false;
                Ok(())
            }
            None => Err(Cut::OVERSIZE),
        }
    }

    /// Whether there is an error in the event that is being read.
    fn has_error(&self, desk: &Desk) -> bool {
        let facts = self.scanner.facts();
        facts.envelope() == Envelope::Error
            || task::has_error(facts, desk.may_tell_of_task())
            || self.messages.iter().any(|facts| facts.envelope() == Envelope::Error)
    }

    /// The stream ends: an event that lacks nothing but its blank line gets one.
    pub(super) fn finish(&mut self, desk: &mut Desk, out: &mut Frames) {
        let is_whole = self.has_message
            || (!self.messages.is_empty() && self.scanner.progress() == Progress::Complete);
        if !is_whole || !self.scanner.is_open() || self.mode == Mode::Discarding {
            return;
        }
        match self.judge(&[], desk) {
            Some(event) => {
                self.held.discard();
                self.has_replaced = true;
                out.push_back(event);
            }
            None => {
                self.held.release(out);
                out.push_back(Bytes::from_static(b"\n\n"));
            }
        }
        self.mode = Mode::Deciding;
        self.is_inside = false;
    }

    /// The stream ends: what is left of it goes on, or is dropped where `text` is to follow it.
    pub(super) fn close(&mut self, answers: &[String], desk: &Desk, out: &mut Frames) {
        if answers.is_empty() && self.mode != Mode::Discarding && !self.has_error(desk) {
            self.held.release(out);
        }
        // The start of an error that never ended may say what it must not, to whoever reads bytes.
        self.held.discard();
        if answers.is_empty() {
            return;
        }
        let mut text = String::new();
        if self.is_inside {
            // Ends what has begun; nobody can make anything of it.
            text.push_str("\n\n");
        }
        for answer in answers {
            text.push_str(&write::event(answer));
        }
        out.push_back(text.into());
    }
}

/// The text that takes the place of an array of messages, if one of them is not to go out.
fn judge_batch(messages: &[Facts], data: Option<&[u8]>, desk: &mut Desk) -> Option<String> {
    let mut messages = messages.iter();
    let mut is_replaced = false;
    let mut texts = Vec::new();
    for element in data.map(elements_of).unwrap_or_default() {
        let element = element.get();
        // What is no object is no message.
        let facts = element.starts_with('{').then(|| messages.next()).flatten();
        match facts.map(|facts| desk.decide(facts, Some(element.as_bytes()))) {
            None | Some(Decision::Pass) => texts.push(element.to_owned()),
            Some(Decision::Replace(replacement)) => {
                is_replaced = true;
                texts.extend(replacement);
            }
        }
    }
    // Those that nobody holds any more.
    messages.for_each(|facts| drop(desk.decide(facts, None)));
    is_replaced.then(|| write::batch(&texts))
}
