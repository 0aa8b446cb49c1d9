//! What can be changed.

use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use super::activity::Activity;
use super::context::Scope;
use super::error::{Error, Result};
use super::id;
use crate::domain::{Change, NewActivity, Operation};

/// The most characters of a title.
const TITLE_CHARS: usize = 200;
/// The most characters of a body.
const BODY_CHARS: usize = 10_000;

/// A new activity.
#[derive(InputObject)]
pub struct CreateActivityInput {
    /// The headline: 1 to 200 characters, not counting blanks around it.
    title: String,
    /// The text: up to 10,000 characters.
    #[graphql(default)]
    body: String,
}

/// An activity to be deleted.
#[derive(InputObject)]
pub struct DeleteActivityInput {
    /// The global id of the activity.
    activity_id: ID,
}

/// Which like to change.
#[derive(InputObject)]
pub struct LikeInput {
    /// The global id of the activity.
    activity_id: ID,
    /// Your own name for this one tap, 1 to 64 characters, for example a UUID. Send the same key when you repeat
    /// the same mutation after a failure, and it is carried out once; send a new one for a new tap. Keys are the
    /// viewer's own, remembered for a day or so; the same key with another operation is `CONFLICT`.
    idempotency_key: Option<String>,
}

/// A new activity.
#[derive(SimpleObject)]
pub struct CreateActivityPayload {
    /// The activity as made.
    activity: Activity,
}

/// A deleted activity.
#[derive(SimpleObject)]
pub struct DeleteActivityPayload {
    /// The global id that it had: remove it from your cache.
    deleted_activity_id: ID,
}

/// What came of a like, an unlike or a toggle.
#[derive(SimpleObject)]
pub struct LikePayload {
    /// The activity; its fields about likes show the state right after this mutation.
    activity: Activity,
    /// Whether the viewer likes the activity after this mutation.
    liked: bool,
    /// Whether this mutation changed anything: false for a like of what was liked already, and for an unlike of what
    /// was not. Where an `idempotencyKey` is repeated, `liked` and `changed` are what the first try answered.
    changed: bool,
}

/// The root of all changes. Each needs a token (else `UNAUTHENTICATED`) and acts for its bearer.
pub struct Mutation;

/// The root of all changes. Each needs a token (else `UNAUTHENTICATED`) and acts for its bearer. Changes of one
/// document are carried out one after the other, and each answer shows its own state.
///
/// `UNAVAILABLE` tells in `extensions.outcome` whether the change may have happened: `not_applied` means no,
/// `unknown` means perhaps. Repeat it with the same `idempotencyKey` and it is safe in both cases.
#[Object]
impl Mutation {
    /// Makes an activity whose author is the viewer. `BAD_USER_INPUT` for a title or body out of bounds.
    async fn create_activity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What it says.")] input: CreateActivityInput,
    ) -> Result<CreateActivityPayload> {
        let scope = Scope::of(ctx)?;
        let author = scope.viewer.acting().await?;
        let title = text(input.title.trim(), 1, TITLE_CHARS, "input.title")?;
        let body = text(&input.body, 0, BODY_CHARS, "input.body")?;
        let new = NewActivity {
            author,
            title,
            body,
            created_at: scope.now,
        };
        let row = scope.likes.create_activity(&new).await?;
        scope.loaders.arrived([&row]);
        let activity = Activity::of_row(row.into());
        Ok(CreateActivityPayload { activity })
    }

    /// Deletes an activity of the viewer's, and all its likes with it. `FORBIDDEN` if somebody else made it,
    /// `NOT_FOUND` if it does not exist, or no longer.
    async fn delete_activity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which one.")] input: DeleteActivityInput,
    ) -> Result<DeleteActivityPayload> {
        let scope = Scope::of(ctx)?;
        let viewer = scope.viewer.acting().await?;
        let key = id::activity(&input.activity_id, "input.activityId")?;
        scope.likes.delete_activity(key, viewer).await?;
        scope.loaders.deleted(key).await;
        Ok(DeleteActivityPayload {
            deleted_activity_id: input.activity_id,
        })
    }

    /// Likes what the viewer does not like, unlikes what the viewer likes: the tap on the heart.
    ///
    /// Always send an `idempotencyKey`: a toggle that is repeated without one, say after a cut connection, flips
    /// back; with one it never flips twice. Show the flipped heart at once, then keep whichever answer has the
    /// newest `likesChangedAt`. `NOT_FOUND` if the activity does not exist, `CONFLICT` for a key of another operation.
    async fn toggle_like(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which like.")] input: LikeInput,
    ) -> Result<LikePayload> {
        change(ctx, input, Operation::Toggle).await
    }

    /// Likes an activity. One that the viewer likes already is no error: `changed` is false, and its place in the
    /// order of likes stays. `NOT_FOUND` if the activity does not exist, `CONFLICT` for a key of another operation.
    async fn like_activity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which like.")] input: LikeInput,
    ) -> Result<LikePayload> {
        change(ctx, input, Operation::Like).await
    }

    /// Takes a like back. One that is not there is no error: `changed` is false. `NOT_FOUND` if the activity does
    /// not exist, `CONFLICT` for a key of another operation.
    async fn unlike_activity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which like.")] input: LikeInput,
    ) -> Result<LikePayload> {
        change(ctx, input, Operation::Unlike).await
    }
}

async fn change(ctx: &Context<'_>, input: LikeInput, operation: Operation) -> Result<LikePayload> {
    let scope = Scope::of(ctx)?;
    let user = scope.viewer.acting().await?;
    let activity = id::activity(&input.activity_id, "input.activityId")?;
    let key = input.idempotency_key.map(|key| key.parse()).transpose();
    let key = key.map_err(|invalid| Error::invalid("input.idempotencyKey", &invalid))?;
    let change = Change {
        user,
        activity,
        operation,
        key,
        look: scope.look,
    };
    let answer = scope.likes.change(&change).await;
    // Also a change that failed may have happened, so what was loaded is old in any case.
    let state = answer.as_ref().ok().and_then(|it| it.state.clone());
    let state = state.map(Arc::new);
    scope.loaders.changed(activity, state.as_ref()).await;
    let answer = answer?;
    Ok(LikePayload {
        activity: Activity::of_change(activity, state),
        liked: answer.liked,
        changed: answer.changed,
    })
}

/// A text within bounds. Postgres cannot keep a NUL.
fn text(text: &str, least: usize, most: usize, argument: &'static str) -> Result<String> {
    let chars = text.chars().count();
    if chars < least || chars > most {
        let problem = format!("must have {least} to {most} characters");
        return Err(Error::argument(argument, &problem));
    }
    if text.contains('\0') {
        return Err(Error::argument(argument, "must not contain U+0000"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_bounded_and_name_their_argument() {
        let title = |it: &str| text(it.trim(), 1, TITLE_CHARS, "input.title");
        assert_eq!(title(" Hello ").unwrap(), "Hello");
        assert!(title(&"ä".repeat(200)).is_ok());
        let refused = Error::argument("input.title", "must have 1 to 200 characters");
        assert_eq!(title(" \n\t "), Err(refused.clone()));
        assert_eq!(title(&"ä".repeat(201)), Err(refused));
        assert!(title("a\0b").is_err());
    }
}
