//! An answer in JSON: one message, or a batch of them.

use bytes::Bytes;

use super::{
    desk::{Decision, Desk},
    held::{Cut, Held, Mode, piece},
    task,
};
use crate::{
    binding::http::{
        frames::Frames,
        scan::{Config, Envelope, Facts, Progress, Scanner, Seen, Shape},
    },
    contain::Fault,
};

const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Reads a JSON body as it goes by, and, where it contains, keeps of it what may not go out.
pub(super) struct JsonAnswer {
    is_strict: bool,
    /// Bytes of a byte order mark that were read.
    marked: usize,
    scanner: Scanner,
    mode: Mode,
    held: Held,
    /// Whether anything has gone out.
    has_begun: bool,
    /// Whether messages of a batch have gone by.
    has_elements: bool,
    is_closed: bool,
}

/// What a frame has led to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    More,
    /// This is the whole answer.
    Replaced(Vec<String>),
    /// It is the answer to nothing that was asked, and nothing of it has gone out.
    Stray,
}

impl JsonAnswer {
    /// `is_strict` where the status speaks against an answer, so that only what says that it is
    /// JSON-RPC is one.
    pub(super) fn new(config: Config, is_strict: bool) -> Self {
        Self {
            is_strict,
            marked: 0,
            scanner: Scanner::new(config),
            mode: Mode::Deciding,
            held: Held::default(),
            has_begun: false,
            has_elements: false,
            is_closed: false,
        }
    }

    /// Whether nothing has gone out, and so the head has not either.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether all of the text has gone by.
    pub(super) fn is_complete(&self) -> bool {
        self.scanner.progress() == Progress::Complete
    }

    /// Whether it is a batch.
    pub(super) fn is_batch(&self) -> bool {
        self.scanner.is_batch()
    }

    /// Whether it is no JSON.
    pub(super) fn is_malformed(&self) -> bool {
        self.scanner.progress() == Progress::Malformed
    }

    /// How much of a frame belongs to a byte order mark, which some servers put before their JSON
    /// and some clients take.
    fn skip_mark(&mut self, frame: &[u8]) -> usize {
        let mut skipped = 0;
        while let (Some(mark), Some(byte)) = (MARK.get(self.marked), frame.get(skipped)) {
            if mark != byte {
                self.marked = MARK.len();
                break;
            }
            self.marked += 1;
            skipped += 1;
        }
        skipped
    }

    /// Reads a frame, all of which goes on. Tells of each message, and whether it stands in an
    /// array.
    pub(super) fn watch(&mut self, frame: &Bytes, mut message: impl FnMut(&Facts, bool)) {
        let mut rest = frame.get(self.skip_mark(frame)..).unwrap_or_default();
        while !rest.is_empty() {
            let (read, seen) = self.scanner.push(rest);
            rest = rest.get(read..).unwrap_or_default();
            if seen == Seen::End {
                let is_batch = self.scanner.is_batch();
                message(self.scanner.facts(), is_batch);
                if is_batch {
                    self.scanner.take_facts();
                }
            }
        }
    }

    /// Reads a frame, of which that goes on that may.
    pub(super) fn edit(
        &mut self,
        frame: Bytes,
        desk: &mut Desk,
        out: &mut Frames,
    ) -> Result<Step, Cut> {
        if desk.is_settled {
            out.push_back(frame);
            return Ok(Step::More);
        }
        if self.is_complete() && !is_blank(&frame) {
            return Err(Cut::TWO_TEXTS);
        }
        // What stands before `start` is settled, what stands before `at` is read.
        let (mut start, mut at) = (0, self.skip_mark(&frame));
        while at < frame.len() {
            let (read, seen) = self.scanner.push(frame.get(at..).unwrap_or_default());
            at += read;
            match seen {
                Seen::Envelope => {
                    self.envelope(desk)?;
                    if desk.is_settled {
                        break;
                    }
                }
                Seen::End => {
                    let single = !self.scanner.is_batch();
                    let facts = self.scanner.facts();
                    if self.is_strict && facts.version != Shape::String {
                        return Ok(Step::Stray);
                    }
                    if self.is_odd_array(desk) {
                        return Ok(Step::Stray);
                    }
                    if single && !is_blank(frame.get(at..).unwrap_or_default()) {
                        return Err(Cut::TWO_TEXTS);
                    }
                    let raw = (self.mode == Mode::Holding)
                        .then(|| self.held.with(frame.get(start..at).unwrap_or_default()));
                    let raw = raw.as_deref().map(|raw| lead(raw).1);
                    let owed = desk.owed();
                    let decision = match self.mode {
                        Mode::Discarding => Decision::Pass,
                        _ if single => desk.decide_alone(facts, raw),
                        _ => desk.decide(facts, raw),
                    };
                    match (decision, self.mode) {
                        (_, Mode::Discarding) => start = at,
                        _ if single && !self.has_begun && owed > 0 && desk.owed() == owed => {
                            return Ok(Step::Stray);
                        }
                        (Decision::Replace(text), _) if single => {
                            self.held.discard();
                            return Ok(Step::Replaced(text));
                        }
                        (Decision::Replace(text), _) => {
                            let replaced =
                                self.held.take_with(frame.get(start..at).unwrap_or_default());
                            out.push_back(Bytes::copy_from_slice(lead(&replaced).0));
                            out.push_back(text.join(",").into());
                            self.has_begun = true;
                            start = at;
                        }
                        (Decision::Pass, _) => {
                            self.held.release(out);
                            self.has_begun = true;
                        }
                    }
                    self.has_elements = true;
                    // What is between the messages of a batch goes with the next one.
                    self.mode = if single { Mode::Flowing } else { Mode::Deciding };
                    if !single {
                        self.scanner.take_facts();
                        out.extend(piece(&frame, start, at));
                        start = at;
                    }
                }
                Seen::Nothing | Seen::Dispatch => {}
            }
            if read == 0 {
                break;
            }
        }
        if self.is_odd_array(desk) {
            return Ok(Step::Stray);
        }
        if self.is_complete() && self.scanner.is_batch() && !self.is_closed {
            self.is_closed = true;
            self.close_batch(&frame, start, desk, out);
            return Ok(Step::More);
        }
        match self.mode {
            Mode::Flowing => {
                self.held.release(out);
                out.extend(piece(&frame, start, frame.len()));
                self.has_begun |= !frame.is_empty();
            }
            Mode::Discarding => {}
            // What cannot be read may say what it must not.
            Mode::Deciding | Mode::Holding if self.is_malformed() => return Err(Cut::NO_JSON),
            Mode::Deciding | Mode::Holding => {
                self.held.push(piece(&frame, start, frame.len()).unwrap_or_default());
                if self.held.is_full() {
                    return self.overflow(desk, out);
                }
            }
        }
        Ok(Step::More)
    }

