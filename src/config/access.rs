//! Whose tokens are believed.

use std::path::PathBuf;

use clap::Args;
use url::Url;

use super::{Invalid, Secret};

const SECRET: &str = "LIKEWISE_JWT_SECRET";
const JWKS: &str = "LIKEWISE_JWKS";
/// RFC 7518, section 3.2: the key of HS256 is at least as long as its hash.
const SECRET_BYTES: usize = 32;

/// How bearer tokens are verified. Times in them are taken with half a minute of leeway.
#[derive(Debug, Clone, Default, Args)]
#[expect(clippy::doc_markdown, reason = "help texts are read without Markdown")]
#[command(next_help_heading = "Tokens")]
pub struct Access {
    /// The secret of tokens signed with HS256, at least 32 bytes; this or LIKEWISE_JWKS is needed
    #[arg(
        long,
        env = SECRET,
        hide_env_values = true,
        value_name = "TEXT"
    )]
    pub jwt_secret: Option<Secret>,

    /// The identity provider's public keys (JWKS): an https address or a file
    ///
    /// Tokens may be signed with RS256, ES256 or EdDSA. Keys are fetched again when a token names an
    /// unknown one, and kept while the provider is away.
    #[arg(long, env = JWKS, value_name = "URL or FILE")]
    pub jwks: Option<String>,

    /// The issuer (`iss`) that tokens must have; unset, any issuer whose key fits will do
    #[arg(long, env = "LIKEWISE_JWT_ISSUER", value_name = "TEXT")]
    pub jwt_issuer: Option<String>,

    /// The audience (`aud`) that tokens must be meant for; unset, it is not looked at
    ///
    /// Set it where the identity provider also issues tokens for other services.
    #[arg(long, env = "LIKEWISE_JWT_AUDIENCE", value_name = "TEXT")]
    pub jwt_audience: Option<String>,
}

/// Where the keys are that verify tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// One secret, shared with whoever signs.
    Secret(Secret),
    /// Public keys.
    Jwks(JwksSource),
}

/// Where public keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JwksSource {
    /// At an address of the identity provider.
    Url(Url),
    /// In a file.
    File(PathBuf),
}

impl Access {
    /// Where the keys are.
    ///
    /// # Errors
    /// There is none, or more than one, or one that cannot be used.
    pub fn require(&self) -> Result<KeySource, Invalid> {
        let texts = [
            ("LIKEWISE_JWT_ISSUER", &self.jwt_issuer),
            ("LIKEWISE_JWT_AUDIENCE", &self.jwt_audience),
        ];
        if let Some((name, _)) = texts
            .into_iter()
            .find(|(_, text)| text.as_deref().is_some_and(|text| text.trim().is_empty()))
        {
            let reason = "is empty; leave it out if it need not be checked";
            return Err(Invalid::new(name, reason));
        }
        match (&self.jwt_secret, &self.jwks) {
            (Some(_), Some(_)) => {
                let reason = "is set and so is LIKEWISE_JWKS; tokens are verified by one of them";
                Err(Invalid::new(SECRET, reason))
            }
            (Some(secret), None) => Ok(KeySource::Secret(long_enough(secret)?.clone())),
            (None, Some(jwks)) => Ok(KeySource::Jwks(jwks_source(jwks)?)),
            (None, None) => {
                let reason = "is not set, nor is LIKEWISE_JWKS: nobody could like anything. \
                              Give a secret (openssl rand -base64 32) or the identity provider's JWKS";
                Err(Invalid::new(SECRET, reason))
            }
        }
    }

    /// The secret, for signing.
    ///
    /// # Errors
    /// It is not set or too short.
    pub fn require_secret(&self) -> Result<&Secret, Invalid> {
        let Some(secret) = &self.jwt_secret else {
            let reason = "is not set; it signs the token";
            return Err(Invalid::new(SECRET, reason));
        };
        long_enough(secret)
    }
}

fn long_enough(secret: &Secret) -> Result<&Secret, Invalid> {
    let bytes = secret.expose().len();
    if bytes < SECRET_BYTES {
        let reason = format!(
            "has {bytes} bytes; {SECRET_BYTES} or more keep it from being guessed \
             (openssl rand -base64 32)"
        );
        return Err(Invalid::new(SECRET, reason));
    }
    Ok(secret)
}

fn jwks_source(text: &str) -> Result<JwksSource, Invalid> {
    if text.trim().is_empty() {
        return Err(Invalid::new(JWKS, "is empty"));
    }
    if !text.contains("://") {
        let path = PathBuf::from(text);
        let there = path.is_file().then_some(JwksSource::File(path));
        return there.ok_or_else(|| Invalid::new(JWKS, "names a file that is not there"));
    }
    let url = Url::parse(text).ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .map(JwksSource::Url)
        .ok_or_else(|| Invalid::new(JWKS, "is neither an http(s) address nor a file's path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "0123456789abcdef0123456789abcdef";

    fn require(secret: Option<&str>, jwks: Option<&str>) -> Result<KeySource, String> {
        let access = Access {
            jwt_secret: secret.map(|text| text.to_owned().into()),
            jwks: jwks.map(str::to_owned),
            ..Access::default()
        };
        access.require().map_err(|error| error.to_string())
    }

    #[test]
    fn there_is_exactly_one_source_of_keys() {
        assert!(matches!(
            require(Some(GOOD), None),
            Ok(KeySource::Secret(_))
        ));
        let url = require(None, Some("https://id.example/jwks.json"));
        assert!(matches!(url, Ok(KeySource::Jwks(JwksSource::Url(_)))));
        let file = require(None, Some("Cargo.toml"));
        assert!(matches!(file, Ok(KeySource::Jwks(JwksSource::File(_)))));

        assert!(require(None, None).unwrap_err().contains("is not set"));
        let both = require(Some(GOOD), Some("jwks.json")).unwrap_err();
        assert!(both.contains("LIKEWISE_JWKS"), "{both}");
        for jwks in [
            "",
            "no/such/file",
            "src",
            "ftp://id.example/jwks",
            "https://",
        ] {
            let error = require(None, Some(jwks)).unwrap_err();
            assert!(error.starts_with("LIKEWISE_JWKS "), "{jwks}: {error}");
        }
    }

    #[test]
    fn a_short_secret_is_refused_without_showing_it() {
        let error = require(Some(&GOOD[1..]), None).unwrap_err();
        assert!(error.contains("31 bytes") && !error.contains("123"));
        let empty = require(Some(""), None).unwrap_err();
        assert!(empty.contains("0 bytes"), "{empty}");
    }

    #[test]
    fn an_empty_issuer_does_not_switch_its_check_off() {
        let access = Access {
            jwt_secret: Some(GOOD.to_owned().into()),
            jwt_issuer: Some(String::new()),
            ..Access::default()
        };
        assert_eq!(access.require().unwrap_err().setting, "LIKEWISE_JWT_ISSUER");
    }
}
