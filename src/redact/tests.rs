use std::{borrow::Cow, time::Instant};

use proptest::prelude::*;

use super::*;

fn redact(text: &str) -> Cow<'_, str> {
    Redactor::new().redact(text)
}

fn assert_all(cases: &[(&str, &str)]) {
    for (text, redacted) in cases {
        assert_eq!(redact(text), *redacted, "{text}");
        assert_eq!(redact(redacted), *redacted, "a second time: {text}");
    }
}

#[test]
fn users_and_passwords_of_urls() {
    assert_all(&[
        ("postgres://app:pw@db:5432/notes", "postgres://[redacted]@db:5432/notes"),
        ("at https://ghp_abc@github.com/a/b.git!", "at https://[redacted]@github.com/a/b.git!"),
        ("https://u:p@ss@w0rd@host/x", "https://[redacted]@host/x"),
        ("postgres://u:pa/ss@host/db", "postgres://[redacted]@host/db"),
        ("postgres://u:a@b/c@host/db", "postgres://[redacted]@host/db"),
        ("https://u:pa/s?s#@host/x", "https://[redacted]@host/x"),
        ("redis://:pw@h1,redis://:p2@h2", "redis://[redacted]@h1,redis://[redacted]@h2"),
        ("redis://:123/4@h1", "redis://[redacted]@h1"),
        (
            "(amqp://a:b@c) and \"mysql://d:e@f\"",
            "(amqp://[redacted]@c) and \"mysql://[redacted]@f\"",
        ),
        ("HTTPS://U:P@host", "HTTPS://[redacted]@host"),
        ("https://ü:ß@host", "https://[redacted]@host"),
    ]);
}

#[test]
fn urls_without_them_stay() {
    for text in [
        "https://host:8080/@scope/pkg@1.2.3",
        "https://medium.com/@someone",
        "http://[::1]:8080/a@b",
        "see https://example.com/a?b=c#d and mail me@example.com",
        "://@",
    ] {
        assert!(matches!(redact(text), Cow::Borrowed(same) if same == text), "{text}");
    }
}

