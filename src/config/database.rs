//! Where likes are kept.

use clap::Args;

use super::{Invalid, Secret};

const URL: &str = "DATABASE_URL";

/// The SQL database.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Database")]
pub struct Database {
    /// The SQL database: `postgres://user:password@host/name`, or `sqlite:path/to/file.db`
    ///
    /// Postgres 15 or newer serves production. SQLite is a file of one machine.
    #[arg(
        long,
        env = URL,
        hide_env_values = true,
        value_name = "URL"
    )]
    pub database_url: Option<Secret>,

    /// The most connections to the database that this process opens, at least 2
    #[arg(
        long,
        env = "LIKEWISE_DATABASE_CONNECTIONS",
        default_value = "10",
        value_name = "NUMBER",
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    pub database_connections: u32,
}

impl Database {
    /// The address, known to name a database that this program speaks to.
    ///
    /// # Errors
    /// It is not set, has another scheme, or names a database that nothing would be left of.
    pub fn require(&self) -> Result<&Secret, Invalid> {
        let Some(secret) = &self.database_url else {
            return Err(Invalid::new(
                URL,
                "is not set. It is the database that keeps the likes, \
                 for example postgres://user:password@localhost/likewise or sqlite:likewise.db",
            ));
        };
        let (scheme, rest) = secret.expose().split_once(':').unwrap_or_default();
        match scheme {
            "postgres" | "postgresql" if url::Url::parse(secret.expose()).is_err() => {
                let reason = "is not an address like postgres://user:password@localhost/likewise; \
                              in a password, write / as %2F, @ as %40 and # as %23";
                Err(Invalid::new(URL, reason))
            }
            "sqlite" if rest.is_empty() || rest == "//" => {
                let reason = "names no file; write it like sqlite:likewise.db";
                Err(Invalid::new(URL, reason))
            }
            "sqlite" if rest.contains(":memory:") || rest.contains("mode=memory") => {
                let reason = "is a database in memory, whose likes end with its first connection; \
                              name a file";
                Err(Invalid::new(URL, reason))
            }
            "postgres" | "postgresql" | "sqlite" => Ok(secret),
            _ => {
                let reason = "does not begin with postgres: or sqlite:, the databases that work";
                Err(Invalid::new(URL, reason))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn require(url: Option<&str>) -> Result<(), String> {
        let database = Database {
            database_url: url.map(|url| url.to_owned().into()),
            database_connections: 1,
        };
        database
            .require()
            .map(|_| ())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn only_databases_that_work_pass() {
        for url in [
            "postgres://localhost/likes",
            "postgresql://a:b%2F@[::1]:5432/likes?sslmode=require",
            "sqlite:likes.db",
            "sqlite:///var/lib/likes.db?mode=rwc",
        ] {
            assert_eq!(require(Some(url)), Ok(()), "{url}");
        }
        for url in [
            "",
            "likes.db",
            "mysql://localhost/likes",
            "sqlite:",
            "sqlite::memory:",
            "postgres://a:b/c@localhost:x/likes",
        ] {
            let error = require(Some(url)).unwrap_err();
            assert!(error.starts_with("DATABASE_URL "), "{url}: {error}");
        }
        assert!(require(None).unwrap_err().contains("is not set"));
    }

    #[test]
    fn an_error_does_not_show_the_password() {
        let error = require(Some("mysql://root:hunter2@localhost/likes")).unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
