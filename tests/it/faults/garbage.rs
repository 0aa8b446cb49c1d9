//! Anything at all over HTTP: each answer has a code, and nothing panics.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::service::{Service, change, id_of, toggles, user};
use crate::store::Kind;

const CODES: [&str; 5] = [
    "BAD_USER_INPUT",
    "NOT_FOUND",
    "UNAUTHENTICATED",
    "CONFLICT",
    "FORBIDDEN",
];

fn odd_texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        " ",
        "\0",
        "-",
        "0",
        "1",
        "-1",
        "null",
        "undefined",
        "{}",
        "[]",
        "\"",
        "\\",
        "'; DROP TABLE users; --",
        "../../etc/passwd",
        "%00",
        "%s%n",
        "\u{202e}",
        "\u{feff}",
        "💥",
        "QWN0aXZpdHk6",
        "QWN0aXZpdHk6MQ==",
    ]
    .map(String::from)
    .into();
    texts.extend(
        [
            "0",
            "-1",
            "01",
            "1e3",
            "+1",
            "9223372036854775807",
            "9223372036854775808",
            "\0",
        ]
        .map(id_of),
    );
    texts.push("a".repeat(100_000));
    texts.push("\u{1f4a5}".repeat(64));
    let mut random = StdRng::seed_from_u64(7);
    for _ in 0..25 {
        let length = random.random_range(1..80);
        let bytes: Vec<u8> = (0..length).map(|_| random.random()).collect();
        texts.push(String::from_utf8_lossy(&bytes).into_owned());
        let mut activity = id_of(1).into_bytes();
        let place = random.random_range(0..activity.len());
        activity[place] = random.random_range(33..127);
        texts.push(String::from_utf8(activity).unwrap());
    }
    texts
}

/// An answer has data, or every error of it has a code that blames the request.
fn check(answer: &Value, sent: &str) {
    let Some(errors) = answer.get("errors") else {
        assert!(answer["data"].is_object(), "{sent}: {answer}");
        return;
    };
    for error in errors.as_array().unwrap() {
        let code = error["extensions"]["code"].as_str().unwrap_or_default();
        assert!(CODES.contains(&code), "{sent}: {answer}");
    }
}

#[tokio::test]
async fn odd_ids_cursors_sizes_and_keys_are_answered_with_codes() {
    let service = Service::start(Kind::Sqlite).await;
    let serve = service.program("serve", &[]);
    let url = serve.url().await;
    let activity = service.activity().await;
    let ada = user("Ada");
    let queries = [
        "query($x: ID!) { node(id: $x) { id } }",
        "query($x: ID!) { nodes(ids: [$x]) { id } }",
        "query($x: ID!) { activity(id: $x) { likeCount isLiked topLikers { name } } }",
        "query($x: String) { activities(after: $x) { nodes { id } } }",
        "query($x: String) { activities(last: 5, before: $x, orderBy: MOST_LIKED) { nodes { id } } }",
        "query($x: String, $id: ID!) { activity(id: $id) { likers(after: $x) { nodes { id } } } }",
        "query($x: String, $id: ID!) { activity(id: $id) { likers(last: 2, before: $x) { nodes { id } } } }",
        "query($x: String) { viewer { likedActivities(after: $x) { nodes { id } } } }",
        "mutation($x: ID!) { deleteActivity(input: { activityId: $x }) { deletedActivityId } }",
        "mutation($x: ID!) { toggleLike(input: { activityId: $x }) { liked } }",
        "mutation($x: String, $id: ID!) { toggleLike(input: { activityId: $id, idempotencyKey: $x }) { liked } }",
        "mutation($x: String!) { createActivity(input: { title: $x, body: $x }) { activity { title } } }",
    ];
    for query in queries {
        for text in odd_texts() {
            let mut variables = json!({ "x": text });
            if query.contains("$id") {
                variables["id"] = activity.clone().into();
            }
            let body = json!({ "query": query, "variables": variables });
            let answer = service.post(&url, Some(&ada), &body).await.unwrap();
            check(&answer, &body.to_string());
        }
    }
    let numbers = [
        "-1",
        "0",
        "101",
        "2147483648",
        "1e99",
        "1.5",
        "null",
        "\"5\"",
        "[5]",
        "{}",
        "true",
        "99999999999999999999",
    ];
    for number in numbers {
        for field in ["activities(first: N)", "activities(last: N)"] {
            let query = format!("{{ {} {{ nodes {{ id }} }} }}", field.replace('N', number));
            let answer = service
                .post(&url, None, &json!({ "query": query }))
                .await
                .unwrap();
            check(&answer, &query);
        }
        for list in [
            "topLikers(first: N) { id }",
            "likers(first: N) { nodes { id } }",
        ] {
            let list = list.replace('N', number);
            let query = format!("{{ activity(id: {activity:?}) {{ {list} }} }}");
            let answer = service
                .post(&url, None, &json!({ "query": query }))
                .await
                .unwrap();
            check(&answer, &query);
        }
    }
    service.at_rest(&activity).await;
    assert!(
        !serve.log().contains("panicked") && !serve.log().contains("INTERNAL"),
        "{}",
        serve.log()
    );
}

