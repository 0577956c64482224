//! The advice in compile errors: what a user reads who forgets the containment.
//!
//! Each file is compiled with `rustc` against the libraries that this test was built with. Only the
//! advice is compared: the compiler's own words change from release to release.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::{
    path::{Path, PathBuf},
    process::Command,
};

const ADVICE: [&str; 3] = [
    "panics and errors get past this stack of layers",
    "put `OutcomeLayer` or `ContainLayer` outermost",
    "`layered_uncontained` takes a stack without containment",
];

/// The compiled library of each named crate, as cargo made it for this very build.
fn libraries(names: &[&str]) -> Vec<(String, PathBuf)> {
    // Nothing is built here that `cargo test` has not built already: cargo only says where it is.
    let output = Command::new(env!("CARGO"))
        .args(["build", "--all-features", "--example", "quickstart", "--message-format=json"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let artifacts: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|message: &serde_json::Value| message["reason"] == "compiler-artifact")
        .collect();
    names
        .iter()
        .map(|name| {
            let artifact = artifacts
                .iter()
                .find(|artifact| artifact["target"]["name"] == *name)
                .unwrap_or_else(|| panic!("{name} is not among the artifacts"));
            let library = artifact["filenames"]
                .as_array()
                .unwrap()
                .iter()
                .map(|name| PathBuf::from(name.as_str().unwrap()))
                .find(|name| name.extension().is_some_and(|extension| extension == "rlib"))
                .unwrap();
            ((*name).to_owned(), library)
        })
        .collect()
}

fn compile(file: &Path, libraries: &[(String, PathBuf)]) -> (bool, String) {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let mut rustc = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()));
    rustc
        .args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--out-dir"])
        .arg(&out)
        .arg(file);
    for (name, library) in libraries {
        rustc.arg("--extern").arg(format!("{name}={}", library.display()));
        rustc.arg("-L").arg(format!("dependency={}", library.parent().unwrap().display()));
        let deps = library.parent().unwrap().join("deps");
        rustc.arg("-L").arg(format!("dependency={}", deps.display()));
    }
    let output = rustc.output().unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_stack_without_containment_does_not_compile_and_says_what_to_add() {
    let libraries = libraries(&["tower_outcome", "rmcp", "tower"]);
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_fail");

    let (compiles, errors) = compile(&directory.join("good.rs"), &libraries);
    assert!(compiles, "{errors}");

    for name in ["uncontained.rs", "only_logged.rs", "contained_too_far_in.rs"] {
        let (compiles, errors) = compile(&directory.join(name), &libraries);
        assert!(!compiles, "{name} compiles");
        for advice in ADVICE {
            assert!(errors.contains(advice), "{name} lacks {advice:?}:\n{errors}");
        }
    }
}
