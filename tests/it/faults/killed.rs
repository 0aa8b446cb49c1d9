//! API processes that are killed in the middle of changes.

use std::cell::RefCell;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::sleep;

use crate::service::{Service, toggles, user};
use crate::store::Kind;

// 15: that the set is the net effect of its events is checked at rest.
#[tokio::test]
async fn a_killed_api_leaves_no_change_without_its_event_and_no_event_without_its_change() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let url = RefCell::new(None);
    let users: Vec<_> = (0..20).map(|it| user(&format!("user {it}"))).collect();
    let mut cut = 0;
    let toggle = async {
        let toggle = users.iter().map(async |user| {
            let (mut answered, mut cut) = (0, 0);
            while answered < 50 {
                let url: Option<String> = url.borrow().clone();
                let Some(url) = url else {
                    sleep(Duration::from_millis(5)).await;
                    continue;
                };
                if let Ok(answer) = service.post(&url, Some(user), &toggles(&activity, 1)).await {
                    assert_eq!(answer.get("errors"), None, "{answer}");
                    answered += 1;
                } else {
                    cut += 1;
                    sleep(Duration::from_millis(5)).await;
                }
            }
            cut
        });
        cut = join_all(toggle).await.into_iter().sum();
    };
    let kill = async {
        loop {
            let mut serve = service.program("serve", &["--worker", "false"]);
            *url.borrow_mut() = Some(serve.url().await);
            sleep(Duration::from_millis(rand::random_range(20..200))).await;
            *url.borrow_mut() = None;
            serve.kill();
        }
    };
    futures::future::select(Box::pin(toggle), Box::pin(kill)).await;
    let cut: usize = cut;
    assert!(cut > 0, "no request was cut off");
    assert!(service.events(&activity).await.len() >= 1000);
    service.at_rest(&activity).await;
}
