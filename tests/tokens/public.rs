//! Tokens signed with the keys of an identity provider, and forgeries of such.

use jsonwebtoken::{Algorithm, EncodingKey};
use likewise::config::Access;
use likewise::http::auth::Authenticator;
use serde_json::{Value, json};

use crate::forge::{RSA, base64, claims, ed25519, hmac, p256, public, rsa, sign, with};
use crate::issuer::Issuer;
use crate::{Answer, ada, api, bear};

fn encryption_key() -> Value {
    let mut key = public(&ed25519(5), Algorithm::EdDSA, "encryption");
    key["use"] = json!("enc");
    key
}

/// Three keys for signatures, one for encryption, one that should never have been published.
fn set() -> Value {
    json!({"keys": [
        public(&rsa(), Algorithm::RS256, "rsa"),
        public(&p256(1), Algorithm::ES256, "ec"),
        public(&ed25519(1), Algorithm::EdDSA, "ed"),
        encryption_key(),
        {"kty": "oct", "kid": "oct", "alg": "HS256", "k": base64("a secret that everybody can read")},
        {"kty": "future", "kid": "future"},
    ]})
}

fn token(algorithm: &str, kid: &str, key: &EncodingKey, really: Algorithm) -> String {
    sign(
        &json!({"alg": algorithm, "kid": kid}),
        &claims(),
        key,
        really,
    )
}

#[tokio::test]
async fn each_kind_of_key_is_believed_for_its_own_algorithm() {
    let issuer = Issuer::start(set()).await;
    let api = api(issuer.authenticator().await);
    let (rs, es, ed) = (Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA);
    for token in [
        token("RS256", "rsa", &rsa(), rs),
        token("ES256", "ec", &p256(1), es),
        token("EdDSA", "ed", &ed25519(1), ed),
        sign(&json!({"alg": "EdDSA"}), &claims(), &ed25519(1), ed),
    ] {
        assert_eq!(bear(&api, &token).await, ada(), "{token}");
    }
    let late = sign(
        &json!({"alg": "EdDSA", "kid": "ed"}),
        &with("exp", json!(1)),
        &ed25519(1),
        ed,
    );
    assert_eq!(bear(&api, &late).await, Answer::Refused);
    assert_eq!(issuer.asked(), 1);
}

#[tokio::test]
async fn forgeries_are_refused() {
    let issuer = Issuer::start(set()).await;
    let evil = Issuer::start(json!({"keys": [public(&ed25519(9), Algorithm::EdDSA, "ed")]})).await;
    let api = api(issuer.authenticator().await);
    let (hs, ed) = (Algorithm::HS256, Algorithm::EdDSA);
    let rsa_jwk = public(&rsa(), Algorithm::RS256, "rsa");
    let modulus = rsa_jwk["n"].as_str().unwrap();
    let point = public(&ed25519(1), ed, "ed")["x"]
        .as_str()
        .unwrap()
        .to_owned();
    let evil_jwk = public(&ed25519(9), ed, "ed");
    let evil_header = |name: &str, value: Value| {
        let header = json!({"alg": "EdDSA", "kid": "ed", name: value});
        sign(&header, &claims(), &ed25519(9), ed)
    };
    let message = format!(
        "{}.{}",
        base64(r#"{"alg":"ES256","kid":"ec"}"#),
        base64(claims().to_string())
    );
    for token in [
        // The public key taken for a secret, in every form that somebody might read it in.
        token("HS256", "rsa", &hmac(RSA), hs),
        token("HS256", "rsa", &hmac(modulus.as_bytes()), hs),
        token("HS256", "rsa", &hmac(rsa_jwk.to_string().as_bytes()), hs),
        token("HS256", "ed", &hmac(point.as_bytes()), hs),
        token(
            "HS256",
            "oct",
            &hmac(b"a secret that everybody can read"),
            hs,
        ),
        sign(
            &json!({"alg": "HS256"}),
            &claims(),
            &hmac(b"a secret that everybody can read"),
            hs,
        ),
        // A key under another's name or for another's algorithm.
        token("EdDSA", "ed", &ed25519(9), ed),
        token("EdDSA", "foreign", &ed25519(9), ed),
        token("EdDSA", "rsa", &ed25519(1), ed),
        token("RS256", "ed", &ed25519(1), ed),
        token("RS256", "rsa", &ed25519(1), ed),
        token("ES256", "ec", &p256(9), Algorithm::ES256),
        token("PS256", "rsa", &rsa(), Algorithm::PS256),
        token("RS512", "rsa", &rsa(), Algorithm::RS512),
        token("EdDSA", "encryption", &ed25519(5), ed),
        sign(&json!({"alg": "EdDSA"}), &claims(), &ed25519(5), ed),
        sign(&json!({"alg": "EdDSA"}), &claims(), &ed25519(9), ed),
        // A key brought along.
        evil_header("jwk", evil_jwk),
        evil_header("jku", json!(evil.url().as_str())),
        evil_header("x5u", json!(evil.url().as_str())),
        evil_header("x5c", json!([base64("certificate")])),
        // Names that are paths, queries and floods.
        token("EdDSA", "../../../../dev/null", &ed25519(9), ed),
        token("EdDSA", "' OR 1=1 --", &ed25519(9), ed),
        token("EdDSA", &"k".repeat(5000), &ed25519(9), ed),
        token("EdDSA", "", &ed25519(1), ed),
        // Signatures that are no numbers of the curve.
        format!("{message}.{}", base64([0; 64])),
        format!("{message}.{}", base64([0xff; 64])),
        format!("{message}.{}", base64(b"\x30\x06\x02\x01\x01\x02\x01\x01")),
        format!(
            "{}.{}.",
            base64(r#"{"alg":"none","kid":"ed"}"#),
            base64(claims().to_string())
        ),
    ] {
        assert_eq!(bear(&api, &token).await, Answer::Refused, "{token}");
    }
    assert_eq!(evil.asked(), 0, "a token chose where keys are fetched");
    assert_eq!(issuer.asked(), 1, "tokens of strangers made us a nuisance");
}

#[tokio::test]
async fn keys_can_lie_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jwks.json");
    std::fs::write(&path, set().to_string()).unwrap();
    let access = Access {
        jwks: Some(path.to_str().unwrap().to_owned()),
        ..Access::default()
    };
    let api = api(Authenticator::new(&access).await.unwrap());
    let good = token("EdDSA", "ed", &ed25519(1), Algorithm::EdDSA);
    assert_eq!(bear(&api, &good).await, ada());

    for text in ["", "{}", r#"{"keys": []}"#, &" ".repeat(300_000)] {
        std::fs::write(&path, text).unwrap();
        let error = Authenticator::new(&access).await.unwrap_err();
        assert_eq!(error.setting, "LIKEWISE_JWKS");
    }
    std::fs::remove_file(&path).unwrap();
    assert!(Authenticator::new(&access).await.is_err());
}
