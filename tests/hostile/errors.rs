//! Errors whose own methods panic.

use std::{error::Error, fmt};

use serde_json::json;
use tower_outcome::{OutcomeLayer, ToolError};

use crate::{
    kit::{call, connect_in, line},
    observers::{assert_logs, endings},
};

/// Which of its methods panics.
#[derive(Debug, Clone, Copy)]
enum Bad {
    Display,
    Source,
    Drop,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Display => panic!("its Display"),
            _ => f.write_str("bad"),
        }
    }
}

impl Error for Bad {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Source => panic!("its source"),
            _ => None,
        }
    }
}

#[derive(Debug)]
struct Dropped(Bad);

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Dropped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        if matches!(self.0, Bad::Drop) && !std::thread::panicking() {
            panic!("its Drop");
        }
    }
}

#[tokio::test]
async fn an_error_whose_methods_panic_is_a_fault_like_any() {
    let mut tools = endings();
    for bad in [Bad::Display, Bad::Source, Bad::Drop] {
        tools = tools.with(format!("{bad:?}"), move |_| async move {
            Err::<String, ToolError>(Dropped(bad).into())
        });
    }
    let client = connect_in(tools, OutcomeLayer::new()).await;
    for bad in [Bad::Display, Bad::Source, Bad::Drop] {
        let (answer, event) = call(&client, &format!("{bad:?}"), json!({})).await;
        assert!(answer.is_error(), "{bad:?}: {answer:?}");
        assert_eq!(line(&event), "ERROR tool_call_failed fault internal_error", "{bad:?}");
        assert!(event.field("error_type").unwrap().ends_with("Dropped"), "{event:?}");
    }
    assert_logs(&client, 3).await;
}
