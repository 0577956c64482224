//! The command line.

use std::process::{Command, Output, Stdio};

use crate::process::binary;

fn run(flags: &[&str]) -> Output {
    let run = Command::new(binary()).args(flags).stdin(Stdio::null()).output();
    run.expect("the example runs")
}

#[test]
fn a_flag_that_does_not_fit_says_which_value_and_what_to_write_instead() {
    const LISTEN: &str = "--listen=127.0.0.1:0";
    for (flags, says) in [
        (&[][..], &["--listen is missing", "127.0.0.1:8080"][..]),
        (&[LISTEN], &["--upstream is missing", "http://127.0.0.1:9000/mcp"]),
        (&["--listen"], &["--listen needs an address", "127.0.0.1:8080"]),
        (&["--listen", "localhost"], &["--listen: 'localhost'", "127.0.0.1:8080"]),
        (&[LISTEN, "--upstream"], &["--upstream needs a URL", "http://127.0.0.1:9000/mcp"]),
        (&[LISTEN, "--upstream", "127.0.0.1:9000"], &["--upstream: '127.0.0.1:9000'", "http://"]),
        (&[LISTEN, "--upstream", "ftp://x/"], &["--upstream: 'ftp://x/'", "http://"]),
        (&[LISTEN, "--upstream", "https://x/mcp"], &["--upstream: 'https://x/mcp'", "TLS"]),
        (&[LISTEN, "--upstream", "http://u:p@x/"], &["--upstream: ", "password", "leave them out"]),
        (&[LISTEN, "--upstream", "http://x/mcp?a=1"], &["--upstream: ", "query", "leave it out"]),
        (&[LISTEN, "--upstream", "http://x/a/../b"], &["--upstream: ", "'..'"]),
        (&["--policy"], &["--policy needs a file"]),
        (&["--policy", "no/such.toml"], &["--policy: cannot read 'no/such.toml'", "TOML file"]),
        (&["--verbose"], &["'--verbose'", "--listen, --upstream, --policy"]),
        (&["--help=yes"], &["'--help=yes'", "--help"]),
        (&["http://x"], &["'http://x'", "--upstream"]),
    ] {
        let output = run(flags);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{flags:?}");
        for part in says {
            assert!(stderr.contains(part), "{flags:?}: no {part} in: {stderr}");
        }
    }
}

#[cfg(feature = "toml")]
#[test]
fn a_policy_that_does_not_fit_says_which_file_line_and_value() {
    let file = std::env::temp_dir().join(format!("gateway-policy-{}.toml", std::process::id()));
    std::fs::write(&file, "deadline = \"30s\"\nundeclared = \"maks\"\n").expect("a file");
    let path = file.to_str().expect("a plain path");
    let output = run(&["--listen=127.0.0.1:0", "--upstream=http://127.0.0.1:9", "--policy", path]);
    std::fs::remove_file(&file).expect("the file");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let says = "line 2: undeclared = \"maks\" does not fit; write \"pass\" or \"mask\"";
    assert!(stderr.contains(&format!("--policy: '{path}', {says}")), "{stderr}");
}

#[test]
fn help_names_every_flag() {
    let output = run(&["--help"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty());
    for flag in ["--listen", "--upstream", "--policy", "--help"] {
        assert!(stderr.contains(flag), "{stderr}");
    }
}
