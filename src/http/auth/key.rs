//! A key that verifies tokens, bound to one algorithm.

use std::fmt;

use jsonwebtoken::{Algorithm, DecodingKey, Validation};

use super::bearer::Bearer;
use super::claims::Claims;

/// How far the clocks of issuer and service may differ, in seconds. Servers keep time by NTP; half a
/// minute forgives one that does not, and a token is never much older than it says.
pub(super) const LEEWAY: u64 = 30;

/// What claims must say beyond being in time.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) issuer: Option<String>,
    pub(super) audience: Option<String>,
}

/// A key with the one algorithm it is for. A token cannot choose another: an HS256 signature made with
/// the text of an RSA key, or none at all, fails here.
pub(super) struct Key {
    pub(super) id: Option<String>,
    pub(super) algorithm: Algorithm,
    material: DecodingKey,
    validation: Validation,
    rules: Rules,
}

impl Key {
    pub(super) fn new(
        id: Option<String>,
        algorithm: Algorithm,
        material: DecodingKey,
        rules: &Rules,
    ) -> Self {
        Self {
            id,
            algorithm,
            material,
            validation: validation(algorithm, rules),
            rules: rules.clone(),
        }
    }

    /// Whether a token of this header could be signed with this key. Where one side names no key,
    /// only the signature can tell.
    pub(super) fn fits(&self, algorithm: Algorithm, id: Option<&str>) -> bool {
        let same_id = match (self.id.as_deref(), id) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        };
        same_id && self.algorithm == algorithm
    }

    /// Who bears the token; otherwise the reason, which holds nothing of the token.
    pub(super) fn verify(&self, token: &str) -> Result<Bearer, String> {
        let token = jsonwebtoken::decode::<Claims>(token, &self.material, &self.validation)
            .map_err(|error| error.to_string())?;
        // The library would also take a list of issuers; the standard knows only one.
        if self.rules.issuer.is_some() && !token.claims.has_one_issuer() {
            return Err("iss is not a text".to_owned());
        }
        Ok(Bearer {
            identity: token.claims.identity()?,
            expires_at: token.claims.expires_at(),
        })
    }
}

fn validation(algorithm: Algorithm, rules: &Rules) -> Validation {
    let mut validation = Validation::new(algorithm);
    validation.leeway = LEEWAY;
    validation.validate_nbf = true;
    validation.validate_aud = rules.audience.is_some();
    let mut required = vec!["exp", "sub"];
    if let Some(issuer) = &rules.issuer {
        validation.set_issuer(&[issuer]);
        required.push("iss");
    }
    if let Some(audience) = &rules.audience {
        validation.set_audience(&[audience]);
        required.push("aud");
    }
    validation.set_required_spec_claims(&required);
    validation
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("id", &self.id)
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}
