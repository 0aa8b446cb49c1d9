use futures::future::join_all;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::*;

/// Reads that wait until they are let go; a key is found with the number of the read. Read 0 of lane 13 panics.
struct Reads {
    gather: Gather<u8, u32, usize>,
    begun: Arc<Mutex<Vec<Vec<u32>>>>,
    go: Arc<Semaphore>,
}

impl Reads {
    fn new() -> Self {
        let begun: Arc<Mutex<Vec<Vec<u32>>>> = Arc::default();
        let go = Arc::new(Semaphore::new(0));
        let (noted, gate) = (Arc::clone(&begun), Arc::clone(&go));
        let read = move |alike: u8, mut keys: Vec<u32>| {
            keys.sort_unstable();
            let number = {
                let mut noted = noted.lock().unwrap();
                noted.push(keys.clone());
                noted.len() - 1
            };
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await.unwrap().forget();
                assert!(alike != 13 || number > 0, "unlucky");
                match alike {
                    7 => Err(store::Error::Unmigrated("on purpose".to_owned())),
                    8 if keys.contains(&3) => Err(store::Error::Corrupt {
                        table: "users",
                        column: "id",
                    }),
                    _ => Ok(keys.into_iter().map(|key| (key, number)).collect()),
                }
            }
        };
        Self {
            gather: Gather::new("tests", TaskTracker::new(), read),
            begun,
            go,
        }
    }

    /// Has been asked, and a read has begun if it may.
    async fn ask(&self, alike: u8, keys: &[u32]) -> JoinHandle<Result<Found<u32, usize>>> {
        let (gather, keys) = (self.gather.clone(), keys.to_vec());
        let asked = tokio::spawn(async move { gather.get(alike, &keys).await });
        self.settle().await;
        asked
    }

    async fn ask_each(
        &self,
        alike: u8,
        lists: &[&[u32]],
    ) -> Vec<JoinHandle<Result<Found<u32, usize>>>> {
        let mut asked = Vec::new();
        for keys in lists {
            asked.push(self.ask(alike, keys).await);
        }
        asked
    }

    /// Lets everybody do what they can.
    async fn settle(&self) -> Vec<Vec<u32>> {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        self.begun.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn whoever_comes_meanwhile_shares_the_next_read() {
    let reads = Reads::new();
    let mut asks = Vec::new();
    for key in 0..10 {
        asks.push(reads.ask(0, &[key, 100]).await);
    }
    let begun = reads.settle().await;
    assert_eq!(begun, [[0, 100], [1, 100]], "two at once");
    reads.go.add_permits(100);
    let answers = join_all(asks).await.into_iter();
    let answers: Vec<_> = answers.map(|answer| answer.unwrap().unwrap()).collect();
    let begun = reads.settle().await;
    assert_eq!(begun[2..], [[2, 3, 4, 5, 6, 7, 8, 9, 100]]);
    assert_eq!(answers[0], HashMap::from([(0, 0), (100, 0)]));
    assert_eq!(answers[9], HashMap::from([(9, 2), (100, 2)]));
    assert!(reads.gather.0.lanes.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_is_asked_differently_is_read_apart() {
    let reads = Reads::new();
    let asks = [
        reads.ask(1, &[1]).await,
        reads.ask(2, &[1]).await,
        reads.ask(3, &[1]).await,
    ];
    assert_eq!(reads.settle().await.len(), 3);
    reads.go.add_permits(3);
    assert!(
        join_all(asks)
            .await
            .into_iter()
            .all(|it| it.unwrap().is_ok())
    );
}

#[tokio::test]
async fn who_goes_away_takes_nobody_along() {
    let reads = Reads::new();
    let mut asks = reads.ask_each(0, &[&[1], &[2], &[3]]).await;
    assert_eq!(reads.settle().await.len(), 2);
    asks[0].abort();
    asks[1].abort();
    reads.go.add_permits(3);
    let third = asks.remove(2).await.unwrap().unwrap();
    assert_eq!(third, HashMap::from([(3, 2)]));
}

#[tokio::test]
async fn a_failure_strikes_all_who_share_it_and_no_later_one() {
    let reads = Reads::new();
    let asks = reads.ask_each(7, &[&[1], &[2], &[3], &[4]]).await;
    reads.go.add_permits(100);
    for answer in join_all(asks).await {
        assert!(matches!(answer.unwrap(), Err(Error::Internal(_))));
    }
    assert!(reads.gather.0.lanes.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_bad_row_strikes_only_those_who_ask_for_it() {
    let reads = Reads::new();
    let asks = reads.ask_each(8, &[&[1], &[2], &[3], &[4, 5]]).await;
    reads.go.add_permits(100);
    let answers = join_all(asks).await.into_iter();
    let good: Vec<_> = answers.map(|answer| answer.unwrap().is_ok()).collect();
    assert_eq!(good, [true, true, false, true]);
    assert!(reads.gather.0.lanes.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_panic_strikes_only_those_it_was_for() {
    let reads = Reads::new();
    reads.go.add_permits(100);
    let answer = reads.ask(13, &[1]).await.await.unwrap();
    assert!(matches!(answer, Err(Error::Internal(_))));
    let answer = reads.ask(13, &[1]).await.await.unwrap().unwrap();
    assert_eq!(answer, HashMap::from([(1, 1)]));
}

#[tokio::test]
async fn a_large_batch_takes_no_more() {
    let reads = Reads::new();
    let large: Vec<u32> = (0..5_000).collect();
    let asks = reads
        .ask_each(0, &[&[1], &[2], &large, &[6_000], &[7_000]])
        .await;
    reads.go.add_permits(100);
    assert!(
        join_all(asks)
            .await
            .into_iter()
            .all(|it| it.unwrap().is_ok())
    );
    let begun = reads.settle().await;
    let sizes: Vec<_> = begun.iter().map(Vec::len).collect();
    assert_eq!(sizes, [1, 1, 5_000, 2]);
}
