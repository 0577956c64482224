//! A tool's name, kept without an allocation where it is as long as names are.

use std::fmt;

/// Bytes of a name that are kept in place: tools are named like functions. Longer ones are boxed.
const IN_PLACE: usize = 47;

/// A short text.
#[derive(Clone)]
pub(crate) enum Name {
    InPlace(u8, [u8; IN_PLACE]),
    Boxed(Box<str>),
}

impl Name {
    pub(crate) fn new(text: &str) -> Self {
        let mut bytes = [0; IN_PLACE];
        match (u8::try_from(text.len()), bytes.get_mut(..text.len())) {
            (Ok(length), Some(place)) => {
                place.copy_from_slice(text.as_bytes());
                Self::InPlace(length, bytes)
            }
            _ => Self::Boxed(text.into()),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            // Copied from a `str` as a whole: it is one.
            Self::InPlace(length, bytes) => bytes
                .get(..usize::from(*length))
                .and_then(|bytes| std::str::from_utf8(bytes).ok())
                .unwrap_or_default(),
            Self::Boxed(text) => text,
        }
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_as_it_is() {
        for text in ["", "a", "read_note", &"x".repeat(47), &"x".repeat(48), &"ä".repeat(64)] {
            assert_eq!(Name::new(text).as_str(), text);
        }
    }
}
