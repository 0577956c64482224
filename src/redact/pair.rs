//! Pairs of a name and a value whose name says that the value is a secret.

use std::ops::Range;

/// Names end with one of these, whatever their case and whether their words are joined by `_`,
/// `-`, `.` or nothing.
const SECRET: [&[u8]; 16] = [
    b"password",
    b"passwd",
    b"pwd",
    b"passphrase",
    b"passcode",
    b"secret",
    b"token",
    b"apikey",
    b"authkey",
    b"accesskey",
    b"accesskeyid",
    b"accountkey",
    b"privatekey",
    b"secretkey",
    b"signingkey",
    b"encryptionkey",
];
/// These are secret only as a word of their own: `bypass=1` is not.
const SECRET_WORDS: [&[u8]; 4] = [b"pass", b"pw", b"auth", b"sig"];
/// The values of these begin with a word that says what follows.
const AUTHORIZATION: &[u8] = b"authorization";
/// Words of that kind whose credential has spaces in it.
const SPACED_SCHEMES: [&[u8]; 2] = [b"digest", b"aws4-hmac-sha256"];
const SCHEMES: [&[u8]; 6] = [b"bearer", b"basic", b"token", b"negotiate", b"ntlm", b"apikey"];
/// Values that say that there is no secret.
const NOTHING: [&[u8]; 4] = [b"null", b"None", b"nil", b"undefined"];

/// Bytes of a name, and of anything else that is looked at more than once.
const NAME: usize = 64;
/// Bytes in which the end of a connection string's value with spaces is searched.
const AHEAD: usize = 256;

/// The value of the pair whose `:` or `=` is at `separator`, where its name is a secret's.
pub(super) fn value(bytes: &[u8], separator: usize) -> Option<Range<usize>> {
    let name = name_before(bytes, separator)?;
    let is_authorization = is_named(bytes, &name, AUTHORIZATION);
    if !is_authorization && !is_secret(bytes, &name) {
        return None;
    }
    // `=`, `:`, `:=`, `==`, `=>`
    let after = skip(bytes, separator, b":=>");
    let start = unwrapped(bytes, skip(bytes, after, b" \t"));
    if is_authorization {
        return Some(authorization(bytes, start));
    }
    let value = match opening(bytes, start) {
        Some((first, quote, depth)) => first..closing(bytes, first, quote, depth),
        // An object: its own pairs are looked at.
        None if bytes.get(start) == Some(&b'{') => return None,
        None if starts(bytes, start, b"-----BEGIN") => start..pem_end(bytes, start),
        None => {
            let with_spaces = bytes.get(separator) == Some(&b'=')
                && (follows_semicolon(bytes, name.start) || semicolon_ahead(bytes, start));
            start..unquoted_end(bytes, start, with_spaces)
        }
    };
    let text = bytes.get(value.clone())?;
    (!NOTHING.contains(&text)).then_some(value)
}

/// The value of a command's option, `--password value`, whose name ends at `space`.
pub(super) fn option_value(bytes: &[u8], space: usize) -> Option<Range<usize>> {
    // The last letters of the names, so that hardly a space of prose goes further.
    if !matches!(bytes.get(space.checked_sub(1)?)?, b'd' | b'e' | b't' | b'n' | b'y' | b's' | b'w')
    {
        return None;
    }
    let name = name_before(bytes, space)?;
    if name.end != space || !starts(bytes, name.start, b"--") || !is_secret(bytes, &name) {
        return None;
    }
    let start = skip(bytes, space, b" \t");
    if starts(bytes, start, b"--") {
        return None;
    }
    match opening(bytes, start) {
        Some((first, quote, depth)) => Some(first..closing(bytes, first, quote, depth)),
        None => Some(start..unquoted_end(bytes, start, false)),
    }
}

