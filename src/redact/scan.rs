//! Where the next secret of a text is.
//!
//! One pass over the bytes. What is looked at twice is bounded by a constant, or ends where the
//! next look begins, so that no text takes more than linear time. All that is searched for is
//! ASCII, so every place found is a character boundary.

use std::ops::Range;

use super::pair;

/// What stands in a secret's place.
pub(super) const REDACTED: &str = "[redacted]";

/// Letters that make a credential of 24 or more: no word of prose is as long.
const LONG_WORD: usize = 24;
/// No shorter text is taken for a credential.
const MIN_TOKEN: usize = 8;

/// The first secret that is found by what stands at or after `from`.
pub(super) fn next_secret(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        let rest = bytes.get(at..)?;
        at = at.checked_add(rest.iter().position(|b| matches!(b, b':' | b'=' | b' ' | b'\t'))?)?;
        let secret = match bytes.get(at..) {
            Some([b':', b'/', b'/', ..]) => user_info(bytes, at + 3),
            // A path of a programming language.
            Some([b':', b':', ..]) => {
                at += 1;
                None
            }
            Some([b':' | b'=', ..]) => pair::value(bytes, at).or_else(|| credential(bytes, at)),
            _ => pair::option_value(bytes, at).or_else(|| credential(bytes, at)),
        };
        if let Some(secret) = secret.filter(|secret| secret.start < secret.end)
            && bytes.get(secret.clone()) != Some(REDACTED.as_bytes())
        {
            return Some(secret);
        }
        at += 1;
    }
}

/// The user and password of a URL whose authority begins at `start`.
///
/// By RFC 3986 the authority ends at the first `/`, and a password with one has to be escaped; in
/// what people put into a configuration it is not.
fn user_info(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let rest = bytes.get(start..)?;
    // The next address ends this one, so that no byte is looked at for two of them.
    let is_end = |(at, byte): (usize, &u8)| {
        byte.is_ascii_whitespace()
            || byte.is_ascii_control()
            || b"\"<>`".contains(byte)
            || rest.get(at..).is_some_and(|rest| rest.starts_with(b"://"))
    };
    let end = rest.iter().enumerate().position(is_end).unwrap_or(rest.len());
    let url = rest.get(..end)?;
    let authority_end = url.iter().position(|b| b"/?#".contains(b)).unwrap_or(end);
    let authority = url.get(..authority_end)?;
    let last_at = |part: &[u8]| part.iter().rposition(|b| *b == b'@');
    let colon = authority.iter().position(|b| *b == b':');
    let is_web = is_web(bytes, start);
    let at = match last_at(authority) {
        // A path with an `@` is common on the web and rare in the address of a database.
        Some(at) if is_web || colon.is_none() => at,
        Some(_) => last_at(url)?,
        None => {
            let (before, after) = (authority.get(..colon?)?, authority.get(colon? + 1..)?);
            let is_port = after.len() <= 5 && after.iter().all(u8::is_ascii_digit);
            if before.starts_with(b"[") || (is_port && is_web) {
                return None;
            }
            last_at(url)?
        }
    };
    Some(start..start + at)
}

fn is_web(bytes: &[u8], authority: usize) -> bool {
    let scheme =
        bytes.get(authority.saturating_sub(8)..authority.saturating_sub(3)).unwrap_or_default();
    [&b"http"[..], b"https", b"ws", b"wss"].iter().any(|web| {
        scheme.len().checked_sub(web.len()).is_some_and(|before| {
            let (before, last) = scheme.split_at(before);
            last.eq_ignore_ascii_case(web)
                && before.last().is_none_or(|b| !b.is_ascii_alphanumeric())
        })
    })
}

/// What follows the word `Bearer` or `Basic` that ends at `separator`.
fn credential(bytes: &[u8], separator: usize) -> Option<Range<usize>> {
    let before = bytes.get(..separator)?;
    let start = [&b"bearer"[..], b"basic"].iter().find_map(|word| {
        let start = before.len().checked_sub(word.len())?;
        let is_word = before.get(start..)?.eq_ignore_ascii_case(word)
            && before.get(..start)?.last().is_none_or(|b| !b.is_ascii_alphanumeric());
        is_word.then_some(start)
    })?;
    let first = pair::skip(bytes, separator, b":= \t");
    let first = pair::skip(bytes, first, b"\"'");
    let rest = bytes.get(first..)?;
    let body = rest.iter().position(|b| !is_token68(*b)).unwrap_or(rest.len());
    let padding = rest.get(body..)?.iter().take_while(|b| **b == b'=').count();
    let mut token = rest.get(..body)?;
    if padding == 0 {
        // The end of a sentence is no part of it.
        while let [body @ .., b'.'] = token {
            token = body;
        }
    }
    let is_credential = pair::follows_authorization(before.get(..start)?)
        || (padding > 0 && token.len() + padding >= MIN_TOKEN)
        || looks_random(token);
    is_credential.then(|| first..first + token.len() + padding)
}

fn is_token68(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte)
}

fn looks_random(token: &[u8]) -> bool {
    let has = |test: fn(&u8) -> bool| token.iter().any(test);
    let capital_inside = token.iter().skip(1).any(u8::is_ascii_uppercase);
    token.len() >= MIN_TOKEN
        && (has(u8::is_ascii_digit)
            || (capital_inside && has(u8::is_ascii_lowercase))
            || token.len() >= LONG_WORD)
}