#[tokio::test]
async fn odd_tokens_bodies_and_documents_are_answered_with_codes() {
    let service = Service::start(Kind::Sqlite).await;
    let serve = service.program("serve", &[]);
    let url = serve.url().await;
    let activity = service.activity().await;
    let ada = user("Ada");
    let client = reqwest::Client::new();
    let post = async |token: Option<&[u8]>, body: Vec<u8>| {
        let mut request = client.post(&url).header("content-type", "application/json");
        if let Some(token) = token {
            let value = [b"Bearer ", token].concat();
            let Ok(value) = reqwest::header::HeaderValue::from_bytes(&value) else {
                return;
            };
            request = request.header("authorization", value);
        }
        let sent = String::from_utf8_lossy(&body).into_owned();
        let answer = request.body(body).send().await.unwrap();
        let status = answer.status();
        assert!(
            status.is_success() || status.is_client_error(),
            "{sent}: {status}"
        );
        check(&answer.json().await.unwrap(), &sent);
    };
    let like = change("likeActivity", &activity, None)
        .to_string()
        .into_bytes();
    let mut random = StdRng::seed_from_u64(11);
    for _ in 0..100 {
        let mut token = ada.token.clone().into_bytes();
        let place = random.random_range(0..token.len());
        token[place] ^= 1 << random.random_range(0..7);
        // The last letter of a signature has bits that do not count.
        if place + 1 < token.len() {
            post(Some(&token), like.clone()).await;
        }
        token.truncate(place);
        post(Some(&token), like.clone()).await;
    }
    for text in odd_texts().into_iter().filter(|text| text.len() < 5_000) {
        post(Some(text.as_bytes()), like.clone()).await;
        post(None, text.clone().into_bytes()).await;
        post(None, json!({ "query": text }).to_string().into_bytes()).await;
        post(
            None,
            json!({ "query": "{ viewer { id } }", "variables": text, "operationName": text })
                .to_string()
                .into_bytes(),
        )
        .await;
    }
    // Nobody has liked anything so far.
    assert!(service.events(&activity).await.is_empty());
    let document = toggles(&activity, 2).to_string().into_bytes();
    for _ in 0..300 {
        let mut body = document.clone();
        for _ in 0..random.random_range(1..4) {
            let place = random.random_range(0..body.len());
            match random.random_range(0..3) {
                0 => drop(body.remove(place)),
                1 => body.insert(place, random.random()),
                _ => body[place] = random.random(),
            }
        }
        post(Some(ada.token.as_bytes()), body).await;
    }
    for deep in [
        "{".repeat(50_000),
        "[".repeat(50_000),
        format!("{{\"query\":\"{}\"}}", "{a".repeat(20_000)),
    ] {
        post(None, deep.into_bytes()).await;
    }
    service.at_rest(&activity).await;
    assert!(
        !serve.log().contains("panicked") && !serve.log().contains("INTERNAL"),
        "{}",
        serve.log()
    );
}
