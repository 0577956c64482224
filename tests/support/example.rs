//! The binaries of the examples.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

/// The binary of this example. `cargo test` builds it, `cargo test --test name` does not: it is
/// built here if it is missing or older than its sources.
pub(crate) fn binary(example: &str) -> PathBuf {
    let test = env::current_exe().expect("the path of this test");
    let profile = test.parent().and_then(Path::parent).expect("target/<profile>/deps/<test>");
    let name = format!("{example}{}", env::consts::EXE_SUFFIX);
    let binary = profile.join("examples").join(name);
    if !is_fresh(&binary, example) {
        build(profile, example);
    }
    binary
}

fn is_fresh(binary: &Path, example: &str) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = vec![root.join("src"), root.join("examples").join(example)];
    if example == "misbehaving_tower_mcp" {
        // It is made of what that one has that knows nothing of rmcp.
        sources.push(root.join("examples").join("misbehaving_server"));
    }
    let changed = sources.iter().filter_map(|source| newest(source)).max();
    fs::metadata(binary).and_then(|meta| meta.modified()).ok() >= changed
}

fn newest(path: &Path) -> Option<SystemTime> {
    if path.is_dir() {
        return fs::read_dir(path).ok()?.filter_map(|entry| newest(&entry.ok()?.path())).max();
    }
    fs::metadata(path).ok()?.modified().ok()
}

fn build(profile: &Path, example: &str) {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args(["build", "--quiet", "--all-features", "--example", example])
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    if profile.ends_with("release") {
        build.arg("--release");
    }
    assert!(build.status().expect("cargo runs").success(), "the example does not build");
}
