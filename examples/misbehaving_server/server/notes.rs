//! A few notes to search, read and edit.

use std::collections::BTreeMap;

use tower_outcome::ToolError;

#[derive(Clone)]
pub(crate) struct Note {
    pub(crate) text: String,
    pub(crate) version: u64,
}

impl Note {
    /// The version as callers see it.
    pub(crate) fn etag(&self) -> String {
        format!("v{}", self.version)
    }
}

pub(crate) struct Notes(BTreeMap<String, Note>);

impl Default for Notes {
    fn default() -> Self {
        let notes = [
            ("travel/japan.md", "Cherry trees in April."),
            ("travel/norway.md", "Take the train to Bergen."),
            ("work/plan.md", "Ship it."),
        ];
        let note = |text: &str| Note { text: text.to_owned(), version: 1 };
        Self(notes.map(|(path, text)| (path.to_owned(), note(text))).into())
    }
}

impl Notes {
    /// The paths of notes that contain `query`; of all where it is empty.
    pub(crate) fn search(&self, query: &str) -> Vec<String> {
        let contains =
            |(path, note): &(&String, &Note)| path.contains(query) || note.text.contains(query);
        self.0.iter().filter(contains).map(|(path, _)| path.clone()).collect()
    }

    fn paths(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Note> {
        self.0.get(path)
    }

    /// Replaces the text if the note still has that version. Returns the new version.
    pub(crate) fn edit(&mut self, path: &str, text: String, if_match: &str) -> Option<String> {
        let note = self.0.get_mut(path).filter(|note| note.etag() == if_match)?;
        note.text = text;
        note.version += 1;
        Some(note.etag())
    }
}

/// What read_note fails with where there is no such note.
pub(crate) fn unknown_note(path: String, notes: &Notes) -> ToolError {
    ToolError::rejected("unknown_note", "There is no note at this path.")
        .field("path")
        .received(path)
        .closest(notes.paths())
        .recover("Find the path with search_notes.")
}

/// What edit_note fails with where the note has another version, or none: one that is gone has
/// none that could match, as with HTTP's If-Match.
pub(crate) fn version_conflict(if_match: String) -> ToolError {
    ToolError::stale("version_conflict", "The note no longer has this version.")
        .field("if_match")
        .received(if_match)
        .recover("Call read_note with the same path and pass its version as if_match.")
}
