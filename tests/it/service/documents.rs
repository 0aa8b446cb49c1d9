//! What the tests send.

use serde_json::{Value, json};

/// All fields about likes of an activity.
pub const LIKES: &str =
    "id likeCount isLiked likeRank likesChangedAt topLikers(first: 50) { name }";

/// The body of a change, which `Service::post` may send anywhere.
pub fn change(mutation: &str, activity: &str, key: Option<&str>) -> Value {
    let query = format!(
        "mutation($input: LikeInput!) {{
            {mutation}(input: $input) {{ liked changed activity {{ {LIKES} }} }} }}"
    );
    let input = json!({ "activityId": activity, "idempotencyKey": key });
    json!({ "query": query, "variables": { "input": input } })
}

/// A document that toggles a like so many times, one after the other, and asks for little.
pub fn toggles(activity: &str, count: usize) -> Value {
    let mut query = "mutation { ".to_string();
    for turn in 0..count {
        let toggle =
            format!("t{turn}: toggleLike(input: {{ activityId: {activity:?} }}) {{ liked }} ");
        query.push_str(&toggle);
    }
    json!({ "query": query + "}" })
}
