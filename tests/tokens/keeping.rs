//! Keys that change, and issuers that are away.

use std::time::{Duration, Instant};

use futures::future::join_all;
use jsonwebtoken::Algorithm;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::forge::{claims, ed25519, public, sign};
use crate::issuer::{Issuer, Mood, PACE};
use crate::{Answer, ada, api, bear};

/// A set with one key, named after its seed.
fn set(seed: u8) -> Value {
    let key = public(&ed25519(seed), Algorithm::EdDSA, &seed.to_string());
    json!({ "keys": [key] })
}

fn token(seed: u8) -> String {
    let header = json!({"alg": "EdDSA", "kid": seed.to_string()});
    sign(&header, &claims(), &ed25519(seed), Algorithm::EdDSA)
}

/// Long enough for another fetch to be allowed.
async fn wait() {
    sleep(PACE.least + Duration::from_millis(50)).await;
}

#[tokio::test]
async fn a_new_key_is_fetched_when_a_token_names_it() {
    let issuer = Issuer::start(set(1)).await;
    let api = api(issuer.eager_authenticator().await);
    assert_eq!(bear(&api, &token(1)).await, ada());
    issuer.is(Mood::Keys(set(2)));
    wait().await;
    assert_eq!(bear(&api, &token(2)).await, ada());
    assert_eq!(bear(&api, &token(1)).await, Answer::Refused, "withdrawn");
}

#[tokio::test]
async fn a_hundred_unknown_keys_at_once_are_one_question() {
    let issuer = Issuer::start(set(1)).await;
    let api = api(issuer.eager_authenticator().await);
    wait().await;
    issuer.is(Mood::Keys(set(2)));
    let tokens: Vec<String> = (100..200).map(token).collect();
    let answers = join_all(tokens.iter().map(|token| bear(&api, token))).await;
    assert!(answers.iter().all(|answer| *answer == Answer::Refused));
    assert_eq!(issuer.asked(), 2);
    assert_eq!(bear(&api, &token(2)).await, ada());
    assert_eq!(issuer.asked(), 2);
}

#[tokio::test]
async fn a_client_that_hangs_up_does_not_cut_the_question_off() {
    let issuer = Issuer::start(set(1)).await;
    let api = api(issuer.eager_authenticator().await);
    wait().await;
    issuer.is(Mood::Keys(set(2)));
    let foreign = token(9);
    tokio::select! {
        biased;
        _ = bear(&api, &foreign) => panic!("answered too early for this test"),
        () = tokio::task::yield_now() => {}
    }
    sleep(Duration::from_millis(200)).await;
    assert_eq!(bear(&api, &token(2)).await, ada());
    assert_eq!(issuer.asked(), 2);
}

#[tokio::test]
async fn a_withdrawn_key_goes_though_no_unknown_one_is_named() {
    let issuer = Issuer::start(set(1)).await;
    let api = api(issuer.eager_authenticator().await);
    issuer.is(Mood::Keys(set(2)));
    sleep(PACE.renewal + Duration::from_millis(50)).await;
    assert_eq!(
        bear(&api, &token(1)).await,
        ada(),
        "nobody waits for a renewal"
    );
    sleep(Duration::from_millis(200)).await;
    assert_eq!(bear(&api, &token(1)).await, Answer::Refused);
}

#[tokio::test]
async fn known_keys_are_kept_while_the_issuer_fails() {
    let issuer = Issuer::start(set(1)).await;
    let elsewhere = Issuer::start(set(9)).await;
    let api = api(issuer.eager_authenticator().await);
    for mood in [
        Mood::Broken,
        Mood::Garbage,
        Mood::Slow,
        Mood::Huge,
        Mood::Keys(json!({"keys": []})),
        Mood::Elsewhere(elsewhere.url()),
    ] {
        issuer.is(mood);
        wait().await;
        let start = Instant::now();
        assert_eq!(bear(&api, &token(9)).await, Answer::Refused);
        assert!(start.elapsed() < PACE.timeout * 4, "{:?}", start.elapsed());
        assert_eq!(bear(&api, &token(1)).await, ada());
    }
    assert_eq!(elsewhere.asked(), 0, "a redirect was followed");
}

#[tokio::test]
async fn an_issuer_that_is_away_at_first_is_asked_again() {
    let issuer = Issuer::start(set(1)).await;
    for mood in [Mood::Broken, Mood::Slow, Mood::Huge] {
        issuer.is(mood);
        let api = api(issuer.eager_authenticator().await);
        assert_eq!(bear(&api, &token(1)).await, Answer::Unavailable);
        assert_eq!(
            bear(&api, "a.b.c").await,
            Answer::Refused,
            "bad in any case"
        );
        issuer.is(Mood::Keys(set(1)));
        wait().await;
        assert_eq!(bear(&api, &token(1)).await, ada());
    }
}
