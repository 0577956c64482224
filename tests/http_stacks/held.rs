//! Verdicts that are reached in another task, and whose answers never come.

use std::time::Duration;

use tower::{Layer as _, ServiceExt as _};
use tower_outcome::{Call, LogLayer, OutcomeLayer, Verdict};

use crate::{
    kit::{Script, call, fake, lines},
    support::Logs,
};

/// Decides, one second from now, and never answers.
async fn decide_and_hang(call: Option<Call>) -> Result<http::Response<Script>, tower::BoxError> {
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        call.unwrap().decide(Verdict::completed());
    });
    std::future::pending().await
}

#[tokio::test(start_paused = true)]
async fn a_verdict_wakes_the_layer_that_is_to_log_it() {
    for contains in [true, false] {
        let (logs, _guard) = Logs::capture();
        let hanging = fake(|request| decide_and_hang(request.extensions().get().cloned()));
        let task = tokio::spawn(async move {
            match contains {
                true => drop(OutcomeLayer::new().layer(hanging).oneshot(call()).await),
                false => drop(LogLayer::new().layer(hanging).oneshot(call()).await),
            }
        });
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(lines(&logs), ["INFO tool_call_completed completed -"], "{contains}");
        assert!(!task.is_finished());
        task.abort();
    }
}
