mod faults;

use std::{error::Error, io, time::Duration};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    call::{CallId, Kind},
    outcome::{Code, Retryable},
    policy::Heals,
};

fn text(error: ToolError) -> String {
    error.render(Kind::ToolCall).text
}

fn slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "reading /srv/secret")
}

#[test]
fn a_rejection_says_what_was_wrong_and_what_comes_next() {
    let rejected = |message: &str| ToolError::rejected("unknown_note", message);
    for (error, expected) in [
        (rejected("No note at 'a'. "), "No note at 'a'."),
        (rejected("No note"), "No note."),
        (
            rejected("No note").field("path").received("a").recover("Call search_notes"),
            "No note. The value of path was \"a\". Call search_notes.",
        ),
        (
            rejected("No note at 'a'").field("path").received("a"),
            "No note at 'a'. The argument at fault is path.",
        ),
        (rejected("Bad path").field("path").received(5), "Bad path. The value of path was 5."),
        (
            rejected("This item is unknown.").field("item").received("bolt-m7"),
            "This item is unknown. The value of item was \"bolt-m7\".",
        ),
        (rejected("No item bolt-m7").field("item").received("bolt-m7"), "No item bolt-m7."),
        (
            rejected("bolt-m7 is no item").field("item").received("bolt-m7"),
            "bolt-m7 is no item. The argument at fault is item.",
        ),
        (rejected("`item`: no bolt-m7").field("item").received("bolt-m7"), "`item`: no bolt-m7."),
        (rejected("The path 'a' is bad").field("path").received("a"), "The path 'a' is bad."),
        (rejected("path = a is bad").field("path").received("a"), "path = a is bad."),
        (
            rejected("The path \"ab\" is not a").field("path").received("a"),
            "The path \"ab\" is not a. The argument at fault is path.",
        ),
        (rejected("Bad path").field("path"), "Bad path."),
        // Not as part of a word.
        (rejected("Invalid").field("id"), "Invalid. The argument at fault is id."),
        (
            rejected("Bad unit").permitted(json!(["day", "week"])),
            "Bad unit. Permitted values: \"day\", \"week\".",
        ),
        (rejected("Bad date").permitted("YYYY-MM-DD"), "Bad date. Permitted: YYYY-MM-DD."),
        (
            rejected("Bad").received("abcd").closest([("abce", "E"), ("abcf", "F"), ("xyz", "X")]),
            "Bad. The value was \"abcd\". The closest matches are abce (E) and abcf (F).",
        ),
        // In either order.
        (
            rejected("Bad").closest(["abce"]).received("abcd"),
            "Bad. The value was \"abcd\". The closest match is abce.",
        ),
        (rejected("Bad. Use x.").recover("Use x."), "Bad. Use x."),
        (rejected("Bad").effects(Effects::none()), "Bad. Nothing was changed."),
        (rejected(""), "This call was not accepted."),
    ] {
        assert_eq!(error.to_string(), expected);
        assert_eq!(text(error), expected);
    }
}

#[test]
fn a_stale_request_fails_again() {
    let again = "Sending the same call again will fail again.";
    let stale = |message: &str| ToolError::stale("old_version", message);
    assert_eq!(text(stale("It changed.")), format!("It changed. {again}"));
    assert_eq!(
        text(stale("It changed").recover("Call read_note")),
        format!("It changed. {again} Call read_note.")
    );
    let said = "Note 'a' changed, so resending this call fails again.";
    assert_eq!(text(stale(said)), said);
    assert_eq!(text(stale("")), format!("What this call was based on has changed. {again}"));
    let other = stale("It changed.").render(Kind::Request).text;
    assert_eq!(other, "It changed. Sending the same request again will fail again.");
}

