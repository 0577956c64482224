//! Tasks that are stopped: by their client, and by others.

use serde_json::json;

use crate::{
    bench::{Bench, COMPLETED, Way},
    kit::{line, lines},
};

const CANCELLED: &str = "INFO tool_call_cancelled cancelled -";

#[tokio::test]
async fn a_task_that_its_client_cancels_is_cancelled_once() {
    for way in Way::ALL {
        let bench = Bench::new(way);
        let id = bench.create(json!({ "ends": "never" }), None).await;
        let answer = bench.cancel(1, &id).await;
        assert_eq!(answer["result"]["status"], "cancelled", "{way:?}: {answer}");
        let end = bench.end_of(&id);
        assert_eq!(line(&end), CANCELLED, "{way:?}");
        assert_eq!(end.field("reason"), Some("client_cancelled"), "{way:?}: {end:?}");
        // Whatever it is answered afterwards, its end is told.
        let answer = bench.get(0, &id).await;
        assert_eq!(answer["result"]["status"], "cancelled", "{way:?}: {answer}");
        let answer = bench.result(1, &id).await;
        assert_eq!(answer["error"]["code"], -31001, "{way:?}: {answer}");
        bench.cancel(0, &id).await;
        assert_eq!(line(&bench.end_of(&id)), CANCELLED, "{way:?}");
    }
}

#[tokio::test]
async fn a_task_that_somebody_else_stops_is_cancelled_without_a_reason() {
    for way in Way::ALL {
        let bench = Bench::new(way);
        let id = bench.create(json!({ "ends": "never" }), None).await;
        bench.get(0, &id).await;
        bench.server.stop(&id);
        bench.get(1, &id).await;
        let end = bench.end_of(&id);
        assert_eq!((line(&end).as_str(), end.field("reason")), (CANCELLED, None), "{way:?}");
        bench.get(0, &id).await;
        bench.end_of(&id);
    }
}

/// Too late: it has ended, and in what is still to be seen.
#[tokio::test]
async fn a_cancel_that_is_refused_is_none() {
    for way in Way::ALL {
        let bench = Bench::new(way);
        let id = bench.create(json!({ "ends": "ok" }), None).await;
        bench.server.ended(&id).await;
        let answer = bench.cancel(1, &id).await;
        assert_eq!(answer["error"]["code"], -32602, "{way:?}: {answer}");
        bench.assert_open(&id);
        bench.result(0, &id).await;
        assert_eq!(line(&bench.end_of(&id)), COMPLETED, "{way:?}");
        let refused = "INFO request_failed protocol_error invalid_params";
        let refusals = lines(&bench.logs).into_iter().filter(|line| line == refused).count();
        assert_eq!(refusals, 1, "{way:?}: {:?}", lines(&bench.logs));
    }
}
