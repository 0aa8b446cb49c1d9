//! `likewise token`: signs a token for development.

use std::time::{Duration, SystemTime};

use clap::Args;

use super::Error;
use crate::config::{self, Access};
use crate::domain::Subject;
use crate::http::auth::{Grant, sign};

/// Prints a bearer token signed with `LIKEWISE_JWT_SECRET`, for development and tests
///
/// Issuer and audience are those of the settings, so that a service with the same settings takes it:
/// curl -H "Authorization: Bearer $(likewise token --subject ada)" ...
#[derive(Debug, Args)]
pub struct Token {
    /// Whom the token names (`sub`): any text of 1 to 255 bytes
    #[arg(long, value_name = "TEXT")]
    subject: Subject,

    /// The name to show (`name`)
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,

    /// The address of a picture (`picture`)
    #[arg(long, value_name = "URL")]
    picture: Option<String>,

    /// How long the token is valid
    #[arg(long, default_value = "1h", value_name = "TIME", value_parser = config::duration)]
    ttl: Duration,

    #[command(flatten)]
    access: Access,
}

impl Token {
    pub(super) fn run(self) -> Result<bool, Error> {
        let secret = self.access.require_secret()?;
        let grant = Grant {
            subject: self.subject.as_str(),
            name: self.name.as_deref(),
            picture: self.picture.as_deref(),
            issuer: self.access.jwt_issuer.as_deref(),
            audience: self.access.jwt_audience.as_deref(),
            issued_at: SystemTime::now(),
            ttl: self.ttl,
        };
        let token = sign(secret, &grant)?;
        println!("{token}");
        Ok(true)
    }
}
