//! Who asks: the bearer of a verified token, or nobody. A bad token is never nobody.

mod bearer;
mod claims;
mod jwk;
mod jwks;
mod key;
mod sign;

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use jsonwebtoken::{Algorithm, DecodingKey};

use crate::config::{Access, Invalid, KeySource, Secret};
use crate::domain::Identity;
pub use bearer::Bearer;
use jwks::Jwks;
pub use jwks::Pace;
use key::{Key, Rules};
pub use sign::{Grant, sign};

/// The longest token looked at. Identity providers stay below 4 KiB, as cookies and proxies make them.
const TOKEN_BYTES: usize = 8 * 1024;

/// Verifies bearer tokens. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Authenticator {
    keys: Keys,
}

#[derive(Debug, Clone)]
enum Keys {
    Secret(Arc<Key>),
    Jwks(Arc<Jwks>),
}

/// Why a request is not answered. The reason is for the log; a client learns nothing from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The token is not one to believe.
    BadToken(String),
    /// Nobody can tell: the identity provider's keys have never been fetched.
    NoKeys,
}

impl Authenticator {
    /// Prepares to verify tokens as set. Fetches public keys; where their issuer is away, says so in
    /// the log and tries again when a token comes.
    ///
    /// # Errors
    /// Names the setting that cannot be used.
    pub async fn new(access: &Access) -> Result<Self, Invalid> {
        Self::with_pace(access, Pace::default()).await
    }

    /// The same, with other times between fetches of public keys.
    ///
    /// # Errors
    /// Names the setting that cannot be used.
    pub async fn with_pace(access: &Access, pace: Pace) -> Result<Self, Invalid> {
        let rules = Rules {
            issuer: access.jwt_issuer.clone(),
            audience: access.jwt_audience.clone(),
        };
        let keys = match access.require()? {
            KeySource::Secret(secret) => Keys::Secret(Arc::new(shared_key(&secret, &rules)?)),
            KeySource::Jwks(source) => Keys::Jwks(Jwks::load(source, rules, pace).await?),
        };
        Ok(Self { keys })
    }

    /// Who sent these headers; None without an `Authorization` header.
    ///
    /// # Errors
    /// There is such a header, but no token in it that can be believed.
    pub async fn identify(&self, headers: &HeaderMap) -> Result<Option<Identity>, Refusal> {
        let bearer = self.authenticate(headers).await?;
        Ok(bearer.map(|bearer| bearer.identity))
    }

    /// The same, and until when: for what goes on longer than a request.
    ///
    /// # Errors
    /// As `identify`.
    pub async fn authenticate(&self, headers: &HeaderMap) -> Result<Option<Bearer>, Refusal> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        // Two headers: whoever stands in front of this service may have looked at the other one.
        if values.next().is_some() {
            return Err(bad("more than one Authorization header"));
        }
        let value = value.to_str().map_err(|_| bad("the header is not text"))?;
        self.believe(value).await.map(Some)
    }

    /// Who sent the value of an `Authorization` header, by whatever way.
    ///
    /// # Errors
    /// There is no token in it that can be believed.
    pub async fn believe(&self, authorization: &str) -> Result<Bearer, Refusal> {
        let token = bearer(authorization).ok_or_else(|| bad("this is not a bearer token"))?;
        self.verify(token).await
    }

    async fn verify(&self, token: &str) -> Result<Bearer, Refusal> {
        if token.len() > TOKEN_BYTES {
            return Err(bad("the token is too long"));
        }
        let header = jsonwebtoken::decode_header(token).map_err(|error| bad(error.to_string()))?;
        // The header only chooses among our keys; each key knows the one algorithm it is for.
        let keys = match &self.keys {
            Keys::Secret(key) => vec![Arc::clone(key)],
            Keys::Jwks(jwks) => jwks.find(header.alg, header.kid.as_deref()).await?,
        };
        let mut refusal = bad("no key fits");
        for key in keys {
            match key.verify(token) {
                Ok(bearer) => return Ok(bearer),
                Err(why) => refusal = Refusal::BadToken(why),
            }
        }
        Err(refusal)
    }
}

fn shared_key(secret: &Secret, rules: &Rules) -> Result<Key, Invalid> {
    let bytes = secret.expose().as_bytes();
    let key = DecodingKey::from_secret(bytes).map_err(|error| Invalid {
        setting: "LIKEWISE_JWT_SECRET",
        reason: format!("cannot be used: {error}"),
    })?;
    Ok(Key::new(None, Algorithm::HS256, key, rules))
}

/// RFC 6750, section 2.1; the scheme's case does not matter (RFC 9110, section 11.1).
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim_start_matches(' ');
    let is_token = !token.is_empty() && !token.contains([' ', '\t', ',']);
    (scheme.eq_ignore_ascii_case("bearer") && is_token).then_some(token)
}

fn bad(why: impl Into<String>) -> Refusal {
    Refusal::BadToken(why.into())
}
