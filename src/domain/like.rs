//! Likes: the state of an activity's likes and what a change answers.

use std::collections::HashMap;

use super::{ActivityId, IdempotencyKey, Timestamp, UserId};

/// A user who likes an activity, and since when. Also a place in the order of likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Liker {
    /// When Redis carried out the like.
    pub at: Timestamp,
    /// Who likes.
    pub user: UserId,
}

/// How much of an activity's likes to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Look {
    /// How many of the earliest likers.
    pub top: usize,
    /// Whether the viewer's rank is wanted.
    pub rank: bool,
}

/// The likes of one activity as of one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LikeState {
    /// How many users like it.
    pub count: i64,
    /// The newest like or unlike; None if there was never one. Rises with every change.
    pub changed_at: Option<Timestamp>,
    /// Whether the viewer likes it; false without a viewer.
    pub liked: bool,
    /// The viewer's place in the order of likes, from 1; None if not liked or not looked at.
    pub rank: Option<i64>,
    /// The earliest likers in order, as many as were looked at.
    pub top: Vec<Liker>,
}

/// The likes of one activity as of one moment, for several viewers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Views {
    state: LikeState,
    ranks: HashMap<UserId, Option<i64>>,
}

impl Views {
    /// What all see, and which viewers like the activity, each with the rank where that was looked at.
    pub fn new(
        state: LikeState,
        liked_by: impl IntoIterator<Item = (UserId, Option<i64>)>,
    ) -> Self {
        Self {
            state,
            ranks: liked_by.into_iter().collect(),
        }
    }

    /// What one of the viewers sees, or somebody who is nobody.
    pub fn of(&self, viewer: Option<UserId>) -> LikeState {
        let rank = viewer.and_then(|viewer| self.ranks.get(&viewer));
        LikeState {
            liked: rank.is_some(),
            rank: rank.copied().flatten(),
            ..self.state.clone()
        }
    }
}

/// What a user does to a like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Likes what is not liked, unlikes what is.
    Toggle,
    /// Likes; no change if already liked.
    Like,
    /// Unlikes; no change if not liked.
    Unlike,
}

impl Operation {
    /// The word for it in scripts, logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Toggle => "toggle",
            Self::Like => "like",
            Self::Unlike => "unlike",
        }
    }
}

/// A wanted change of one like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Who acts.
    pub user: UserId,
    /// On what.
    pub activity: ActivityId,
    /// What is done.
    pub operation: Operation,
    /// Guards against doing it twice.
    pub key: Option<IdempotencyKey>,
    /// What to look at right after the change.
    pub look: Look,
}

/// What came of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeAnswer {
    /// Whether the user likes the activity after this operation.
    pub liked: bool,
    /// Whether this operation changed anything.
    pub changed: bool,
    /// The state right after it; None where a known idempotency key was answered and the set is not at hand.
    pub state: Option<LikeState>,
}
