//! Members of `structuredContent` that somebody asks for.

#[cfg(test)]
mod tests;

use std::str::Split;

use serde_json::{Map, Number, Value};

use super::unescape::unescape;

/// Keys that are asked for, those on the way to others among them.
const NODES: usize = 128;
const DEPTH: usize = 8;
/// Bytes of one key.
pub(super) const KEY_BYTES: usize = 128;
/// What the log reserves at a time.
const STEP_BYTES: usize = 256;
/// What stands in front of each value of the log.
const HEAD_BYTES: usize = 4;

/// The members that are asked for: a tree of keys, read from dotted paths once.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// In the order in which one walks through them, `structuredContent` itself first: what is below
    /// a node follows it, up to its `end`.
    nodes: Box<[Node]>,
    ignored: Vec<String>,
}

#[derive(Debug)]
struct Node {
    key: Box<str>,
    parent: u8,
    /// Whether it is asked for itself, and not only what is below it.
    is_asked: bool,
    /// The node after all that are below it.
    end: u8,
    /// One bit for each length that a key right below it has, and for each first byte.
    lengths: u64,
    firsts: u64,
}

/// Keys, as they are gathered.
#[derive(Default)]
struct Tree<'a> {
    key: &'a str,
    is_asked: bool,
    below: Vec<Tree<'a>>,
}

/// The members that were found.
///
/// It is a log, to which values are added as they come: their node, what they are, and how many
/// bytes of JSON follow. What counts of what is there twice is found out when somebody reads it, so
/// of that both take room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    log: Vec<u8>,
    is_cut: bool,
}

/// What an entry of the log says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    /// Nobody asks for it, but it takes the place of what was there before.
    Hidden,
    Object,
    Array,
    /// Between its quotes; whether it goes on behind it.
    Text(&'a [u8], bool),
    /// A number or a literal.
    Scalar(&'a [u8]),
}

impl Members {
    /// Of dotted paths, as `data.state`, whose keys are all that stands between the dots. An array
    /// has no members.
    ///
    /// A path is ignored that has more than 8 keys, one of more than 128 bytes, or one that would be
    /// the 129th key in all: see [`ignored`](Self::ignored).
    pub(crate) fn new<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut tree, mut count, mut ignored) = (Tree::default(), 0, Vec::new());
        for path in paths {
            let mut keys = path.split('.');
            let fits =
                keys.clone().count() <= DEPTH && keys.clone().all(|key| key.len() <= KEY_BYTES);
            let more = tree.missing(keys.clone());
            if fits && count + more <= NODES {
                count += more;
                tree.insert(&mut keys);
            } else {
                ignored.push(path.to_owned());
            }
        }
        let mut nodes = Vec::new();
        if count > 0 {
            tree.walk(0, &mut nodes);
        }
        Self { nodes: nodes.into(), ignored }
    }

    /// The paths that were too much.
    pub(crate) fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// Whether nothing is asked for.
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node of `key` below that one.
    #[inline]
    pub(super) fn below(&self, node: u8, key: &[u8]) -> Option<u8> {
        let parent = self.get(node)?;
        if parent.lengths & length_bit(key) == 0 || parent.firsts & first_bit(key) == 0 {
            return None;
        }
        let mut at = node + 1;
        while at < parent.end {
            let node = self.get(at)?;
            if node.key.as_bytes() == key {
                return Some(at);
            }
            at = node.end;
        }
        None
    }

    pub(super) fn parent(&self, node: u8) -> u8 {
        self.get(node).map_or(0, |node| node.parent)
    }

    /// Whether the node is asked for, and whether there are some below it.
    #[inline]
    pub(super) fn is_asked(&self, node: u8) -> (bool, bool) {
        self.get(node).map_or((false, false), |node| (node.is_asked, node.lengths != 0))
    }

    #[inline]
    fn get(&self, node: u8) -> Option<&Node> {
        self.nodes.get(usize::from(node))
    }

    /// What was found, as the object that `structuredContent` is.
    pub(super) fn object(&self, found: &Found) -> Map<String, Value> {
        let mut last = vec![Entry::Hidden; self.nodes.len()];
        for (node, entry) in found.entries() {
            let end = self.get(node).map_or(0, |node| node.end);
            // What was found below the one that it replaces is gone with it.
            for entry in last.get_mut(usize::from(node)..usize::from(end)).unwrap_or_default() {
                *entry = Entry::Hidden;
            }
            if let Some(last) = last.get_mut(usize::from(node)) {
                *last = entry;
            }
        }
        self.members(0, &last)
    }

    fn members(&self, node: u8, last: &[Entry<'_>]) -> Map<String, Value> {
        let mut members = Map::new();
        let (mut at, end) = (node + 1, self.get(node).map_or(0, |node| node.end));
        while let Some(node) = self.get(at).filter(|_| at < end) {
            let entry = last.get(usize::from(at)).copied().unwrap_or(Entry::Hidden);
            // As deep as paths are, and no deeper.
            let below = self.members(at, last);
            let value = match entry.value() {
                _ if !below.is_empty() => Some(Value::Object(below)),
                value => value.filter(|_| node.is_asked),
            };
            if let Some(value) = value {
                members.insert(node.key.clone().into(), value);
            }
            at = node.end;
        }
        members
    }
}

