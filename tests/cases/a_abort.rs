//! A2: a build that cannot contain anything, in a crate that is made for it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The versions of everything are those of this repository's lock file.
fn manifest() -> String {
    format!(
        r#"[package]
name = "aborts"
version = "0.0.0"
edition = "2024"
publish = false

[workspace]

[[bin]]
name = "aborts"
path = "main.rs"

[dependencies]
tower-outcome = {{ path = {:?}, default-features = false }}
tower-layer = "0.3"
tower-service = "0.3"
tracing-subscriber = {{ version = "0.3", default-features = false, features = ["fmt", "std"] }}

[profile.dev]
panic = "abort"
debug = false
"#,
        env!("CARGO_MANIFEST_DIR")
    )
}

fn write(path: &Path, text: &str) {
    // Unchanged, so that cargo builds only what has changed since the last run.
    if fs::read_to_string(path).ok().as_deref() != Some(text) {
        fs::write(path, text).unwrap();
    }
}

fn make() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("aborts");
    fs::create_dir_all(&directory).unwrap();
    write(&directory.join("Cargo.toml"), &manifest());
    write(&directory.join("main.rs"), include_str!("../abort/program.rs"));
    let lock = directory.join("Cargo.lock");
    if !lock.exists() {
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock");
        // A package of this repository has no lock file where it is somebody's dependency.
        let _ = fs::copy(ours, lock);
    }
    directory
}

fn build(directory: &Path, flags: &[&str]) -> Output {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "--target-dir", "target"])
        .args(flags)
        .current_dir(directory)
        .env_remove("CARGO_BUILD_TARGET")
        .output()
        .unwrap()
}

#[test]
fn a2_a_build_that_aborts_on_panic_says_once_that_it_cannot_contain() {
    let directory = make();
    let mut built = build(&directory, &["--offline"]);
    if !built.status.success() {
        built = build(&directory, &[]);
    }
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let program = directory.join("target/debug").join(format!("aborts{}", env::consts::EXE_SUFFIX));
    let output = Command::new(program).env_remove("RUST_LOG").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let lines: Vec<&str> = stderr.lines().collect();
    let [first, warning, start, end, rest @ ..] = lines.as_slice() else {
        panic!("too little: {stderr}");
    };
    // Layers do no work before the first call.
    assert_eq!(*first, "a service was made", "{stderr}");
    assert!(warning.contains(" WARN tower_outcome: containment_unavailable"), "{stderr}");
    assert!(warning.contains("panic = "), "it does not say what to do: {stderr}");
    // Calls are answered and logged as ever.
    assert!(start.contains(" INFO tower_outcome: tool_call_completed"), "{stderr}");
    assert_eq!(*end, "answered", "{stderr}");
    assert_eq!(rest.len(), 3, "{stderr}");
    assert_eq!(stderr.matches("WARN").count(), 1, "{stderr}");
    let documented = "`panic = \"abort\"`";
    assert!(include_str!("../../src/lib.rs").contains(documented));
}
