//! Signs tokens, for development and tests. In production, an identity provider does.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::errors::Error;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde::Serialize;

use crate::config::Secret;

/// What a token is to say.
#[derive(Debug, Clone)]
pub struct Grant<'a> {
    /// Whom it names.
    pub subject: &'a str,
    /// The name to show.
    pub name: Option<&'a str>,
    /// The address of a picture.
    pub picture: Option<&'a str>,
    /// Who says so.
    pub issuer: Option<&'a str>,
    /// For which service.
    pub audience: Option<&'a str>,
    /// From when.
    pub issued_at: SystemTime,
    /// For how long.
    pub ttl: Duration,
}

#[derive(Serialize)]
struct Claims<'a> {
    sub: &'a str,
    iat: u64,
    exp: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iss: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aud: Option<&'a str>,
}

/// Signs with HS256.
///
/// # Errors
/// The secret is empty.
pub fn sign(secret: &Secret, grant: &Grant<'_>) -> Result<String, Error> {
    let issued = grant.issued_at.duration_since(UNIX_EPOCH);
    let issued = issued.unwrap_or_default();
    let claims = Claims {
        sub: grant.subject,
        iat: issued.as_secs(),
        exp: issued.saturating_add(grant.ttl).as_secs(),
        name: grant.name,
        picture: grant.picture,
        iss: grant.issuer,
        aud: grant.audience,
    };
    let key = EncodingKey::from_secret(secret.expose().as_bytes())?;
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &key)
}
