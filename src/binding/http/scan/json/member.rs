//! The members of `structuredContent` that are asked for.

use super::{
    super::{
        facts::Shape,
        members::{Entry, is_number},
        place::Place,
        skip::quote_or_backslash,
    },
    Keep, Scanner, Step,
    scalar::is_in_scalar,
};

impl Scanner {
    /// What `key` is, in an object that somebody asks for members of.
    #[inline(never)]
    pub(super) fn asked_member(&mut self, key: &[u8]) -> Place {
        let members = self.config.members.as_deref();
        match members.and_then(|members| members.below(self.inside_node, key)) {
            Some(node) => {
                self.node = node;
                Place::Member
            }
            None => Place::Unasked,
        }
    }

    /// Passes the value of a member that nobody asks for, with which `rest` begins, and the members
    /// after it of which the same is true, as long as their values are short and written as most
    /// write them: up to the comma before a member that has to be looked at.
    ///
    /// Nothing is passed here that would not be elsewhere, member by member: this is so that many
    /// small ones cost little.
    fn pass_members<'a>(&self, rest: &'a [u8]) -> Option<&'a [u8]> {
        let members = self.config.members.as_deref()?;
        let mut rest = behind_short_value(rest)?;
        loop {
            let [b',', b'"', member @ ..] = rest else { return None };
            let is_passed = |key| members.below(self.inside_node, key).is_none();
            rest = match short_string(member) {
                Some((key, [b':', value @ ..])) if is_passed(key) => {
                    match behind_short_value(value) {
                        Some(behind @ [b',', b'"', ..]) => behind,
                        _ => return Some(rest),
                    }
                }
                _ => return Some(rest),
            };
        }
    }

    /// The value of a member begins.
    #[inline(never)]
    pub(super) fn member_value<'a>(
        &mut self,
        shape: Shape,
        rest: &'a [u8],
        after: &'a [u8],
    ) -> &'a [u8] {
        if self.place == Place::Unasked {
            self.place = Place::Other;
            return match self.pass_members(rest) {
                Some(behind) => {
                    self.end_value();
                    behind
                }
                None => self.plain_value(shape, rest, after),
            };
        }
        let members = self.config.members.as_deref();
        let (is_asked, has_below) =
            members.map_or((false, false), |members| members.is_asked(self.node));
        match shape {
            Shape::Object => self.keep_member(Entry::Object),
            Shape::Array if is_asked => self.keep_member(Entry::Array),
            Shape::String if is_asked => {
                return self.kept_string(rest, Keep::Text, self.config.member_bytes);
            }
            // It is kept at its end.
            Shape::Null | Shape::Bool | Shape::Number if is_asked => {
                return self.plain_value(shape, rest, after);
            }
            _ => self.keep_member(Entry::Hidden),
        }
        if shape == Shape::Object && has_below {
            self.inside = Place::Member;
            self.inside_node = self.node;
            self.step = Step::FirstKey;
            return after;
        }
        self.place = Place::Other;
        self.plain_value(shape, rest, after)
    }

    /// The object ends whose members were read.
    pub(super) fn close_member(&mut self) {
        let members = self.config.members.as_deref();
        self.inside_node = members.map_or(0, |members| members.parent(self.inside_node));
        if self.inside_node == 0 {
            self.inside = Place::Structured;
        }
        self.step = Step::Next;
    }

    pub(super) fn keep_member(&mut self, entry: Entry<'_>) {
        let room = self.room(Place::Member);
        let found = &mut self.facts.parts(self.scope).0.found;
        self.spent += found.push(self.node, entry, room);
    }

    /// A literal or a number.
    pub(super) fn keep_scalar(&mut self, token: &[u8], is_cut: bool) {
        let is_literal = matches!(token, [b't' | b'f' | b'n', ..]);
        if !is_cut && (is_literal || is_number(token)) {
            return self.keep_member(Entry::Scalar(token));
        }
        // A number that is too long, or that nothing holds.
        self.keep_member(Entry::Hidden);
        self.facts.parts(self.scope).0.found.cut();
    }
}

/// The string that goes on with `rest`, if it has no escapes and ends there, and what is behind it.
#[inline(always)]
fn short_string(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (text, behind) = rest.split_at_checked(quote_or_backslash(rest)?)?;
    Some((text, behind.strip_prefix(b"\"")?))
}

/// What is behind the value with which `rest` begins, if it is no array or object.
#[inline(always)]
fn behind_short_value(rest: &[u8]) -> Option<&[u8]> {
    match rest {
        [b'"', rest @ ..] => Some(short_string(rest)?.1),
        [b'-' | b'0'..=b'9', ..] => rest.get(rest.iter().position(|byte| !is_in_scalar(*byte))?..),
        [b't', b'r', b'u', b'e', behind @ ..]
        | [b'f', b'a', b'l', b's', b'e', behind @ ..]
        | [b'n', b'u', b'l', b'l', behind @ ..] => Some(behind),
        _ => None,
    }
}