/// Whether `before` ends with the name of the header, and nothing but quotes and separators.
pub(super) fn follows_authorization(before: &[u8]) -> bool {
    name_before(before, before.len()).is_some_and(|name| is_named(before, &name, AUTHORIZATION))
}

/// Past the bytes at `at` that are in `set`, [`NAME`] of them at most.
pub(super) fn skip(bytes: &[u8], at: usize, set: &[u8]) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take(NAME).take_while(|b| set.contains(b)).count()
}

fn starts(bytes: &[u8], at: usize, with: &[u8]) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(with))
}

/// The name in front of `end`, quotes, brackets and spaces between them aside.
fn name_before(bytes: &[u8], end: usize) -> Option<Range<usize>> {
    let before = bytes.get(..end)?;
    let between = before.iter().rev().take(12).take_while(|b| b" \t\"'`\\])".contains(b)).count();
    let end = end.checked_sub(between)?;
    let name = before.get(..end)?;
    let is_name = |b: &&u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    let len = name.iter().rev().take(NAME).take_while(is_name).count();
    (len > 0).then(|| end - len..end)
}

fn is_secret(bytes: &[u8], name: &Range<usize>) -> bool {
    let text = bytes.get(name.clone()).unwrap_or_default();
    let is_word = |word: &[u8]| {
        text.len().checked_sub(word.len()).is_some_and(|at| {
            let (before, last) = text.split_at(at);
            last.eq_ignore_ascii_case(word) && before.last().is_none_or(|b| b"_-.".contains(b))
        })
    };
    SECRET.iter().any(|secret| is_named(bytes, name, secret))
        || SECRET_WORDS.iter().any(|word| is_word(word))
}

/// Whether the name ends with `suffix`, in any case and with any separators in it.
fn is_named(bytes: &[u8], name: &Range<usize>, suffix: &[u8]) -> bool {
    let text = bytes.get(name.clone()).unwrap_or_default();
    let mut letters = text.iter().rev().filter(|b| !b"_-.".contains(b));
    suffix.iter().rev().all(|letter| letters.next().is_some_and(|b| b.eq_ignore_ascii_case(letter)))
}

/// Past `Some(` or `Secret(`, as `Debug` writes them round a quoted value.
fn unwrapped(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    let word =
        rest.iter().take(NAME).take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let inner = start + word + 1;
    let is_wrapped = word > 0 && rest.get(word) == Some(&b'(') && opening(bytes, inner).is_some();
    if is_wrapped { inner } else { start }
}

/// A quote at `at`: where its content begins, which one it is, and the backslashes before it.
fn opening(bytes: &[u8], at: usize) -> Option<(usize, u8, usize)> {
    let depth = skip(bytes, at, b"\\") - at;
    let quote = *bytes.get(at + depth)?;
    b"\"'`".contains(&quote).then_some((at + depth + 1, quote, depth))
}

/// Where the quote that encloses what begins at `first` is closed; the text's end where it is
/// not. JSON inside a JSON string doubles all backslashes, and puts one before each quote.
fn closing(bytes: &[u8], first: usize, quote: u8, depth: usize) -> usize {
    let mut slashes = 0;
    let mut doubled = false;
    for (at, byte) in bytes.iter().enumerate().skip(first) {
        if *byte == b'\\' {
            slashes += 1;
            continue;
        }
        if *byte == quote && !std::mem::take(&mut doubled) && slashes % (2 * (depth + 1)) == depth {
            // `'it''s'` is one value.
            doubled = depth == 0 && bytes.get(at + 1) == Some(&quote);
            if !doubled {
                return at - depth;
            }
        }
        slashes = 0;
    }
    bytes.len()
}

