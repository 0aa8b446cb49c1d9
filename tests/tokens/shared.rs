//! Tokens signed with a shared secret, and what else may stand in the header.

use jsonwebtoken::Algorithm;
use likewise::config::Access;
use likewise::http::auth::Authenticator;
use serde_json::{Value, json};

use crate::forge::{
    SECRET, base64, claims, hmac, seconds, shared, shared_with, sign, sign_text, with,
};
use crate::{Answer, ada, api, bear, send};

async fn strict() -> axum::Router {
    let access = Access {
        jwt_secret: Some(SECRET.to_owned().into()),
        jwks: None,
        jwt_issuer: Some("https://id.example".to_owned()),
        jwt_audience: Some("likes".to_owned()),
    };
    api(Authenticator::new(&access).await.unwrap())
}

#[tokio::test]
async fn headers_without_a_good_token_are_refused_and_none_is_anonymous() {
    let api = strict().await;
    assert_eq!(send(&api, &[]).await, Answer::Anonymous);
    let good = shared(&claims());
    for value in [
        format!("Bearer {good}"),
        format!("bearer {good}"),
        format!("BEARER   {good}"),
    ] {
        assert_eq!(send(&api, &[value.clone().into()]).await, ada(), "{value}");
    }
    let long = "a".repeat(1024 * 1024);
    for value in [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        good.clone(),
        format!("Basic {good}"),
        format!("Token {good}"),
        format!("Bearer:{good}"),
        format!("Bearer\t{good}"),
        format!("Bearer {good} "),
        format!("Bearer {good}, Bearer {good}"),
        format!("Bearer {good} {good}"),
        format!("Bearer \"{good}\""),
        format!("Bearer Bearer {good}"),
        "Bearer null".to_owned(),
        "Bearer undefined".to_owned(),
        format!("Bearer {long}"),
        format!("Bearer {long}.{long}.{long}"),
        "Bearer ä".to_owned(),
    ] {
        let shown: String = value.chars().take(60).collect();
        assert_eq!(
            send(&api, &[value.into()]).await,
            Answer::Refused,
            "{shown}"
        );
    }
    let twice = [
        format!("Bearer {good}").into(),
        format!("Bearer {good}").into(),
    ];
    assert_eq!(send(&api, &twice).await, Answer::Refused);
    let not_text = [b"Bearer \xff\xfe".to_vec()];
    assert_eq!(send(&api, &not_text).await, Answer::Refused);
}

#[tokio::test]
async fn good_claims_are_believed_however_odd() {
    let api = strict().await;
    for odd in [
        with("exp", json!(4_000_000_000.5)),
        with("exp", json!(u64::MAX)),
        with("exp", json!(seconds(-20))),
        with("nbf", json!(seconds(20))),
        with("nbf", json!(0)),
        with("iat", json!(seconds(900))),
        with("iat", json!("yesterday")),
        with("aud", json!(["others", "likes"])),
        with("name", json!({"first": "Ada"})),
        with("name", json!("a".repeat(5000))),
        with("picture", json!("javascript:alert(1)")),
        with("admin", json!(true)),
    ] {
        assert_eq!(bear(&api, &shared(&odd)).await, ada(), "{odd}");
    }
    for subject in [
        "auth0|5f7c8ec7c33c6c004bbafe82",
        "a b",
        "日本",
        &"a".repeat(255),
    ] {
        let token = shared(&with("sub", json!(subject)));
        assert_eq!(bear(&api, &token).await, Answer::As(subject.to_owned()));
    }
    // What a header says about keys is not looked at, and not fetched.
    for header in [
        json!({"alg": "HS256", "typ": "at+jwt"}),
        json!({"alg": "HS256", "kid": "../../../../dev/null"}),
        json!({"alg": "HS256", "jku": "http://127.0.0.1:1/jwks.json"}),
        json!({"alg": "HS256", "x5u": "http://127.0.0.1:1/x5u"}),
        json!({"alg": "HS256", "jwk": {"kty": "oct", "k": base64("evil")}}),
    ] {
        assert_eq!(
            bear(&api, &shared_with(&header, &claims())).await,
            ada(),
            "{header}"
        );
    }
}

