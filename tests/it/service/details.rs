//! What the API says of an activity's likes.

use serde_json::Value;

/// What the API says of an activity's likes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    pub count: i64,
    pub liked: bool,
    pub rank: Option<i64>,
    pub changed_at: Option<String>,
    pub top: Vec<String>,
}

impl Details {
    pub fn of(activity: &Value) -> Self {
        let top = activity["topLikers"].as_array().unwrap();
        Self {
            count: activity["likeCount"].as_i64().unwrap(),
            liked: activity["isLiked"].as_bool().unwrap(),
            rank: activity["likeRank"].as_i64(),
            changed_at: activity["likesChangedAt"].as_str().map(Into::into),
            top: top
                .iter()
                .map(|user| user["name"].as_str().unwrap().to_owned())
                .collect(),
        }
    }

    /// `likesChangedAt` in microseconds since 1970; 0 if it is null.
    pub fn changed_at_micros(&self) -> i64 {
        let Some(text) = &self.changed_at else {
            return 0;
        };
        let time = chrono::DateTime::parse_from_rfc3339(text).unwrap();
        time.timestamp_micros()
    }
}
