//! Makes tokens of every kind, right and wrong.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use serde_json::{Value, json};

pub const SECRET: &str = "correct horse battery staple, twice over";
pub const RSA: &[u8] = include_bytes!("rsa.pem");

/// Seconds from now, as claims have them.
pub fn seconds(from_now: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap() + from_now
}

pub fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Claims that are as they should be.
pub fn claims() -> Value {
    json!({
        "sub": "ada", "exp": seconds(600), "iat": seconds(0),
        "iss": "https://id.example", "aud": "likes",
    })
}

/// The same, with one of them replaced, or without it where it is replaced by `()`.
pub fn with(name: &str, value: impl Into<Claim>) -> Value {
    let mut claims = claims();
    match value.into() {
        Claim::Absent => drop(claims.as_object_mut().unwrap().remove(name)),
        Claim::Is(value) => claims[name] = value,
    }
    claims
}

pub enum Claim {
    Absent,
    Is(Value),
}

impl From<()> for Claim {
    fn from((): ()) -> Self {
        Self::Absent
    }
}

impl From<Value> for Claim {
    fn from(value: Value) -> Self {
        Self::Is(value)
    }
}

/// Signs whatever stands in header and payload, JSON or not.
pub fn sign_text(header: &str, payload: &str, key: &EncodingKey, algorithm: Algorithm) -> String {
    let message = format!("{}.{}", base64(header), base64(payload));
    let signature = crypto::sign(message.as_bytes(), key, algorithm).unwrap();
    format!("{message}.{signature}")
}

pub fn sign(header: &Value, payload: &Value, key: &EncodingKey, algorithm: Algorithm) -> String {
    sign_text(&header.to_string(), &payload.to_string(), key, algorithm)
}

/// With HS256 and the secret of the settings.
pub fn shared(payload: &Value) -> String {
    shared_with(&json!({"alg": "HS256", "typ": "JWT"}), payload)
}

/// The same, with another header.
pub fn shared_with(header: &Value, payload: &Value) -> String {
    sign(header, payload, &hmac(SECRET.as_bytes()), Algorithm::HS256)
}

pub fn hmac(secret: &[u8]) -> EncodingKey {
    EncodingKey::from_secret(secret).unwrap()
}

pub fn rsa() -> EncodingKey {
    EncodingKey::from_rsa_pem(RSA).unwrap()
}

/// An Ed25519 key made from a seed: RFC 8410's structure around 32 bytes.
pub fn ed25519(seed: u8) -> EncodingKey {
    let mut der = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20".to_vec();
    der.extend([seed; 32]);
    EncodingKey::from_ed_der(&der)
}

/// A P-256 key made from a seed: RFC 5208's structure around RFC 5915's around 32 bytes.
pub fn p256(seed: u8) -> EncodingKey {
    let mut der = b"\x30\x41\x02\x01\x00\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\
        \x2a\x86\x48\xce\x3d\x03\x01\x07\x04\x27\x30\x25\x02\x01\x01\x04\x20"
        .to_vec();
    der.extend([seed; 32]);
    EncodingKey::from_ec_der(&der)
}

/// The public half of a key, under a name.
pub fn public(key: &EncodingKey, algorithm: Algorithm, kid: &str) -> Value {
    let jwk = Jwk::from_encoding_key(key, algorithm).unwrap();
    let mut jwk = serde_json::to_value(jwk).unwrap();
    jwk["kid"] = json!(kid);
    jwk["use"] = json!("sig");
    jwk
}
