//! The bindings of protocol libraries use nothing that somebody else's could not: what they name of
//! this crate is public, or listed here with what an outsider has instead.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// What is not public, and what takes its place outside.
const OWN: [(&str, &str); 4] = [
    ("Timer", "tokio's `Sleep`, and `catch` where there may be no timer"),
    ("Name", "a `Box<str>`, at the price of an allocation"),
    ("admits", "a look at the schema, which is the protocol library's own"),
    ("target", "an event of one's own target"),
];

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|extension| extension == "rs"));
    files.map(|file| (file.clone(), fs::read_to_string(file).unwrap())).collect()
}

/// The names at the ends of the paths of a `use` declaration, what stands before `as`.
fn leaves(tree: &str) -> Vec<String> {
    tree.split([',', '{', '}'])
        .map(|part| part.trim().split(" as ").next().unwrap())
        .filter(|part| !part.is_empty() && !part.ends_with("::"))
        .map(|path| path.rsplit("::").next().unwrap().to_owned())
        .collect()
}

/// The declarations in `text` that begin with `start`, up to their semicolons.
fn declarations<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.match_indices(start)
        .map(|(at, _)| text[at + start.len()..].split(';').next().unwrap())
        .collect()
}

/// What anybody can name of this crate.
fn public() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in ["src/lib.rs", "src/binding/mod.rs"] {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        for start in ["\npub use crate::", "\npub use self::"] {
            names.extend(declarations(&text, start).into_iter().flat_map(leaves));
        }
        for kind in ["\npub fn ", "\npub const ", "\npub trait ", "\npub enum ", "\npub struct "] {
            let items = text.match_indices(kind).map(|(at, _)| &text[at + kind.len()..]);
            let is_end = |char: char| !char.is_alphanumeric() && char != '_';
            names.extend(items.map(|item| item.split(is_end).next().unwrap().to_owned()));
        }
    }
    names
}

#[test]
fn a_binding_uses_what_everybody_may() {
    let public = public();
    assert!(public.contains("McpRequest") && public.contains("Seat"), "{public:?}");
    let mut used = BTreeSet::new();
    for folder in ["src/binding/rmcp", "src/binding/tower_mcp"] {
        for (file, text) in sources(folder) {
            let mut names: Vec<_> =
                declarations(&text, "use crate::").into_iter().flat_map(leaves).collect();
            // Paths in the code itself; those in documentation are links.
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code.filter(|line| !line.starts_with("use crate::")) {
                let paths =
                    line.match_indices("crate::").map(|(at, found)| &line[at + found.len()..]);
                let first = |path: &str| path.split("::").next().unwrap().to_owned();
                names.extend(paths.map(first));
            }
            for name in names {
                let is_own = OWN.iter().any(|(own, _)| *own == name);
                assert!(
                    is_own || public.contains(&name),
                    "{} uses '{name}', which is not public",
                    file.display()
                );
                used.insert(name);
            }
        }
    }
    for (name, _) in OWN {
        assert!(used.contains(name), "no binding uses '{name}' any more: take it off the list");
    }
}
