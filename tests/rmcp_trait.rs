//! rmcp's minor releases add methods with defaults to its handler trait. One that `Layered` does
//! not forward would silently bypass both the layers and the handler.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

use std::{collections::BTreeSet, path::PathBuf, process::Command};

/// What cargo prints, when it is run with these arguments.
fn cargo(arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO"));
    let output = command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The sources of the rmcp that this build uses.
fn rmcp_source() -> PathBuf {
    let version = String::from_utf8(cargo(&["--version", "--verbose"])).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    // What other platforms would need, a new machine has not downloaded.
    let metadata = cargo(&[
        "metadata",
        "--format-version=1",
        "--all-features",
        "--offline",
        "--filter-platform",
        host,
    ]);
    let metadata: serde_json::Value = serde_json::from_slice(&metadata).unwrap();
    let package = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|package| package["name"] == "rmcp")
        .expect("rmcp is a dependency");
    PathBuf::from(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned()
}

/// The names after `fn ` at the start of a line that is indented by `indent`, in `text`.
fn functions(text: &str, indent: usize) -> BTreeSet<String> {
    text.lines()
        .filter(|line| line.len() - line.trim_start().len() == indent)
        .filter_map(|line| {
            let line = line.trim_start();
            let rest = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
            Some(rest.split(['(', '<']).next()?.to_owned())
        })
        .collect()
}

#[test]
fn every_method_of_rmcps_trait_is_forwarded() {
    let source = std::fs::read_to_string(rmcp_source().join("src/handler/server.rs")).unwrap();
    let (_, methods) = source
        .split_once("macro_rules! server_handler_methods {")
        .expect("rmcp declares the trait's methods in a macro; if that has changed, so must we");
    let methods = methods.split_once("\n}\n").unwrap().0;
    let declared = functions(methods, 8);
    assert!(declared.len() >= 32 && declared.contains("call_tool"), "{declared:?}");

    let ours = include_str!("../src/binding/rmcp/forward.rs");
    let (_, ours) = ours.split_once("ServerHandler for Layered<H, S>").unwrap();
    let mut forwarded = functions(ours, 4);
    // Lines of the macro: `name(Request, Params) -> Result;`
    let (_, block) = ours.split_once("forward_requests! {").unwrap();
    let block = block.split_once("\n    }").unwrap().0;
    forwarded.extend(
        block
            .lines()
            .filter(|line| line.starts_with("        ") && !line.starts_with("         "))
            .filter_map(|line| Some(line.trim().split_once('(')?.0.to_owned())),
    );

    let missing: Vec<_> = declared.difference(&forwarded).collect();
    assert!(missing.is_empty(), "forward these in src/binding/rmcp/forward.rs: {missing:?}");
}
