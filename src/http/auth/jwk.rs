//! Reads a set of public keys (RFC 7517), and leaves out what must not verify tokens.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

use super::key::{Key, Rules};

/// Identity providers publish two or three; a token without a key's name is tried with each.
const MOST_KEYS: usize = 32;
/// 2048 bits, the least that RFC 7518 allows for RS256.
const RSA_LEAST_BYTES: usize = 256;
/// 4096 bits, the most that the library verifies.
const RSA_MOST_BYTES: usize = 512;
/// Coordinates of P-256 and keys of Ed25519.
const CURVE_BYTES: usize = 32;

#[derive(Deserialize)]
struct Set {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    kid: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// The usable keys of a set. One that cannot be used does not spoil the others; it is named in the log.
pub(super) fn parse(set: &[u8], rules: &Rules) -> Result<Vec<Key>, serde_json::Error> {
    let set: Set = serde_json::from_slice(set)?;
    let mut keys = Vec::new();
    for (place, jwk) in set.keys.into_iter().take(MOST_KEYS).enumerate() {
        let kid = jwk["kid"].as_str().map(str::to_owned);
        match usable(jwk, rules) {
            Ok(key) => keys.push(key),
            Err(reason) => tracing::debug!(key.place = place, key.id = kid, reason, "key left out"),
        }
    }
    Ok(keys)
}

fn usable(jwk: Value, rules: &Rules) -> Result<Key, &'static str> {
    let jwk: Jwk = serde_json::from_value(jwk).map_err(|_| "it is malformed")?;
    if jwk
        .purpose
        .as_deref()
        .is_some_and(|purpose| purpose != "sig")
    {
        return Err("it is not for signatures");
    }
    let verifies = |operations: &Vec<String>| operations.iter().any(|name| name == "verify");
    if jwk.key_ops.as_ref().is_some_and(|all| !verifies(all)) {
        return Err("it is not for verifying");
    }
    let (algorithm, key) = match (jwk.kty.as_str(), jwk.crv.as_deref(), jwk.alg.as_deref()) {
        ("RSA", _, None | Some("RS256")) => (Algorithm::RS256, rsa(&jwk)?),
        ("EC", Some("P-256"), None | Some("ES256")) => (Algorithm::ES256, p256(&jwk)?),
        ("OKP", Some("Ed25519"), None | Some("EdDSA" | "Ed25519")) => {
            (Algorithm::EdDSA, ed25519(&jwk)?)
        }
        // A shared secret that is published is none.
        ("oct", ..) => return Err("it is a secret, not a public key"),
        _ => return Err("it is not for RS256, ES256 or EdDSA"),
    };
    Ok(Key::new(jwk.kid, algorithm, key, rules))
}

fn rsa(jwk: &Jwk) -> Result<DecodingKey, &'static str> {
    let (Some(n), Some(e)) = (&jwk.n, &jwk.e) else {
        return Err("it lacks n or e");
    };
    let modulus = decoded(n)?;
    let leading_zeros = modulus.iter().take_while(|byte| **byte == 0).count();
    if !(RSA_LEAST_BYTES..=RSA_MOST_BYTES).contains(&(modulus.len() - leading_zeros)) {
        return Err("it has fewer than 2048 or more than 4096 bits");
    }
    DecodingKey::from_rsa_components(n, e).map_err(|_| "n or e is malformed")
}

fn p256(jwk: &Jwk) -> Result<DecodingKey, &'static str> {
    let (Some(x), Some(y)) = (&jwk.x, &jwk.y) else {
        return Err("it lacks x or y");
    };
    if decoded(x)?.len() != CURVE_BYTES || decoded(y)?.len() != CURVE_BYTES {
        return Err("x or y has a wrong length");
    }
    DecodingKey::from_ec_components(x, y).map_err(|_| "x or y is malformed")
}

/// The library panics at a key that is too short, so the length is checked here.
fn ed25519(jwk: &Jwk) -> Result<DecodingKey, &'static str> {
    let x = jwk.x.as_ref().ok_or("it lacks x")?;
    if decoded(x)?.len() != CURVE_BYTES {
        return Err("x has a wrong length");
    }
    DecodingKey::from_ed_components(x).map_err(|_| "x is malformed")
}

fn decoded(text: &str) -> Result<Vec<u8>, &'static str> {
    let bytes = URL_SAFE_NO_PAD.decode(text);
    bytes.map_err(|_| "a number in it is not base64url")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_public_keys_for_signatures_of_known_algorithms_are_used() {
        let number = |bytes: usize| URL_SAFE_NO_PAD.encode(vec![0x81; bytes]);
        let ed = |x: usize| json!({"kty": "OKP", "crv": "Ed25519", "x": number(x)});
        let rsa = |n: usize| json!({"kty": "RSA", "n": number(n), "e": "AQAB"});
        let with = |mut key: Value, name: &str, value: Value| {
            key[name] = value;
            key
        };
        let good = [
            ed(32),
            rsa(256),
            rsa(512),
            with(rsa(256), "alg", json!("RS256")),
            with(rsa(256), "use", json!("sig")),
            with(ed(32), "key_ops", json!(["verify"])),
            json!({"kty": "EC", "crv": "P-256", "x": number(32), "y": number(32)}),
        ];
        let useless = [
            json!(null),
            json!({}),
            json!({"kty": "oct", "k": number(32), "alg": "HS256"}),
            ed(31),
            ed(0),
            rsa(255),
            rsa(513),
            with(rsa(256), "n", json!("A".repeat(400))),
            with(rsa(256), "n", json!("!")),
            with(rsa(256), "alg", json!("HS256")),
            with(rsa(256), "alg", json!("PS256")),
            with(rsa(256), "use", json!("enc")),
            with(rsa(256), "kid", json!(7)),
            with(ed(32), "key_ops", json!(["sign"])),
            with(ed(32), "crv", json!("X25519")),
            json!({"kty": "EC", "crv": "P-384", "x": number(48), "y": number(48)}),
            json!({"kty": "EC", "crv": "P-256", "x": number(33), "y": number(32)}),
        ];
        let rules = Rules {
            issuer: None,
            audience: None,
        };
        let set = json!({"keys": useless.iter().chain(&good).collect::<Vec<_>>()});
        let keys = parse(set.to_string().as_bytes(), &rules).unwrap();
        assert_eq!(keys.len(), good.len());
        for set in ["", "[]", "{}", r#"{"keys": {}}"#] {
            assert!(parse(set.as_bytes(), &rules).is_err(), "{set}");
        }
    }
}
