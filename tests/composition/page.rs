//! The page of the documentation that has the tables.

use std::path::PathBuf;

pub(crate) struct Page {
    path: PathBuf,
    text: String,
    differences: Vec<String>,
}

impl Page {
    pub(crate) fn read() -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/composition.md");
        let text = std::fs::read_to_string(&path).unwrap();
        Self { path, text, differences: Vec::new() }
    }

    /// Puts a table in the place of this name, between two comments.
    pub(crate) fn replace(&mut self, name: &str, table: &str) {
        let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
        let (before, rest) = self.text.split_once(&begin).expect("the page has its place");
        let (known, after) = rest.split_once(&end).expect("the place has its end");
        let known: Vec<_> = known.trim().lines().collect();
        let told: Vec<_> = table.trim().lines().collect();
        let lost = known.iter().filter(|line| !told.contains(line)).map(|line| format!("- {line}"));
        let new = told.iter().filter(|line| !known.contains(line)).map(|line| format!("+ {line}"));
        self.differences.extend(lost.chain(new));
        self.text = format!("{before}{begin}\n{}\n\n{end}{after}", told.join("\n"));
    }

    /// Writes it, where that was asked for, or checks that it was the same.
    pub(crate) fn check(&self) {
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&self.path, &self.text).unwrap();
            return;
        }
        assert!(
            self.differences.is_empty(),
            "src/composition.md does not say what happens. `UPDATE_DOCS=1 cargo test --all-features \
             --test composition` writes it anew, and then read what has changed:\n{}",
            self.differences.join("\n")
        );
    }
}
