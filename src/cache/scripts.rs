//! The scripts; each lies in `lua/` and says there what it takes and answers.

use redis::Script;

/// All scripts, with their digests computed once.
pub struct Scripts {
    pub change: Script,
    pub begin: Script,
    pub stage: Script,
    pub commit: Script,
    pub release: Script,
    pub claim: Script,
    pub settle: Script,
    pub tail: Script,
    pub each: Script,
    pub forget: Script,
    pub spend: Script,
}

impl Scripts {
    pub fn new() -> Self {
        Self {
            change: Script::new(include_str!("lua/change.lua")),
            begin: Script::new(include_str!("lua/begin.lua")),
            stage: Script::new(include_str!("lua/stage.lua")),
            commit: Script::new(include_str!("lua/commit.lua")),
            release: Script::new(include_str!("lua/release.lua")),
            claim: Script::new(include_str!("lua/claim.lua")),
            settle: Script::new(include_str!("lua/settle.lua")),
            tail: Script::new(include_str!("lua/tail.lua")),
            each: Script::new(include_str!("lua/each.lua")),
            forget: Script::new(include_str!("lua/forget.lua")),
            spend: Script::new(include_str!("lua/spend.lua")),
        }
    }
}
