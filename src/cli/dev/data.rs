//! The folder that keeps all data of `dev`.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::config::Secret;

/// Twice what HS256 needs.
const SECRET_BYTES: usize = 64;

/// A folder that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// Another process has it.
    #[error(
        "{0} is in use by another `likewise dev`: end that one, or choose another LIKEWISE_DATA"
    )]
    InUse(PathBuf),
    /// The operating system refuses.
    #[error("{0} cannot be used")]
    System(PathBuf, #[source] io::Error),
}

/// A folder, held by this process alone.
pub struct DataFolder {
    path: PathBuf,
    _lock: File,
}

impl DataFolder {
    /// Takes a folder, makes it if it is missing.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let failed = |error| DataError::System(path.to_owned(), error);
        fs::create_dir_all(path).map_err(failed)?;
        let lock = File::create(path.join("lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(DataError::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// The folder of Redis.
    pub fn redis(&self) -> PathBuf {
        self.path.join("redis")
    }

    /// The address of the SQLite file.
    pub fn database_url(&self) -> Secret {
        Secret::from(format!(
            "sqlite:{}",
            self.path.join("likewise.db").display()
        ))
    }

    /// The secret that signs tokens of this folder: made once, so that tokens stay good after a restart.
    pub fn secret(&self) -> Result<Secret, DataError> {
        let path = self.path.join("secret");
        let failed = |error| DataError::System(path.clone(), error);
        match fs::read_to_string(&path) {
            Ok(secret) => return Ok(Secret::from(secret)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let secret = URL_SAFE_NO_PAD.encode(rand::random::<[u8; SECRET_BYTES]>());
        let mut options = File::options();
        let file = options.write(true).create_new(true).mode(0o600).open(&path);
        file.and_then(|mut file| file.write_all(secret.as_bytes()))
            .map_err(failed)?;
        Ok(Secret::from(secret))
    }
}
