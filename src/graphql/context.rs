//! What belongs to one request: who asks, what has been loaded, what was said about the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_graphql::{Context, Response, value};
use tokio::sync::OnceCell;

use super::document::Survey;
use super::error::{Error, Result};
use super::loaders::Loaders;
use crate::domain::{Identity, Look, Timestamp, UserId};
use crate::likes::Likes;

/// One request. Never shared between two, so that nobody sees what was loaded for somebody else.
pub struct Scope {
    /// Answers everything.
    pub likes: Likes,
    /// Who asks.
    pub viewer: Arc<Viewer>,
    /// What has been looked up.
    pub loaders: Loaders,
    /// The look that answers every field of this request about likes.
    pub look: Look,
    /// Whether any field depends on who asks.
    pub depends_on_viewer: bool,
    /// Set when an answer may lack the newest likes.
    pub degraded: Degraded,
    /// When the request came in.
    pub now: Timestamp,
}

impl Scope {
    /// Prepares for a request. `degraded` is set when an answer may lack the newest likes.
    pub fn new(
        likes: Likes,
        identity: Option<Identity>,
        survey: Survey,
        degraded: Degraded,
        now: Timestamp,
    ) -> Self {
        let viewer = Arc::new(Viewer::new(likes.clone(), identity));
        Self::of_viewer(likes, viewer, survey, degraded, now)
    }

    /// The same for somebody who has been asking before.
    pub fn of_viewer(
        likes: Likes,
        viewer: Arc<Viewer>,
        survey: Survey,
        degraded: Degraded,
        now: Timestamp,
    ) -> Self {
        let loaders = Loaders::new(&likes, &viewer, survey, degraded.clone());
        Self {
            likes,
            viewer,
            loaders,
            look: survey.look,
            depends_on_viewer: survey.viewer,
            degraded,
            now,
        }
    }

    /// The request that a resolver works for.
    ///
    /// # Errors
    /// Only if the schema was executed past `graphql::execute`.
    pub fn of<'a>(context: &Context<'a>) -> Result<&'a Self> {
        let scope = context.data_opt::<Self>();
        scope.ok_or_else(|| Error::internal("a request without its scope"))
    }
}

/// Who asks: the bearer of the verified token and nobody else, whatever the arguments say.
pub struct Viewer {
    likes: Likes,
    identity: Option<Identity>,
    found: OnceCell<Option<UserId>>,
    ensured: OnceCell<UserId>,
}

impl Viewer {
    /// Nothing is looked up before it is needed.
    pub fn new(likes: Likes, identity: Option<Identity>) -> Self {
        Self {
            likes,
            identity,
            found: OnceCell::new(),
            ensured: OnceCell::new(),
        }
    }

    /// The user, for reading: None if anonymous or if there is no row yet. Looked up once, when first needed.
    ///
    /// # Errors
    /// `UNAVAILABLE` when SQL is away.
    pub async fn known(&self) -> Result<Option<UserId>> {
        if let Some(user) = self.ensured.get() {
            return Ok(Some(*user));
        }
        let Some(identity) = &self.identity else {
            return Ok(None);
        };
        let find = || async { Ok(self.likes.user_of(&identity.subject).await?) };
        self.found.get_or_try_init(find).await.copied()
    }

    /// The user, made if there is no row yet: for a change, and for the field `viewer`. None if anonymous.
    ///
    /// # Errors
    /// `UNAVAILABLE` when SQL is away.
    pub async fn ensured(&self) -> Result<Option<UserId>> {
        let Some(identity) = &self.identity else {
            return Ok(None);
        };
        let ensure = || async { Ok(self.likes.ensure_user(identity).await?) };
        let user: Result<_> = self.ensured.get_or_try_init(ensure).await;
        user.copied().map(Some)
    }

    /// The user who changes something.
    ///
    /// # Errors
    /// `UNAUTHENTICATED` if anonymous, `UNAVAILABLE` when SQL is away.
    pub async fn acting(&self) -> Result<UserId> {
        self.ensured().await?.ok_or_else(Error::unauthenticated)
    }
}

/// Whether an answer of this request came from SQL because Redis was away.
#[derive(Debug, Clone, Default)]
pub struct Degraded(Arc<AtomicBool>);

impl Degraded {
    /// Notes it.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Says so in the response: `{"likes": {"source": "sql", "complete": false}}`.
    pub fn tell(&self, response: &mut Response) {
        if self.0.load(Ordering::Relaxed) {
            let source = value!({ "source": "sql", "complete": false });
            response.extensions.insert("likes".to_owned(), source);
        }
    }
}