    /// Whether it is an array, which answers a batch alone, and can still be replaced.
    fn is_odd_array(&self, desk: &Desk) -> bool {
        self.scanner.is_batch() && !self.has_begun && (self.is_strict || !desk.exchange.is_batch())
    }

    /// What sort of message it is has become known.
    fn envelope(&mut self, desk: &mut Desk) -> Result<(), Cut> {
        let is_error = self.scanner.facts().envelope() == Envelope::Error;
        match self.mode {
            Mode::Flowing if is_error && desk.contains => return Err(Cut::TWO_KINDS),
            Mode::Flowing | Mode::Discarding => {}
            Mode::Deciding | Mode::Holding => {
                let is_result = self.scanner.facts().envelope() == Envelope::Result;
                // What is no answer is none to this request either.
                let is_stray = !is_result && !self.scanner.is_batch();
                let facts = self.scanner.facts();
                let is_held = is_error
                    || is_stray
                    || (is_result && desk.holds_result(facts))
                    || (!is_result && desk.holds_notification(facts));
                self.mode = if is_held { Mode::Holding } else { Mode::Flowing };
                if is_result && !is_held && !self.scanner.is_batch() {
                    desk.settle();
                }
            }
        }
        Ok(())
    }

    /// More is held than may be.
    fn overflow(&mut self, desk: &mut Desk, out: &mut Frames) -> Result<Step, Cut> {
        let facts = self.scanner.facts();
        let is_error =
            facts.envelope() == Envelope::Error || task::has_error(facts, desk.may_tell_of_task());
        if !is_error && self.is_strict {
            return Ok(Step::Stray);
        }
        if !is_error {
            // A success of whatever size is not to be harmed: see `Undeclared::Mask`.
            self.held.release(out);
            self.has_begun = true;
            self.mode = Mode::Flowing;
            return Ok(Step::More);
        }
        let raw = self.held.take_start();
        let fault = Fault::oversize(&raw);
        let answer = desk.fail_one(self.scanner.facts(), &fault);
        match (self.scanner.is_batch(), answer) {
            (false, Some(answer)) => Ok(Step::Replaced(vec![answer])),
            (true, Some(answer)) => {
                out.push_back(Bytes::copy_from_slice(lead(&raw).0));
                out.push_back(answer.into());
                self.has_begun = true;
                self.mode = Mode::Discarding;
                Ok(Step::More)
            }
            (_, None) => Err(Cut::OVERSIZE),
        }
    }

    /// The array ends here: whoever is owed an answer gets one.
    fn close_batch(&mut self, frame: &Bytes, start: usize, desk: &mut Desk, out: &mut Frames) {
        let rest = self.held.take_with(frame.get(start..).unwrap_or_default());
        let end = rest.iter().position(|byte| *byte == b']').unwrap_or(rest.len());
        // Others may have given a call up without being able to say so to the client.
        let answers =
            if desk.contains && desk.owes() { desk.fail(&Fault::no_answer()) } else { Vec::new() };
        let (lead, tail) = rest.split_at_checked(end).unwrap_or((&rest, &[]));
        let mut closing = lead.to_vec();
        if !answers.is_empty() {
            if self.has_elements {
                closing.push(b',');
            }
            closing.extend_from_slice(answers.join(",").as_bytes());
        }
        closing.extend_from_slice(tail);
        out.push_back(closing.into());
        self.has_begun = true;
        self.mode = Mode::Flowing;
    }

    /// Lets go what is held.
    pub(super) fn release(&mut self, out: &mut Frames) {
        self.has_begun = true;
        self.mode = Mode::Flowing;
        self.held.release(out);
    }
}

/// Whether there is nothing but JSON's white space.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
}

/// What stands before a message in an array, and the rest.
fn lead(bytes: &[u8]) -> (&[u8], &[u8]) {
    let is_lead = |byte: &u8| {
        matches!(byte, b'[' | b',') || byte.is_ascii_whitespace() || MARK.contains(byte)
    };
    let end = bytes.iter().position(|byte| !is_lead(byte)).unwrap_or(bytes.len());
    bytes.split_at_checked(end).unwrap_or((bytes, &[]))
}
