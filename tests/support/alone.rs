//! Tests that need a process of their own: what a process has one of, other tests would use as well.

use std::{
    env,
    process::{Command, Output, Stdio},
};

const CHILD: &str = "TOWER_OUTCOME_TEST_CHILD";

/// Runs a test again in a process of its own, with these variables.
pub(crate) fn again(test: &str, variables: &[(&str, &str)]) -> Output {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, test)
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Whether this process was started by [`again`] for this test.
pub(crate) fn is_child(test: &str) -> bool {
    env::var(CHILD).is_ok_and(|child| child == test)
}

/// Runs a test again in a process of its own, and says whether this is that process.
pub(crate) fn is_alone(test: &str) -> bool {
    if is_child(test) {
        return true;
    }
    let output = again(test, &[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
    false
}
