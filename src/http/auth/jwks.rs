//! Keeps an identity provider's public keys in memory and up to date.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jsonwebtoken::Algorithm;
use reqwest::redirect;
use tokio::io::AsyncReadExt;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::jwk;
use super::key::{Key, Rules};
use super::{Refusal, bad};
use crate::config::{Invalid, JwksSource};

/// Real sets have a few KiB; more than this is not one.
const SET_BYTES: usize = 256 * 1024;

/// How often public keys are fetched.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The least time between two fetches, whatever tokens name: a stranger's tokens must not make us
    /// a nuisance to the issuer.
    pub least: Duration,
    /// The age at which keys are fetched again though all are known, so that a withdrawn one goes.
    pub renewal: Duration,
    /// The longest time that one fetch may take; a request waits for it.
    pub timeout: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            least: Duration::from_secs(30),
            renewal: Duration::from_mins(10),
            timeout: Duration::from_secs(3),
        }
    }
}

/// The public keys of one identity provider.
#[derive(Debug)]
pub(super) struct Jwks {
    source: Source,
    rules: Rules,
    pace: Pace,
    keys: RwLock<Loaded>,
    /// When the last fetch ended. Held during a fetch: whoever comes meanwhile waits for its outcome.
    last_fetch: Arc<Mutex<Instant>>,
}

#[derive(Debug)]
enum Source {
    Url(reqwest::Client, url::Url),
    File(std::path::PathBuf),
}