#[test]
fn no_fault_tells_its_cause() {
    let secret = "/srv/secret";
    let error = || io::Error::other(secret);
    for error in [
        ToolError::from(error()),
        slow().into(),
        ToolError::fault().message("It broke.").source(error()),
        ToolError::transient("busy", "Busy.").source(slow()),
        ToolError::user_action("pay", "Pay first.").source(secret),
        ToolError::rejected("bad", "Bad.").source(error()),
        ToolError::stale("old", "Old.").source(error()),
        Err::<(), _>(secret).or_fault().unwrap_err(),
        Err::<(), Box<dyn Error + Send + Sync>>(secret.into()).or_fault().unwrap_err(),
    ] {
        let shown = error.to_string();
        let Rendering { text, declaration, .. } = error.render(Kind::ToolCall);
        for shown in [shown, text, declaration.to_value().to_string()] {
            assert!(!shown.contains("secret") && !shown.contains("Error"), "{shown}");
        }
    }
}

#[tokio::test]
async fn what_heals_itself_is_said_by_the_source_unless_the_author_said_who_acts() {
    let joined = tokio::spawn(async { panic!("boom") }).await.unwrap_err();
    let overloaded = tower::load_shed::error::Overloaded::new;
    for (error, code, actor) in [
        (ToolError::from(slow()), "timeout", Actor::Time),
        (overloaded().into(), "rate_limited", Actor::Time),
        (io::Error::other(overloaded()).into(), "rate_limited", Actor::Time),
        (ToolError::fault().source(slow()), "timeout", Actor::Time),
        (ToolError::fault().code("db_slow").source(slow()), "db_slow", Actor::Time),
        (
            ToolError::fault().actor(Actor::Operator).source(slow()),
            "internal_error",
            Actor::Operator,
        ),
        (ToolError::user_action("pay", "Pay.").source(slow()), "pay", Actor::User),
        (
            ToolError::fault().effects(Effects::unknown()).source(slow()),
            "outcome_unknown",
            Actor::Operator,
        ),
        (ToolError::fault().effects(Effects::confirmed(["a"])), "partial_failure", Actor::Operator),
        (ToolError::fault().effects(Effects::none()).source(slow()), "timeout", Actor::Time),
        (ToolError::rejected("bad", "Bad.").source(slow()), "bad", Actor::Model),
        (io::Error::other("x").into(), "internal_error", Actor::Operator),
        // `panic` is for the log.
        (joined.into(), "internal_error", Actor::Operator),
        (ToolError::fault().retry_after(Duration::ZERO), "internal_error", Actor::Time),
    ] {
        let declaration = error.render(Kind::ToolCall).declaration;
        assert_eq!(declaration.code(), code);
        assert_eq!(declaration.actor, Some(actor), "{code}");
        assert_eq!(declaration.retryable, Some(actor.retryable()), "{code}");
        assert_eq!(declaration.level, None, "{code}");
    }
}

#[test]
fn the_record_is_complete() {
    let error = ToolError::user_action("reconnect", "Not connected.").level(tracing::Level::WARN);
    let rendering = error.structured(true).render(Kind::Request);
    assert!(rendering.structured);
    let mut record = rendering.declaration.to_value();
    let reference = record.as_object_mut().unwrap().remove("reference");
    let reference = reference.as_ref().and_then(Value::as_str).unwrap();
    assert_eq!(
        record,
        json!({
            "outcome": "fault", "code": "reconnect", "actor": "user", "level": "warn",
            "retryable": "never", "user_action_required": true, "message": "Not connected.",
            "recover": format!(
                "The request was fine and nothing about it should change: tell the user, who has \
                 to act before it can succeed (reference {reference})."
            ),
        })
    );
    let rejected = ToolError::rejected("bad", "Bad.").render(Kind::ToolCall).declaration;
    assert_eq!((rejected.reference, rejected.recover), (None, None));
    assert_eq!(rejected.retryable, Some(Retryable::WithDifferentArguments));
}

#[test]
fn without_a_valid_code_there_is_the_outcomes() {
    for (error, code) in [
        (ToolError::rejected("", "m"), "rejected"),
        (ToolError::stale("!", "m"), "stale"),
        (ToolError::fault(), "internal_error"),
        (ToolError::transient("", "m"), "internal_error"),
        (ToolError::rejected("No Note!", "m"), "no_note"),
        (ToolError::rejected("kept", "m").code(""), "kept"),
    ] {
        assert_eq!(error.declaration().code(), code);
    }
}