#[test]
fn bearer_and_basic_credentials() {
    assert_all(&[
        ("Authorization: Bearer abc", "Authorization: Bearer [redacted]"),
        ("authorization: basic dXNlcjpwdw==, next", "authorization: basic [redacted], next"),
        ("authorization=Token abc", "authorization=Token [redacted]"),
        ("Authorization: abc", "Authorization: [redacted]"),
        ("Proxy-Authorization: NTLM x", "Proxy-Authorization: NTLM [redacted]"),
        ("authorization Bearer abc", "authorization Bearer [redacted]"),
        (r#"{"Authorization": "Bearer a b"}"#, r#"{"Authorization": "Bearer [redacted]"}"#),
        (r#"{"authorization":"abc"}"#, r#"{"authorization":"[redacted]"}"#),
        (r#""authorization": Some("Bearer x")"#, r#""authorization": Some("Bearer [redacted]")"#),
        (
            "Authorization: Digest username=\"m\", response=\"6629\"\nHost: x",
            "Authorization: Digest [redacted]\nHost: x",
        ),
        ("sent 'Bearer eyJh.eyJz.x-_y'.", "sent 'Bearer [redacted]'."),
        ("BEARER abcdefg1 failed", "BEARER [redacted] failed"),
        ("bearer: abcdefg1", "bearer: [redacted]"),
        ("Basic dXNlcjpwdw==", "Basic [redacted]"),
    ]);
}

#[test]
fn prose_about_bearers_stays() {
    for text in [
        "bearer of news",
        "the bearer presented identification.",
        "Basic Authentication is off",
        "basic utf-8 text",
        "a bearer token-based scheme",
        "forbearer abcdefgh1",
    ] {
        assert!(matches!(redact(text), Cow::Borrowed(_)), "{text}: {}", redact(text));
    }
}

#[test]
fn pairs_named_like_a_secret() {
    assert_all(&[
        ("password=hunter2", "password=[redacted]"),
        ("PASSWORD = hunter2 and more", "PASSWORD = [redacted] and more"),
        ("password: hunter2, user: x", "password: [redacted], user: x"),
        ("(passwd=a,b!c)", "(passwd=[redacted])"),
        ("secret := x", "secret := [redacted]"),
        (":api_key => 'x y'", ":api_key => '[redacted]'"),
        (r#"{"password": "x"}"#, r#"{"password": "[redacted]"}"#),
        (r#"{"password":"a \" b\\","user":"u"}"#, r#"{"password":"[redacted]","user":"u"}"#),
        (r#"{\"token\":\"a \\\" b\",\"n\":1}"#, r#"{\"token\":\"[redacted]\",\"n\":1}"#),
        (r#"{"token":5,"n":1}"#, r#"{"token":[redacted],"n":1}"#),
        (r#"{"secret":["a","b"],"n":1}"#, r#"{"secret":[redacted],"n":1}"#),
        ("pwd='it''s me' x", "pwd='[redacted]' x"),
        ("password=\"never closed", "password=\"[redacted]"),
        ("Config { password: Some(\"a b\") }", "Config { password: Some(\"[redacted]\") }"),
        ("Config { token: Secret(abc) }", "Config { token: [redacted]) }"),
        ("GET /x?token=a%20b&user=y HTTP", "GET /x?token=[redacted]&user=y HTTP"),
        ("https://h/x?access_token=abc", "https://h/x?access_token=[redacted]"),
        ("\"https://h/x?api-key=a&b\" failed", "\"https://h/x?api-key=[redacted]\" failed"),
        ("Server=a;Password=x y;Database=d", "Server=a;Password=[redacted];Database=d"),
        ("Password=x y;Initial Catalog=d", "Password=[redacted];Initial Catalog=d"),
        ("Uid=a;Pwd=it;s;", "Uid=a;Pwd=[redacted];s;"),
        ("AccountKey=abc==;EndpointSuffix=x", "AccountKey=[redacted];EndpointSuffix=x"),
        ("AWS_SECRET_ACCESS_KEY=abc/d+e", "AWS_SECRET_ACCESS_KEY=[redacted]"),
        ("x-api-key: abc", "x-api-key: [redacted]"),
        ("db.clientSecret=abc", "db.clientSecret=[redacted]"),
        ("x_auth=abc", "x_auth=[redacted]"),
        ("password=[redacted]hunter2", "password=[redacted]"),
        ("params['password'] = 'x'", "params['password'] = '[redacted]'"),
        ("mysql --password hunter2 db", "mysql --password [redacted] db"),
        ("mysql --password='a b' db", "mysql --password='[redacted]' db"),
        ("password=ünder wäter", "password=[redacted] wäter"),
        (
            "private_key: -----BEGIN X-----\nMII\n-----END X-----\nnext",
            "private_key: [redacted]\nnext",
        ),
    ]);
}

#[test]
fn what_is_not_named_like_a_secret_stays() {
    for text in [
        "max_tokens=5, bypass=1, author: me",
        "token::Parser failed",
        "password: None",
        r#"{"password":null,"token":""}"#,
        "the password is wrong",
        "no such file: a.txt",
        "mysql --password --user x",
        "the session token expired",
        "keep: {\"auth\": {\"user\": 1}}",
        "",
        "ä: ö = ü",
    ] {
        assert!(matches!(redact(text), Cow::Borrowed(_)), "{text}: {}", redact(text));
    }
}

#[test]
fn time_is_linear_on_what_looks_like_secrets() {
    for part in [
        "a://",
        "a://b:c/",
        "a:b@",
        "token=[",
        "token=[] ",
        "token='",
        "token=\"\\",
        "authorization: ",
        "authorization: bearer ",
        "bearer ",
        "bearer=",
        "Basic =",
        "=",
        ":",
        " ",
        "--token ",
        "pwd=a;",
        "pwd=a b",
        "\\",
        "token: -----BEGIN ",
        "password={",
        "authorization: digest \n",
        "token=a&b",
        "password=[a ",
        "token=\"a password='b ",
    ] {
        let text = part.repeat(100_000 / part.len());
        let started = Instant::now();
        let _ = redact(&text);
        // A quadratic search takes minutes, unoptimised.
        assert!(started.elapsed().as_secs() < 20, "{part} took {:?}", started.elapsed());
    }
}

#[test]
fn a_cut_splits_no_word() {
    assert_eq!(head("one two three", 9), "one two");
    assert_eq!(head("one two", 7), "one two");
    assert_eq!(head("ääää", 3), "ä");
    // A word that is most of the text is shown as far as it goes, but for a URL in it.
    assert_eq!(head(&format!("ab {}", "z".repeat(99)), 20), format!("ab {}", "z".repeat(17)));
    assert_eq!(head(&format!("ab x=p://{}", "z".repeat(99)), 20), "ab x=p");
}

#[test]
fn a_stray_quote_does_not_swallow_the_name_of_the_next_secret() {
    for text in [
        "authorization: '\nclient_secret: 'hunter2'",
        "token=\" password=\"hunter2\"",
        "password=[a, token=\"b ] hunter2\" d",
        "password=xtoken=\"abc hunter2\" g",
        "password=[a authorization: digest u=1] nonce=hunter2, r=hunter2",
        "apikey=k|token=\"a hunter2 c\"",
    ] {
        assert!(!redact(text).contains("hunter2"), "{}", redact(text));
    }
}

/// Pieces that could confuse the search, and prose.
fn noise() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("://".to_owned()),
        Just("password=".to_owned()),
        Just("\"token\": \"".to_owned()),
        Just("Bearer ".to_owned()),
        Just("authorization: ".to_owned()),
        Just("--secret ".to_owned()),
        "[ @:;=&\\\\\"'\\[\\]{}(),\n]{1,4}",
        any::<String>(),
        "[a-z]{1,8} ",
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_panics_and_what_was_redacted_stays_so(text in noise()) {
        let once = redact(&text).into_owned();
        let twice = redact(&once).into_owned();
        prop_assert_eq!(redact(&twice), twice.as_str());
    }

    #[test]
    fn no_secret_survives_in_any_text(before in noise(), after in noise(), form in 0_usize..8) {
        let secret = "hunTer2zQ9";
        let hidden = match form {
            0 => format!("postgres://app:{secret}@db"),
            1 => format!("Authorization: Bearer {secret}"),
            2 => format!("Basic {secret}=="),
            3 => format!("password={secret}"),
            4 => format!("{{\"api_key\": \"a b {secret}\"}}"),
            5 => format!("Server=a;Pwd=x {secret};Database=y"),
            6 => format!("https://h/x?a=b&access_token={secret}&c=d"),
            _ => format!("client_secret: '{secret}'"),
        };
        let text = format!("{before}\n{hidden}\n{after}");
        let redacted = redact(&text);
        prop_assert!(!redacted.contains(secret), "{}", redacted);
    }
}

#[test]
fn functions_and_closures_are_redactors() {
    fn shout(text: &str) -> Cow<'_, str> {
        Cow::Owned(text.to_uppercase())
    }
    fn through(redactor: &dyn Redact) -> String {
        redactor.redact("no route to db1").into_owned()
    }
    assert_eq!(through(&shout), "NO ROUTE TO DB1");
    let host = String::from("db1");
    assert_eq!(through(&redact_fn(move |text| text.replace(&host, "x").into())), "no route to x");
    let plain = redact_fn(|text| Cow::Borrowed(text));
    assert!(matches!(plain.redact("as it is"), Cow::Borrowed("as it is")));
}