#[derive(Debug, Clone)]
struct Loaded {
    keys: Arc<[Arc<Key>]>,
    at: Instant,
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("the keys could not be fetched")]
    Fetch(#[source] reqwest::Error),
    #[error("the keys could not be read")]
    Read(#[from] std::io::Error),
    #[error("there is more than {SET_BYTES} bytes of it")]
    TooLarge,
    #[error("this is not a set of keys")]
    NotKeys(#[from] serde_json::Error),
    #[error("none of the keys is for RS256, ES256 or EdDSA signatures")]
    NoneUsable,
}

impl Jwks {
    /// Loads the keys. A file must be readable; an issuer may be away and is asked again later.
    pub(super) async fn load(
        source: JwksSource,
        rules: Rules,
        pace: Pace,
    ) -> Result<Arc<Self>, Invalid> {
        let source = match source {
            JwksSource::Url(url) => Source::Url(client(pace.timeout)?, url),
            JwksSource::File(path) => Source::File(path),
        };
        let now = Instant::now();
        let this = Arc::new(Self {
            source,
            rules,
            pace,
            keys: RwLock::new(Loaded {
                keys: Arc::new([]),
                at: now,
            }),
            last_fetch: Arc::new(Mutex::new(now)),
        });
        if let Err(error) = this.fetch().await
            && matches!(this.source, Source::File(_))
        {
            return Err(unusable(&error));
        }
        *this.last_fetch.lock().await = Instant::now();
        Ok(this)
    }

    /// The keys that may have signed a token of this header. An unknown key is looked for at the
    /// issuer.
    pub(super) async fn find(
        self: &Arc<Self>,
        algorithm: Algorithm,
        id: Option<&str>,
    ) -> Result<Vec<Arc<Key>>, Refusal> {
        // Not worth a fetch: no public key is for these.
        if !matches!(
            algorithm,
            Algorithm::RS256 | Algorithm::ES256 | Algorithm::EdDSA
        ) {
            return Err(bad("the algorithm is not one of public keys"));
        }
        let found = self.known(algorithm, id);
        if !found.is_empty() {
            self.renew_if_old();
            return Ok(found);
        }
        // A task of its own: a client that hangs up must not cut off what others wait for.
        let this = Arc::clone(self);
        let fetched = tokio::spawn(async move { this.fetch_if_due().await });
        fetched.await.ok();
        let found = self.known(algorithm, id);
        if found.is_empty() && self.loaded().keys.is_empty() {
            return Err(Refusal::NoKeys);
        }
        Ok(found)
    }

    fn known(&self, algorithm: Algorithm, id: Option<&str>) -> Vec<Arc<Key>> {
        let loaded = self.loaded();
        let fitting = loaded.keys.iter().filter(|key| key.fits(algorithm, id));
        fitting.cloned().collect()
    }

    fn loaded(&self) -> Loaded {
        let loaded = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        loaded.clone()
    }

    /// Fetches in the background, so that no request waits for keys that it does not need.
    fn renew_if_old(self: &Arc<Self>) {
        if self.loaded().at.elapsed() < self.pace.renewal {
            return;
        }
        let Ok(mut last_fetch) = Arc::clone(&self.last_fetch).try_lock_owned() else {
            return; // A fetch is under way.
        };
        if last_fetch.elapsed() < self.pace.least {
            return;
        }
        let this = Arc::clone(self);
        tokio::spawn(async move {
            this.fetch().await.ok();
            *last_fetch = Instant::now();
        });
    }

    async fn fetch_if_due(&self) {
        let mut last_fetch = self.last_fetch.lock().await;
        // Without any key nobody can be told from anybody, so that is worth more attempts.
        let least = match self.loaded().keys.len() {
            0 => self.pace.least / 10,
            _ => self.pace.least,
        };
        if last_fetch.elapsed() >= least {
            self.fetch().await.ok();
            *last_fetch = Instant::now();
        }
    }

    /// Replaces the keys, if there are new ones to be had; otherwise keeps them and logs why.
    async fn fetch(&self) -> Result<(), Error> {
        match self.fetch_keys().await {
            Ok(keys) => {
                tracing::debug!(keys = keys.len(), "public keys of tokens loaded");
                let at = Instant::now();
                *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Loaded { keys, at };
                Ok(())
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                let kept = self.loaded().keys.len();
                tracing::warn!(%error, cause, kept, "public keys of tokens not loaded");
                Err(error)
            }
        }
    }

    async fn fetch_keys(&self) -> Result<Arc<[Arc<Key>]>, Error> {
        let set = match &self.source {
            Source::Url(client, url) => download(client, url).await?,
            Source::File(path) => read(path).await?,
        };
        let keys = jwk::parse(&set, &self.rules)?;
        if keys.is_empty() {
            return Err(Error::NoneUsable);
        }
        Ok(keys.into_iter().map(Arc::new).collect())
    }
}

/// Follows no redirects: the keys come from the address that was set, or not at all.
fn client(timeout: Duration) -> Result<reqwest::Client, Invalid> {
    let client = reqwest::Client::builder()
        .timeout(timeout)
        .redirect(redirect::Policy::none())
        .user_agent(concat!("likewise/", env!("CARGO_PKG_VERSION")))
        .build();
    client.map_err(|error| unusable(&error))
}

async fn download(client: &reqwest::Client, url: &url::Url) -> Result<Vec<u8>, Error> {
    // The address may hold a password; errors do without it.
    let failed = |error: reqwest::Error| Error::Fetch(error.without_url());
    let response = client.get(url.clone()).send().await.map_err(failed)?;
    let mut response = response.error_for_status().map_err(failed)?;
    let mut set = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if set.len() + chunk.len() > SET_BYTES {
            return Err(Error::TooLarge);
        }
        set.extend_from_slice(&chunk);
    }
    Ok(set)
}

async fn read(path: &std::path::Path) -> Result<Vec<u8>, Error> {
    let file = tokio::fs::File::open(path).await?;
    let mut set = Vec::new();
    let bound = u64::try_from(SET_BYTES + 1).unwrap_or(u64::MAX);
    file.take(bound).read_to_end(&mut set).await?;
    if set.len() > SET_BYTES {
        return Err(Error::TooLarge);
    }
    Ok(set)
}

fn unusable(error: &dyn std::error::Error) -> Invalid {
    let cause = error.source().map(|cause| format!(": {cause}"));
    Invalid {
        setting: "LIKEWISE_JWKS",
        reason: format!("cannot be used: {error}{}", cause.unwrap_or_default()),
    }
}