#[tokio::test]
async fn bad_claims_are_refused_however_well_signed() {
    let api = strict().await;
    for bad in [
        with("exp", ()),
        with("exp", Value::Null),
        with("exp", json!(seconds(600).to_string())),
        with("exp", json!(-1)),
        with("exp", json!(0)),
        with("exp", json!(seconds(-60))),
        with("exp", json!(1e300)),
        with("exp", json!(true)),
        with("exp", json!([seconds(600)])),
        with("nbf", json!(seconds(120))),
        with("nbf", json!("0")),
        with("nbf", Value::Null),
        with("nbf", json!({})),
        with("sub", ()),
        with("sub", Value::Null),
        with("sub", json!("")),
        with("sub", json!(7)),
        with("sub", json!(["ada"])),
        with("sub", json!("a".repeat(256))),
        with("sub", json!("a\u{0}da")),
        with("iss", ()),
        with("iss", Value::Null),
        with("iss", json!("https://id.example/")),
        with("iss", json!("https://id.example.evil")),
        with("iss", json!(["https://id.example"])),
        with("aud", ()),
        with("aud", json!("Likes")),
        with("aud", json!([])),
        with("aud", json!(["others"])),
        with("aud", json!(["likes", 7])),
        with("aud", json!({"likes": true})),
    ] {
        assert_eq!(bear(&api, &shared(&bad)).await, Answer::Refused, "{bad}");
    }
    let header = r#"{"alg":"HS256"}"#;
    let rest = format!(
        r#""iss":"https://id.example","aud":"likes","exp":{}"#,
        seconds(600)
    );
    for payload in [
        String::new(),
        "null".to_owned(),
        "[]".to_owned(),
        "\"ada\"".to_owned(),
        format!(r#"{{"sub":"ada","sub":"bob",{rest}}}"#),
        format!(r#"{{"sub":"ada",{rest},"exp":{}}}"#, seconds(-600)),
        format!(r#"{{"sub":"ada",{rest}}} trailing"#),
        format!(r#"{{"sub":"ada",{rest},"exp":1e400}}"#),
    ] {
        let token = sign_text(header, &payload, &hmac(SECRET.as_bytes()), Algorithm::HS256);
        assert_eq!(bear(&api, &token).await, Answer::Refused, "{payload}");
    }
}

#[tokio::test]
async fn signatures_are_for_this_token_and_this_algorithm() {
    let api = strict().await;
    let good = shared(&claims());
    let (message, signature) = good.rsplit_once('.').unwrap();
    let (header, payload) = message.split_once('.').unwrap();
    let other = shared(&with("sub", json!("bob")));
    let other_signature = other.rsplit_once('.').unwrap().1;
    let unsigned = |algorithm: &str| base64(json!({"alg": algorithm}).to_string());
    for token in [
        message.to_owned(),
        format!("{message}."),
        format!("{message}.{}", &signature[..signature.len() - 2]),
        format!("{message}.{signature}="),
        format!("{message}.{signature}AA"),
        format!("{message}.{other_signature}"),
        format!("{message}.{}", base64([0; 32])),
        format!(
            "{header}.{}.{signature}",
            base64(with("sub", json!("root")).to_string())
        ),
        format!("{}.{payload}.{signature}", base64(r#"{"alg":"HS256"}"#)),
        format!("{good}.{signature}"),
        format!("{header}.{payload}.{payload}.{payload}.{signature}"),
        "..".to_owned(),
        ".".to_owned(),
        "a.b.c".to_owned(),
        format!("{}.{payload}.", unsigned("none")),
        format!("{}.{payload}.{signature}", unsigned("none")),
        format!("{}.{payload}.", unsigned("None")),
        format!("{}.{payload}.", unsigned("nOnE")),
        format!("{}.{payload}.", unsigned("")),
        format!("{}.{payload}.{signature}", unsigned("hs256")),
        format!("{}.{payload}.{signature}", base64(r#"{"typ":"JWT"}"#)),
        format!("{}.{payload}.{signature}", base64(r#"{"alg":256}"#)),
        format!("{}.{payload}.{signature}", base64(r#"["HS256"]"#)),
        format!("{}.{payload}.{signature}", base64("HS256")),
        format!("{}.{payload}.{signature}", base64([0xff; 20])),
        sign(
            &json!({"alg": "HS256"}),
            &claims(),
            &hmac(b"another secret of 32 bytes or so"),
            Algorithm::HS256,
        ),
        sign(
            &json!({"alg": "HS256"}),
            &claims(),
            &hmac(b"\0"),
            Algorithm::HS256,
        ),
        sign(
            &json!({"alg": "HS384"}),
            &claims(),
            &hmac(SECRET.as_bytes()),
            Algorithm::HS384,
        ),
        sign(
            &json!({"alg": "HS512"}),
            &claims(),
            &hmac(SECRET.as_bytes()),
            Algorithm::HS512,
        ),
        sign(
            &json!({"alg": "RS256"}),
            &claims(),
            &hmac(SECRET.as_bytes()),
            Algorithm::HS256,
        ),
        shared_with(&json!({"alg": "HS256", "crit": ["exp"]}), &claims()),
        shared_with(&json!({"alg": "HS256", "crit": []}), &claims()),
        shared_with(&json!({"alg": "HS256", "b64": false}), &claims()),
        shared_with(&json!({"alg": "HS256", "kid": 7}), &claims()),
    ] {
        assert_eq!(bear(&api, &token).await, Answer::Refused, "{token}");
    }
}

#[tokio::test]
async fn issuer_and_audience_are_looked_at_only_where_they_are_set() {
    let access = Access {
        jwt_secret: Some(SECRET.to_owned().into()),
        ..Access::default()
    };
    let api = api(Authenticator::new(&access).await.unwrap());
    for claims in [
        claims(),
        with("iss", ()),
        with("iss", json!(["a", "b"])),
        with("aud", ()),
        with("aud", json!("others")),
    ] {
        assert_eq!(bear(&api, &shared(&claims)).await, ada(), "{claims}");
    }
    for claims in [
        with("exp", ()),
        with("sub", ()),
        with("nbf", json!(seconds(120))),
    ] {
        assert_eq!(
            bear(&api, &shared(&claims)).await,
            Answer::Refused,
            "{claims}"
        );
    }
}