/// Where a value without quotes ends.
fn unquoted_end(bytes: &[u8], start: usize, with_spaces: bool) -> usize {
    // A list, or what was redacted before, and whatever follows it without a space.
    let mut from = start;
    if let Some(rest) = bytes.get(start..)
        && rest.starts_with(b"[")
    {
        let list = rest.iter().position(|b| b"]\n\r".contains(b)).unwrap_or(rest.len());
        let is_closed = rest.get(list) == Some(&b']');
        from = start + list + usize::from(is_closed);
    }
    for (at, byte) in bytes.iter().enumerate().skip(from) {
        let is_end = match byte {
            b'\n' | b'\r' => true,
            b' ' | b'\t' => !with_spaces,
            b';' if with_spaces => true,
            b'"' | b'\'' | b'`' | b',' | b';' | b'&' | b')' | b']' | b'}' | b'>' | b'\\' => {
                ends_value(bytes, at + 1)
            }
            _ => false,
        };
        if is_end {
            return at;
        }
    }
    bytes.len()
}

/// Whether what follows a delimiter shows that it was one, and no part of a password.
fn ends_value(bytes: &[u8], at: usize) -> bool {
    match bytes.get(at) {
        None => true,
        Some(b) if b.is_ascii_whitespace() || b"\"'`,;&)]}>".contains(b) => true,
        Some(_) => is_name_ahead(bytes, at),
    }
}

/// Whether another pair begins at `at`.
fn is_name_ahead(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    let name = |b: &&u8| b.is_ascii_alphanumeric() || b"_-. ".contains(b);
    let len = rest.iter().take(NAME).take_while(name).count();
    len > 0 && rest.get(len) == Some(&b'=')
}

/// Whether the pair whose name begins at `name` is not the first of a connection string.
fn follows_semicolon(bytes: &[u8], name: usize) -> bool {
    let before = bytes.get(..name).unwrap_or_default();
    before.iter().rev().take(NAME).find(|b| !b" \t".contains(b)) == Some(&b';')
}

/// Whether it is followed by another pair of a connection string.
fn semicolon_ahead(bytes: &[u8], start: usize) -> bool {
    let rest = bytes.get(start..).unwrap_or_default();
    rest.iter()
        .take(AHEAD)
        .take_while(|b| !b"\n\r\"".contains(b))
        .position(|b| *b == b';')
        .is_some_and(|at| is_name_ahead(bytes, start + at + 1))
}

fn line_end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    start + rest.iter().position(|b| b"\n\r".contains(b)).unwrap_or(rest.len())
}

/// Where the key in PEM form that begins at `start` ends.
fn pem_end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    let marker = b"-----END";
    let end = rest.windows(marker.len()).position(|part| part == marker);
    let end = end.map_or(bytes.len(), |end| start + end + marker.len());
    let rest = bytes.get(end..).unwrap_or_default();
    rest.windows(5).position(|part| part == b"-----").map_or(bytes.len(), |at| end + at + 5)
}

/// The credential in the value of an `Authorization` header: the word before it stays.
fn authorization(bytes: &[u8], start: usize) -> Range<usize> {
    let quote = opening(bytes, start);
    let start = quote.map_or(start, |(first, ..)| first);
    let text = bytes.get(start..).unwrap_or_default();
    let word = text.iter().take(NAME).take_while(|b| !b.is_ascii_whitespace()).count();
    let scheme = text.get(..word).unwrap_or_default();
    let is_one_of = |schemes: &[&[u8]]| schemes.iter().any(|one| one.eq_ignore_ascii_case(scheme));
    let is_spaced = is_one_of(&SPACED_SCHEMES);
    let is_scheme =
        text.get(word).is_some_and(|b| b" \t".contains(b)) && (is_spaced || is_one_of(&SCHEMES));
    let first = if is_scheme { skip(bytes, start + word, b" \t") } else { start };
    let end = match (quote, opening(bytes, first)) {
        (Some((_, quote, depth)), _) => closing(bytes, first, quote, depth),
        (None, _) if is_spaced => line_end(bytes, first),
        (None, Some((first, quote, depth))) => {
            return first..closing(bytes, first, quote, depth);
        }
        (None, None) => unquoted_end(bytes, first, false),
    };
    first..end
}
