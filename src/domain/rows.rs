//! Users and activities, as their rows have them.

use super::{ActivityId, Subject, Timestamp, UserId};

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The key.
    pub id: UserId,
    /// Which identity provider's subject this is.
    pub subject: Subject,
    /// The name to show.
    pub name: String,
    /// The address of a picture.
    pub avatar_url: Option<String>,
}

/// Something that can be liked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// The key; rises with the time of creation.
    pub id: ActivityId,
    /// Its headline.
    pub title: String,
    /// Its text, may be empty.
    pub body: String,
    /// Who made it; None once the account is gone.
    pub author: Option<UserId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// How many rows of likes SQL has: what `MOST_LIKED` orders by.
    pub persisted_count: i64,
}

/// An activity to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewActivity {
    /// Who makes it.
    pub author: UserId,
    /// Its headline.
    pub title: String,
    /// Its text.
    pub body: String,
    /// When.
    pub created_at: Timestamp,
}

/// The order of the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActivityOrder {
    /// Newest first.
    Newest,
    /// Most liked first, newest first among equals.
    MostLiked,
}

/// An entry in the list of what a user likes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikedActivity {
    /// When the user liked it.
    pub liked_at: Timestamp,
    /// What the user likes.
    pub activity: Activity,
}