#[test]
fn an_actor_that_the_outcome_does_not_allow_is_ignored() {
    let error = ToolError::rejected("bad", "Bad.").actor(Actor::Operator);
    assert_eq!(error.declaration().actor(), Actor::Model);
    let error = ToolError::transient("busy", "Busy.").actor(Actor::Model);
    assert_eq!(error.declaration().actor(), Actor::Time);
}

#[test]
fn the_fixed_texts_name_the_call_the_delay_and_the_reference() {
    let id = CallId::next();
    let minute = Some(Duration::from_secs(60));
    for (kind, heals, expected, code) in [
        (Kind::ToolCall, None, "This call was fine", "internal_error"),
        (Kind::Request, None, "This request was fine", "internal_error"),
        (Kind::ToolCall, Some(Heals::Timeout), "send the same call again later", "timeout"),
        (Kind::ToolCall, Some(Heals::RateLimit(None)), "again later", "rate_limited"),
        (
            Kind::Request,
            Some(Heals::RateLimit(minute)),
            "request again in 60 seconds",
            "rate_limited",
        ),
    ] {
        let Rendering { text, declaration, .. } = Rendering::fault(kind, heals, id);
        assert!(text.contains(expected) && text.contains(&format!("(reference {id})")), "{text}");
        assert!(text.matches(". ").count() <= 1, "two sentences at most: {text}");
        assert_eq!(declaration.code(), code);
        assert_eq!(declaration.reference, Some(id.to_string()));
        assert!(declaration.message.is_some() && declaration.recover.is_some());
        let record = declaration.to_value();
        assert_eq!(Declaration::from_value(&record), Some(declaration));
    }
}

#[test]
fn a_failure_in_scope_of_a_call_refers_to_it() {
    use std::{future, pin::pin, task};

    let call = crate::Call::begin(Kind::ToolCall, "tools/call".into(), Some("t"), None);
    let work = call.scope(async { ToolError::fault().source("x").render(Kind::ToolCall) });
    let mut context = task::Context::from_waker(task::Waker::noop());
    let task::Poll::Ready(rendering) = future::Future::poll(pin!(work), &mut context) else {
        panic!("it waits for nothing")
    };
    assert_eq!(rendering.declaration.reference, Some(call.id().to_string()));
}

#[test]
fn a_source_that_panics_is_contained() {
    struct Hostile;
    impl fmt::Debug for Hostile {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("debug")
        }
    }
    impl fmt::Display for Hostile {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("display")
        }
    }
    impl Error for Hostile {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            panic!("source")
        }
    }
    impl Drop for Hostile {
        fn drop(&mut self) {
            panic!("drop")
        }
    }
    let rendering = ToolError::from(Hostile).render(Kind::ToolCall);
    assert_eq!(rendering.declaration.code(), "internal_error");
}

#[test]
fn it_crosses_threads() {
    fn assert<T: Send + Sync + 'static>() {}
    assert::<ToolError>();
    assert!(format!("{:?}", ToolError::from(slow())).contains("TimedOut"));
}

proptest! {
    #[test]
    fn every_text_is_bounded_and_ends_with_the_next_step_and_the_reference(
        message in ".{0,40}", times in 1_usize..200, received in ".{0,400}", label in ".{0,200}",
        is_fault in any::<bool>(),
    ) {
        let error = if is_fault { ToolError::fault() } else { ToolError::stale("x", "") };
        let rendering = error
            .message(message.repeat(times))
            .field(&received)
            .received(received.clone())
            .closest([(received, label.clone())])
            .permitted(vec![label.clone(); times])
            .effects(Effects::unresolved(vec![label; times]))
            .recover("Call the_next_tool.")
            .render(Kind::ToolCall);
        prop_assert!(rendering.text.chars().count() <= 2000);
        let reference = rendering.declaration.reference.clone();
        let end = reference.map_or_else(String::new, |it| format!(" Reference for the user: {it}."));
        let end = format!("Call the_next_tool.{end}");
        prop_assert!(rendering.text.ends_with(&end), "{}", rendering.text);
        let record = rendering.declaration.to_value();
        prop_assert_eq!(Declaration::from_value(&record), Some(rendering.declaration));
    }
}
