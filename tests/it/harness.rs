//! What the other tests rely on.

use crate::servers::Redis;

#[tokio::test]
async fn a_durable_redis_keeps_its_data_over_a_kill_and_a_restart() {
    let mut redis = Redis::start_durable();
    let client = redis::Client::open(redis.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut set = redis::cmd("SET");
    set.arg("key").arg("value");
    set.exec_async(&mut connection).await.unwrap();
    redis.kill();
    redis.start_again();
    redis.restart();
    redis.freeze();
    redis.thaw();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut get = redis::cmd("GET");
    let value: String = get.arg("key").query_async(&mut connection).await.unwrap();
    assert_eq!(value, "value");
}

#[tokio::test]
async fn two_redis_do_not_know_each_other() {
    let (one, other) = (Redis::start(), Redis::start());
    assert_ne!(one.port(), other.port());
}
