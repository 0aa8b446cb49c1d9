//! `dataloader`: of those who ask for one batch the first loads it for all. If it is dropped, the
//! others go without an answer: `load` panics, `try_load` fails. Ours belong to one request each, and ask
//! again.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use dataloader::BatchFn;
use dataloader::cached::Loader;
use serde_json::json;

use super::dropped_after;
use crate::service::{Service, user};
use crate::store::Kind;

struct Slow;

impl BatchFn<i64, i64> for Slow {
    async fn load(&mut self, keys: &[i64]) -> HashMap<i64, i64> {
        tokio::time::sleep(Duration::from_millis(50)).await;
        keys.iter().map(|key| (*key, *key)).collect()
    }
}

#[tokio::test]
async fn a_dropped_leader_leaves_its_siblings_without_an_answer() {
    let loader = Loader::new(Slow).with_yield_count(1);
    let mut context = Context::from_waker(Waker::noop());
    let mut sibling = pin!(loader.try_load(2));
    {
        let mut first = pin!(loader.try_load(1));
        // Both ask, then the first loads for both.
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(sibling.as_mut().poll(&mut context).is_pending());
        assert!(first.as_mut().poll(&mut context).is_pending());
    }
    assert!(sibling.await.is_err(), "dataloader has been mended");
}

#[tokio::test]
async fn a_request_that_is_dropped_takes_no_other_with_it() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    service.like(&user("Ada"), &activity).await;
    let query = "query($id: ID!) { activity(id: $id) { likeCount topLikers { name } } }";
    let body = json!({ "query": query, "variables": { "id": activity } });
    for polls in 1..10 {
        let (_, answer) = tokio::join!(
            dropped_after(polls, service.send(&service.node, None, body.clone())),
            service.send(&service.node, None, body.clone()),
        );
        assert_eq!(answer["data"]["activity"]["likeCount"], 1, "{answer}");
    }
}
