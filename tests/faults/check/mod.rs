//! What must hold, and whether it did.

mod pairs;
mod proof;
mod register;
mod versions;

use crate::record::Record;
pub use pairs::seconds;
pub use proof::prove;

/// In which way the promise was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An acknowledged change is gone.
    Lost,
    /// A change took effect more than once.
    Doubled,
    /// Something did not come back to work.
    Stuck,
    /// Answers, or the two databases, contradict each other.
    Torn,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Lost, Self::Doubled, Self::Stuck, Self::Torn];

    pub fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Doubled => "doubled",
            Self::Stuck => "stuck",
            Self::Torn => "torn",
        }
    }
}

/// One finding.
#[derive(Debug, Clone)]
pub struct Violation {
    pub kind: Kind,
    pub text: String,
}

impl Violation {
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
        }
    }
}

/// Checks what clients were told.
pub fn history(record: &Record) -> Vec<Violation> {
    let mut violations = pairs::check(record);
    violations.extend(versions::check(record));
    violations
}
