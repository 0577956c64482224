//! The README's table of stacks side by side is the one that the example prints.
#![cfg(all(feature = "rmcp", feature = "http", feature = "tower-mcp"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "support/example.rs"]
mod example;

use std::process::Command;

const COMMAND: &str = "cargo run --all-features --example side_by_side";

#[test]
fn the_readme_shows_what_the_example_prints() {
    let output = Command::new(example::binary("side_by_side")).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).expect("UTF-8");

    let readme = include_str!("../README.md").replace("\r\n", "\n");
    let (_, section) = readme.split_once("\n## Side by side\n").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("the next one");
    let shown: Vec<_> = section.lines().filter(|line| line.starts_with('|')).collect();
    let printed: Vec<_> = printed.lines().collect();
    for (shown, printed) in shown.iter().zip(&printed) {
        assert_eq!(shown, printed, "README.md is not what `{COMMAND}` prints");
    }
    assert_eq!(shown.len(), printed.len(), "README.md is not what `{COMMAND}` prints");
    assert!(section.contains(COMMAND), "README.md does not say how its table is made");
}
