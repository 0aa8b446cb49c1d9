//! Values that must not be shown.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// A text that cannot be printed: no log, error or help text shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl FromStr for Secret {
    /// Any text will do here: an error of the command line would print the text. Checks come later.
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        let secret: Secret = "hunter2".parse().unwrap();
        assert_eq!(format!("{:?}", Some(secret)), "Some(…)");
    }
}
