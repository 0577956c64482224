//! JSON, read so that it can be written in another way that means the same.

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use crate::choices::Choices;

/// Deeper values stay as they are.
const DEPTH: usize = 40;

/// A value; what stands in it is kept as it was written.
enum Node {
    Object(Vec<(String, Node)>),
    Array(Vec<Node>),
    Other(String),
}

/// `json` with its keys in another order and white space between its tokens; `None` where it is no
/// JSON, or the order of its keys matters.
pub fn rewritten(json: &[u8], choices: &mut Choices<'_>) -> Option<String> {
    let raw: &RawValue = serde_json::from_slice(json).ok()?;
    let mut text = String::new();
    write(&read(raw, 0)?, choices, &mut text);
    Some(text)
}

fn read(raw: &RawValue, depth: usize) -> Option<Node> {
    let text = raw.get();
    if depth > DEPTH {
        return Some(Node::Other(text.to_owned()));
    }
    match text.as_bytes().first()? {
        b'{' => {
            let members: Members<'_> = serde_json::from_str(text).ok()?;
            let mut known = BTreeSet::new();
            let mut object = Vec::new();
            for (key, value) in members.0 {
                // One that is there twice means what its last place says.
                if !known.insert(serde_json::from_str::<String>(key.get()).ok()?) {
                    return None;
                }
                object.push((key.get().to_owned(), read(value, depth + 1)?));
            }
            Some(Node::Object(object))
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            Some(Node::Array(
                items.into_iter().map(|it| read(it, depth + 1)).collect::<Option<_>>()?,
            ))
        }
        _ => Some(Node::Other(text.to_owned())),
    }
}

/// The members of an object, in order.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> serde::Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A>(self, mut map: A) -> Result<Members<'de>, A::Error>
            where
                A: serde::de::MapAccess<'de>,
            {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

fn write(node: &Node, choices: &mut Choices<'_>, text: &mut String) {
    space(choices, text);
    match node {
        Node::Object(members) => {
            let mut order: Vec<usize> = (0..members.len()).collect();
            choices.shuffle(&mut order);
            text.push('{');
            for (at, member) in order.into_iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                space(choices, text);
                text.push_str(&members[member].0);
                space(choices, text);
                text.push(':');
                write(&members[member].1, choices, text);
            }
            space(choices, text);
            text.push('}');
        }
        Node::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                write(item, choices, text);
            }
            space(choices, text);
            text.push(']');
        }
        Node::Other(other) => text.push_str(other),
    }
    space(choices, text);
}

fn space(choices: &mut Choices<'_>, text: &mut String) {
    while choices.once_in(9) {
        text.push(choices.of(&[' ', '\t', '\n', '\r']));
    }
}

/// Places between the tokens of `json`, where a line may end.
pub fn gaps(json: &[u8]) -> Vec<usize> {
    let mut gaps = Vec::new();
    let (mut is_text, mut is_escaped) = (false, false);
    for (at, byte) in json.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'{' | b'}' | b'[' | b']' | b',' | b':' if !is_text => gaps.push(at + 1),
            _ => {}
        }
    }
    gaps
}

#[test]
fn what_is_written_anew_means_the_same() {
    let json = br#"{"a":[1.50,{"b":"\u0041 }"}],"c":{},"d":[],"e":null}"#;
    let value: serde_json::Value = serde_json::from_slice(json).unwrap();
    let mut seen = BTreeSet::new();
    for seed in 0..50_u8 {
        let bytes: Vec<u8> =
            (0..60_u8).map(|at| at.wrapping_mul(seed).wrapping_add(seed)).collect();
        let text = rewritten(json, &mut Choices::new(&bytes)).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(text.contains("1.50") && text.contains(r#""\u0041 }""#));
        seen.insert(text);
    }
    assert!(seen.len() > 20);
    assert_eq!(rewritten(br#"{"a":1,"\u0061":2}"#, &mut Choices::new(&[])), None);
    assert_eq!(gaps(br#"{"a,":[1]}"#), [1, 6, 7, 9, 10]);
}
