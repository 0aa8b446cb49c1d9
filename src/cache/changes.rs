//! What Redis tells of changes as they happen, heard over a connection of its own: one for a process,
//! on which nothing is asked but whether it still stands.

use std::sync::Arc;
use std::time::Duration;

use redis::{
    AsyncConnectionConfig, Client, IntoConnectionInfo, ProtocolVersion, PushInfo, PushKind,
    RedisResult, from_redis_value_ref,
};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::{Cache, Error, Result};
use crate::domain::ActivityId;

/// The longest wait for the connection.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often to ask whether the other side is still there: a link whose other end has vanished is silent.
const PULSE: Duration = Duration::from_secs(2);

/// What is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// The link stands. Whatever happened before was not heard.
    Linked,
    /// The likes of an activity have changed.
    Changed(ActivityId),
}

impl Cache {
    /// Hears of the changes of all activities for as long as the link stands, which is broken when this ends.
    /// `hear` must not block.
    ///
    /// # Errors
    /// Why it broke, or never stood. It never ends otherwise.
    pub async fn listen(&self, hear: impl Fn(News) + Send + Sync + 'static) -> Result<()> {
        let hear = Arc::new(hear);
        let broken = Arc::new(Notify::new());
        let (told, tell) = (Arc::clone(&hear), Arc::clone(&broken));
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(self.options.timeout))
            .set_push_sender(move |push: PushInfo| -> RedisResult<()> {
                match push.kind {
                    PushKind::SMessage => changed(&push).into_iter().for_each(&*told),
                    PushKind::Disconnection | PushKind::SUnsubscribe => tell.notify_one(),
                    _ => {}
                }
                Ok(())
            });
        let client = client(&self.options.url)?;
        let connection = client.get_multiplexed_async_connection_with_config(&config);
        let mut connection = connection
            .await
            .map_err(|error| Error::Unreachable(Some(error)))?;
        // One channel a command: each is answered once, so that answers and commands stay in step.
        let mut pipe = redis::pipe();
        for partition in self.options.partitions.all() {
            pipe.cmd("SSUBSCRIBE").arg(self.keys.changes(partition));
        }
        pipe.exec_async(&mut connection).await?;
        hear(News::Linked);
        loop {
            tokio::select! {
                () = broken.notified() => return Err(Error::Unreachable(None)),
                () = sleep(PULSE) => redis::cmd("PING").exec_async(&mut connection).await?,
            }
        }
    }
}

fn client(url: &str) -> Result<Client> {
    let info = url.into_connection_info()?;
    let settings = info
        .redis_settings()
        .clone()
        .set_protocol(ProtocolVersion::RESP3);
    Ok(Client::open(info.set_redis_settings(settings))?)
}

/// The activity of a message `<activity> <version>`. What reads it looks at the set and so needs no version.
fn changed(push: &PushInfo) -> Option<News> {
    let text: String = from_redis_value_ref(push.data.get(1)?).ok()?;
    let (activity, _) = text.split_once(' ')?;
    activity.parse().ok().map(News::Changed)
}