impl<'a> Tree<'a> {
    /// How many of these keys, each below the one before it, are not there yet.
    fn missing(&self, mut keys: Split<'a, char>) -> usize {
        let Some(key) = keys.next() else { return 0 };
        match self.below.iter().find(|tree| tree.key == key) {
            Some(tree) => tree.missing(keys),
            None => 1 + keys.count(),
        }
    }

    fn insert(&mut self, keys: &mut Split<'a, char>) {
        let Some(key) = keys.next() else {
            self.is_asked = true;
            return;
        };
        if let Some(tree) = self.below.iter_mut().find(|tree| tree.key == key) {
            return tree.insert(keys);
        }
        let mut tree = Tree { key, ..Tree::default() };
        tree.insert(keys);
        self.below.push(tree);
    }

    /// Adds it and what is below it to `nodes`.
    fn walk(&self, parent: u8, nodes: &mut Vec<Node>) {
        let at = nodes.len();
        let bits = |bit: fn(&[u8]) -> u64| {
            self.below.iter().fold(0, |all, tree| all | bit(tree.key.as_bytes()))
        };
        let (lengths, firsts) = (bits(length_bit), bits(first_bit));
        let (key, is_asked) = (self.key.into(), self.is_asked);
        nodes.push(Node { key, parent, is_asked, end: 0, lengths, firsts });
        for tree in &self.below {
            tree.walk(number(at), nodes);
        }
        let end = number(nodes.len());
        if let Some(node) = nodes.get_mut(at) {
            node.end = end;
        }
    }
}

/// Whether `token` is a number that `serde_json` can hold.
pub(super) fn is_number(token: &[u8]) -> bool {
    number_of(token).is_some()
}

/// There are at most [`NODES`] and the first: none is lost.
fn number(node: usize) -> u8 {
    u8::try_from(node).unwrap_or(u8::MAX)
}

#[inline]
fn length_bit(key: &[u8]) -> u64 {
    1 << key.len().min(63)
}

#[inline]
fn first_bit(key: &[u8]) -> u64 {
    1 << (key.first().copied().unwrap_or_default() & 63)
}

impl Found {
    /// Adds a value, if there is `room` for it: how many bytes it takes.
    pub(super) fn push(&mut self, node: u8, entry: Entry<'_>, room: usize) -> usize {
        let (kind, json): (u8, &[u8]) = match entry {
            Entry::Hidden => (0, b""),
            Entry::Object => (1, b""),
            Entry::Array => (2, b""),
            Entry::Scalar(token) => (3, token),
            Entry::Text(text, false) => (4, text),
            Entry::Text(text, true) => (5, text),
        };
        let needed = HEAD_BYTES + json.len();
        let len = u16::try_from(json.len()).ok().filter(|_| needed <= room);
        let Some(len) = len else {
            self.is_cut = true;
            return 0;
        };
        let needed_in_all = self.log.len() + needed;
        if needed_in_all > self.log.capacity() {
            // In small steps, so that what is reserved is little more than what is there.
            let capacity = needed_in_all.next_multiple_of(STEP_BYTES);
            self.log.reserve_exact(capacity - self.log.len());
        }
        let [low, high] = len.to_le_bytes();
        self.log.extend_from_slice(&[node, kind, low, high]);
        self.log.extend_from_slice(json);
        needed
    }

    /// A value that was asked for is not kept.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn entries(&self) -> impl Iterator<Item = (u8, Entry<'_>)> {
        let mut rest = self.log.as_slice();
        std::iter::from_fn(move || {
            let ([node, kind, low, high], behind) = rest.split_first_chunk()?;
            let len = usize::from(u16::from_le_bytes([*low, *high]));
            let (json, behind) = behind.split_at_checked(len)?;
            rest = behind;
            let entry = match kind {
                1 => Entry::Object,
                2 => Entry::Array,
                3 => Entry::Scalar(json),
                4 | 5 => Entry::Text(json, *kind == 5),
                _ => Entry::Hidden,
            };
            Some((*node, entry))
        })
    }
}

impl Entry<'_> {
    fn value(self) -> Option<Value> {
        Some(match self {
            Self::Hidden => return None,
            Self::Object => Value::Object(Map::new()),
            Self::Array => Value::Array(Vec::new()),
            Self::Text(text, is_cut) => Value::String(unescape(text, is_cut).into_owned()),
            Self::Scalar(b"true") => Value::Bool(true),
            Self::Scalar(b"false") => Value::Bool(false),
            Self::Scalar(b"null") => Value::Null,
            Self::Scalar(token) => Value::Number(number_of(token)?),
        })
    }
}

fn number_of(token: &[u8]) -> Option<Number> {
    serde_json::from_slice(token).ok()
}
