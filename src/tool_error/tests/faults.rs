use super::*;

/// The text without its reference, and that text with ` (reference …)` or the last sentence taken out.
fn without_reference(error: ToolError) -> (String, String) {
    let shown = error.to_string();
    let Rendering { text, declaration, .. } = error.render(Kind::ToolCall);
    let reference = declaration.reference.unwrap();
    assert_eq!(text.matches(&reference).count(), 1, "{text}");
    let text = text
        .replace(&format!(" (reference {reference})"), "")
        .replace(&format!(" Reference for the user: {reference}."), "");
    (shown, text)
}

fn assert_texts(cases: impl IntoIterator<Item = (ToolError, &'static str)>) {
    for (error, expected) in cases {
        let (shown, text) = without_reference(error);
        assert_eq!(shown, expected);
        assert_eq!(text, expected);
        assert_eq!(text.to_lowercase().matches("call was fine").count(), 1, "{text}");
    }
}

#[test]
fn a_fault_says_who_has_to_act() {
    assert_texts([
        (
            ToolError::fault(),
            "This call was fine, but the server could not complete it. Nothing about it should \
             change and sending it again will not help: tell the user that the server has a \
             problem.",
        ),
        (
            ToolError::fault().message("The index is broken"),
            "The index is broken. The call was fine; nothing about it should change and sending \
             it again will not help: tell the user that the server has a problem.",
        ),
        (
            ToolError::fault().actor(Actor::User),
            "This call was fine, but the user has to do something first. Nothing about it should \
             change: tell the user, who has to act before it can succeed.",
        ),
        (
            ToolError::user_action("pay", "The plan has ended."),
            "The plan has ended. The call was fine and nothing about it should change: tell the \
             user, who has to act before it can succeed.",
        ),
        (
            ToolError::fault().actor(Actor::Time),
            "This call was fine, but the server cannot complete it right now. Send the same call \
             again later, unchanged; if it keeps failing, tell the user that the server has a \
             problem.",
        ),
        (
            ToolError::fault().actor(Actor::Time).code(Code::RATE_LIMITED),
            "This call was fine, but the server has more requests than it can handle right now. \
             Send the same call again later, unchanged; if it keeps failing, tell the user that \
             the server has a problem.",
        ),
        (
            ToolError::transient("rebuilding", "Rebuilding.")
                .retry_after(Duration::from_millis(1_200)),
            "Rebuilding. The call was fine: send the same call again in 2 seconds, unchanged; if \
             it keeps failing, tell the user that the server has a problem.",
        ),
        (
            ToolError::fault().effects(Effects::none()),
            "This call was fine, but the server could not complete it. Nothing was changed. \
             Nothing about it should change and sending it again will not help: tell the user \
             that the server has a problem.",
        ),
        // The author's own words are not said again.
        (
            ToolError::transient("busy", "Your call was fine, but the store is busy."),
            "Your call was fine, but the store is busy. Send the same call again later, \
             unchanged; if it keeps failing, tell the user that the server has a problem.",
        ),
    ]);
}

#[test]
fn what_took_too_long_may_have_taken_effect() {
    let fixed = "This call was fine, but the server took too long to complete it, and it may have \
                 taken effect all the same. If it changes anything, check first whether it did; \
                 otherwise send the same call again later, unchanged; if it keeps failing, tell \
                 the user that the server has a problem.";
    assert_texts([
        (slow().into(), fixed),
        (ToolError::fault().code("db_slow").source(slow()), fixed),
        (ToolError::fault().source(slow()).effects(Effects::default()), fixed),
        (
            ToolError::transient("timeout", "The store is slow.")
                .retry_after(Duration::from_secs(5)),
            "The store is slow. The call was fine, but it may have taken effect all the same: if \
             it changes anything, check first whether it did; otherwise send the same call again \
             in 5 seconds, unchanged; if it keeps failing, tell the user that the server has a \
             problem.",
        ),
        (
            ToolError::transient("timeout", "The store is slow.").recover("Call job_status."),
            "The store is slow. The call was fine, but it may have taken effect all the same. \
             Call job_status.",
        ),
        // Whoever knows says so.
        (
            ToolError::fault().source(slow()).effects(Effects::none()),
            "This call was fine, but the server took too long to complete it. Nothing was \
             changed. Send the same call again later, unchanged; if it keeps failing, tell the \
             user that the server has a problem.",
        ),
        // One that was turned away did not run.
        (
            ToolError::transient("rate_limited", "Too many.").source(slow()),
            "Too many. The call was fine: send the same call again later, unchanged; if it keeps \
             failing, tell the user that the server has a problem.",
        ),
    ]);
    let id = CallId::next();
    let rendering = Rendering::fault(Kind::ToolCall, Some(Heals::Timeout), id);
    let with_reference = fixed.replace("problem.", &format!("problem (reference {id})."));
    assert_eq!(rendering.text, with_reference);
}

#[test]
fn the_authors_next_step_replaces_the_advice() {
    let step = "Ask the user to connect it in the settings.";
    assert_texts([
        (
            ToolError::user_action("reconnect", "GitHub is not connected.").recover(step),
            "GitHub is not connected. The call was fine. Ask the user to connect it in the \
             settings.",
        ),
        (
            ToolError::fault().recover("Use read_note instead"),
            "This call was fine, but the server could not complete it. Use read_note instead.",
        ),
        (
            ToolError::transient("busy", "Busy.")
                .retry_after(Duration::from_secs(60))
                .recover("Use search_titles until then."),
            "Busy. The call was fine and can succeed in 60 seconds. Use search_titles until then.",
        ),
        (
            ToolError::transient("busy", "Busy.")
                .retry_after(Duration::from_secs(60))
                .recover("Call it again in 60 seconds."),
            "Busy. The call was fine. Call it again in 60 seconds.",
        ),
        (
            ToolError::fault()
                .retry_after(Duration::from_secs(60))
                .recover("Use search_titles until then."),
            "This call was fine, but the server cannot complete it right now. It can succeed in \
             60 seconds. Use search_titles until then.",
        ),
        (
            ToolError::fault()
                .message("Labelling stopped.")
                .effects(Effects::confirmed(["p1"]).and(Effects::unresolved(["p2"])))
                .recover("Call list_labels for p2."),
            "Labelling stopped. Done: p1. Not confirmed: p2. The call was fine. Call list_labels \
             for p2.",
        ),
        (
            ToolError::fault().message("It broke.").recover("The call was fine; tell the user."),
            "It broke. The call was fine; tell the user.",
        ),
    ]);
    let Rendering { text, declaration, .. } =
        ToolError::user_action("reconnect", "Not connected.").recover(step).render(Kind::ToolCall);
    let end = format!("{step} Reference for the user: {}.", declaration.reference.unwrap());
    assert!(text.ends_with(&end), "{text}");
    assert_eq!(declaration.recover.as_deref(), Some(step));
}

#[test]
fn what_may_be_done_already_is_not_sent_again_unseen() {
    let stopped = || ToolError::fault().message("Labelling stopped.");
    let busy =
        || ToolError::transient("busy", "The store is busy.").retry_after(Duration::from_secs(5));
    let user = || ToolError::user_action("reconnect", "Not connected.");
    let done = || Effects::confirmed(["p1"]);
    assert_texts([
        (
            stopped().effects(done()),
            "Labelling stopped. Done: p1. The call was fine, but do not send what is done again; \
             tell the user what was done and that the server has a problem.",
        ),
        (
            stopped().effects(Effects::unresolved(["p2"])),
            "Labelling stopped. Not confirmed: p2. The call was fine, but do not send it again \
             before you have checked whether the unconfirmed one took effect; tell the user what \
             is not confirmed and that the server has a problem.",
        ),
        (
            stopped().effects(Effects::unresolved(["p2", "p3"])),
            "Labelling stopped. Not confirmed: p2, p3. The call was fine, but do not send it again \
             before you have checked which of the unconfirmed took effect; tell the user what is \
             not confirmed and that the server has a problem.",
        ),
        (
            stopped().effects(done().and(Effects::unresolved(["p2"]))),
            "Labelling stopped. Done: p1. Not confirmed: p2. The call was fine, but do not send \
             what is done again, nor the rest before you have checked whether the unconfirmed one \
             took effect; tell the user what was done, what is not confirmed, and that the server \
             has a problem.",
        ),
        (
            stopped().effects(done().and(Effects::unknown())),
            "Labelling stopped. Done: p1. What else took effect is unknown. The call was fine, \
             but do not send what is done again, nor the rest before you have checked what took \
             effect; tell the user what was done and that the server has a problem.",
        ),
        (
            ToolError::fault().effects(Effects::unknown()),
            "This call was fine, but the server could not complete it. What took effect is \
             unknown. Do not send it again before you have checked what took effect; tell the \
             user that the server has a problem.",
        ),
        (
            stopped().effects(Effects::unresolved(["p2"]).and(Effects::unknown())),
            "Labelling stopped. Not confirmed: p2. What took effect is unknown. The call was fine, \
             but do not send it again before you have checked what took effect; tell the user what \
             is not confirmed and that the server has a problem.",
        ),
        (
            stopped().effects(Effects::confirmed((0..100).map(|it| it.to_string()))),
            "Labelling stopped. Done: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 90 more. The call was fine, \
             but do not send what is done again; tell the user what was done and that the server \
             has a problem.",
        ),
        (
            user().effects(Effects::unresolved(["p2", "p3"])),
            "Not connected. Not confirmed: p2, p3. The call was fine, but do not send it again \
             before you have checked which of the unconfirmed took effect; tell the user what is \
             not confirmed and that they have to act first.",
        ),
        (
            busy().effects(done()),
            "The store is busy. Done: p1. The call was fine: in 5 seconds send only what is not \
             done yet; if it keeps failing, tell the user that the server has a problem.",
        ),
        (
            busy().effects(Effects::unresolved(["p2"])),
            "The store is busy. Not confirmed: p2. The call was fine: check whether the \
             unconfirmed one took effect, then in 5 seconds send it only if it did not; if it \
             keeps failing, tell the user that the server has a problem.",
        ),
        (
            busy().effects(done().and(Effects::unresolved(["p2", "p3"]))),
            "The store is busy. Done: p1. Not confirmed: p2, p3. The call was fine: check which \
             of the unconfirmed took effect, then in 5 seconds send only those that did not; if \
             it keeps failing, tell the user that the server has a problem.",
        ),
        (
            ToolError::fault().actor(Actor::Time).effects(Effects::unknown()),
            "This call was fine, but the server cannot complete it right now. What took effect \
             is unknown. Check what took effect, then later send only what did not; if it keeps \
             failing, tell the user that the server has a problem.",
        ),
    ]);
}

#[test]
fn only_who_says_so_claims_that_nothing_was_changed() {
    for silent in [
        Effects::default(),
        Effects::confirmed([""; 0]),
        Effects::unresolved([""; 0]),
        Effects::default().and(Effects::confirmed([""; 0])),
    ] {
        assert!(!silent.is_none());
        let error = ToolError::fault().effects(silent);
        assert_eq!(error.to_string(), ToolError::fault().to_string());
        assert_eq!(error.declaration().effects, None);
        assert_eq!(error.render(Kind::ToolCall).declaration.code(), "internal_error");
    }
    let record = json!({"outcome": "fault", "effects": {"confirmed": [], "unresolved": []}});
    assert_eq!(Declaration::from_value(&record).unwrap().effects, None);
    assert!(Effects::none().is_none() && Effects::none().and(Effects::default()).is_none());
    let some = Effects::none().and(Effects::confirmed(["p1"]));
    assert!(!some.is_none());
    let text = ToolError::rejected("bad", "Bad.").effects(some).to_string();
    assert_eq!(text, "Bad. Done: p1.");
}

#[test]
fn a_delay_is_only_kept_where_waiting_helps() {
    let delay = Duration::from_secs(5);
    for (error, expected) in [
        (ToolError::rejected("bad", "Bad."), None),
        (ToolError::stale("old", "Old."), None),
        (ToolError::user_action("pay", "Pay."), None),
        (ToolError::fault().actor(Actor::Operator), None),
        (ToolError::transient("busy", "Busy."), Some(5.0)),
        (ToolError::fault(), Some(5.0)),
    ] {
        let Rendering { text, declaration, .. } = error.retry_after(delay).render(Kind::ToolCall);
        assert_eq!(declaration.retry_after_seconds, expected, "{text}");
        assert_eq!(declaration.retryable() == Retryable::AfterDelay, expected.is_some(), "{text}");
        assert_eq!(text.contains("5 seconds"), expected.is_some(), "{text}");
    }
}

#[test]
fn a_limit_is_told_where_it_heals() {
    let limited = |requests, seconds| {
        ToolError::transient("rate_limited", "Too many.")
            .limit(Limit::new(requests, Duration::from_secs(seconds)))
    };
    for (error, expected) in [
        (limited(2, 60), "Too many. Permitted: at most 2 calls in 60 seconds. The call was fine: "),
        (limited(1, 3600), "Too many. Permitted: at most 1 call in 60 minutes. The call"),
        (limited(5, 60).message("5 messages a minute."), "5 messages a minute. The call was fine:"),
        (limited(5, 60).limit(Limit::default()), "Too many. The call was fine: "),
        (ToolError::rejected("bad", "Bad.").limit(Limit::new(2, Duration::ZERO)), "Bad."),
    ] {
        let text = text(error);
        assert!(text.starts_with(expected), "{text}");
    }
    let text = limited(2, 60).render(Kind::Request).text;
    assert!(text.contains("at most 2 requests in 60 seconds"), "{text}");
}

#[test]
fn long_delays_are_told_in_units_that_one_says() {
    for (millis, expected) in [
        (0, "in 1 second,"),
        (1_000, "in 1 second,"),
        (1_001, "in 2 seconds,"),
        (60_000, "in 60 seconds,"),
        (119_000, "in 119 seconds,"),
        (119_001, "in 2 minutes,"),
        (120_000, "in 2 minutes,"),
        (121_000, "in 3 minutes,"),
        (1_200_000, "in 20 minutes,"),
        (7_140_000, "in 119 minutes,"),
        (7_200_000, "in 2 hours,"),
        (9_000_000, "in 150 minutes,"),
        (36_100_000, "in 11 hours,"),
        (129_600_000, "in 36 hours,"),
        (172_800_000, "in 2 days,"),
        (u64::MAX, "in 49711 days,"),
    ] {
        let delay = Duration::from_millis(millis);
        let text = text(ToolError::transient("busy", "Busy.").retry_after(delay));
        assert!(text.contains(expected), "{millis}: {text}");
    }
}
