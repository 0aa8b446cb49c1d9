//! Documents known by their hash: those that clients have sent before (automatic persisted queries, as Apollo's
//! clients speak them), and those of a manifest that are trusted.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use moka::sync::Cache;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::error::{Code, Error, Result};
use crate::config::{self, Invalid, Trust};

/// What an entry takes beside its text.
const ENTRY_BYTES: usize = 200;
/// Of a hash or an id.
const LONGEST_HASH: usize = 128;

/// A document to be remembered by its hash.
#[derive(Debug, Clone)]
pub struct Keep {
    hash: String,
    text: Arc<str>,
}

/// Finds documents by their hash. Its memory is bounded: what was not asked for of late makes place.
pub struct Documents {
    persisted: Option<Cache<String, Arc<str>>>,
    trusted: HashMap<String, Arc<str>>,
    texts: HashSet<Arc<str>>,
    only_trusted: bool,
}

impl Documents {
    /// No document is known.
    pub fn none() -> Self {
        Self::with(0, HashMap::new(), false)
    }

    /// Reads the manifest, if there is one.
    ///
    /// # Errors
    /// Names the setting that cannot be used.
    pub fn load(settings: &config::Documents) -> std::result::Result<Self, Invalid> {
        let trusted = match settings.manifest()? {
            Some(text) => manifest(&text).ok_or(Invalid {
                setting: "LIKEWISE_TRUSTED_DOCUMENTS",
                reason: "names a file that is neither Apollo's persisted query manifest nor a \
                         JSON object of ids and documents"
                    .to_owned(),
            })?,
            None => HashMap::new(),
        };
        let only = settings.trusted_documents_mode == Trust::Only;
        Ok(Self::with(settings.persisted_documents, trusted, only))
    }

    fn with(bytes: u64, trusted: HashMap<String, Arc<str>>, only_trusted: bool) -> Self {
        let weight = |_: &String, text: &Arc<str>| {
            u32::try_from(text.len() + ENTRY_BYTES).unwrap_or(u32::MAX)
        };
        let cache = || Cache::builder().weigher(weight).max_capacity(bytes).build();
        Self {
            persisted: (bytes > 0 && !only_trusted).then(cache),
            texts: trusted.values().cloned().collect(),
            trusted,
            only_trusted,
        }
    }

    /// The document that is meant, and what to keep of it once it has turned out to be valid.
    ///
    /// # Errors
    /// It is not known, not trusted, or not what its hash says.
    pub fn find(&self, text: Option<String>, hash: Option<&str>) -> Result<(String, Option<Keep>)> {
        match (text, hash) {
            (None, None) => Err(Error::new(Code::BadUserInput, "query is missing.")),
            (None, Some(hash)) => self.known(hash).map(|text| (text, None)),
            (Some(text), _) if self.only_trusted => {
                if !self.texts.contains(text.as_str()) {
                    let text = "Only documents that were registered before are executed here.";
                    return Err(Error::new(Code::Forbidden, text));
                }
                Ok((text, None))
            }
            (Some(text), None) => Ok((text, None)),
            (Some(text), Some(hash)) => {
                if self.persisted.is_none() {
                    return Ok((text, None));
                }
                if !sha256(&text).eq_ignore_ascii_case(hash) {
                    let text = "extensions.persistedQuery.sha256Hash is not the hash of query.";
                    return Err(Error::new(Code::BadUserInput, text));
                }
                let keep = Keep {
                    hash: hash.to_ascii_lowercase(),
                    text: text.as_str().into(),
                };
                Ok((text, Some(keep)))
            }
        }
    }

    /// Remembers a valid document.
    pub fn keep(&self, keep: Keep) {
        if let Some(persisted) = &self.persisted {
            persisted.insert(keep.hash, keep.text);
        }
    }

    fn known(&self, hash: &str) -> Result<String> {
        if let Some(text) = self.trusted.get(hash) {
            return Ok(text.to_string());
        }
        // Apollo's clients know these two texts.
        let Some(persisted) = &self.persisted else {
            let (code, text) = if self.trusted.is_empty() {
                (
                    Code::PersistedQueryNotSupported,
                    "PersistedQueryNotSupported",
                )
            } else {
                (Code::PersistedQueryNotFound, "PersistedQueryNotFound")
            };
            return Err(Error::new(code, text));
        };
        let hash = hash
            .get(..LONGEST_HASH)
            .unwrap_or(hash)
            .to_ascii_lowercase();
        let found = persisted.get(&hash).map(|text| text.to_string());
        found.ok_or_else(|| Error::new(Code::PersistedQueryNotFound, "PersistedQueryNotFound"))
    }
}

/// Apollo's manifest has a list of operations with `id` and `body`; others have ids and texts.
fn manifest(text: &str) -> Option<HashMap<String, Arc<str>>> {
    let manifest: Value = serde_json::from_str(text).ok()?;
    let entry = |id: &Value, text: &Value| Some((id.as_str()?.to_owned(), text.as_str()?.into()));
    if let Some(operations) = manifest.get("operations").and_then(Value::as_array) {
        let operations = operations.iter();
        return operations
            .map(|it| entry(it.get("id")?, it.get("body")?))
            .collect();
    }
    let documents = manifest.as_object()?.iter();
    documents
        .map(|(id, text)| Some((id.clone(), text.as_str()?.into())))
        .collect()
}

fn sha256(text: &str) -> String {
    let mut digits = String::new();
    for byte in Sha256::digest(text) {
        // Writing to a text cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{ viewer { id } }";

    fn code(answer: Result<(String, Option<Keep>)>) -> String {
        let response = answer.unwrap_err().into_response();
        let extensions = response.errors[0].extensions.as_ref().unwrap();
        extensions.get("code").unwrap().to_string()
    }

    #[test]
    fn a_document_is_known_once_it_was_kept() {
        let documents = Documents::with(100_000, HashMap::new(), false);
        let hash = sha256(TEXT);
        let not_found = "\"PERSISTED_QUERY_NOT_FOUND\"";
        assert_eq!(code(documents.find(None, Some(&hash))), not_found);
        let (_, keep) = documents.find(Some(TEXT.into()), Some(&hash)).unwrap();
        // It was sent, but nobody has said yet that it is valid.
        assert_eq!(code(documents.find(None, Some(&hash))), not_found);
        documents.keep(keep.unwrap());
        let upper = hash.to_uppercase();
        assert_eq!(documents.find(None, Some(&upper)).unwrap().0, TEXT);
    }

    #[test]
    fn a_wrong_hash_poisons_nothing() {
        let documents = Documents::with(100_000, HashMap::new(), false);
        let hash = sha256("{ viewer { name } }");
        let answer = documents.find(Some(TEXT.into()), Some(&hash));
        assert_eq!(code(answer), "\"BAD_USER_INPUT\"");
    }

    #[test]
    fn memory_is_bounded() {
        let documents = Documents::with(100_000, HashMap::new(), false);
        for i in 0..1_000 {
            let text = format!("{{ a{i} {} }}", "b ".repeat(500));
            let hash = sha256(&text);
            let (_, keep) = documents.find(Some(text), Some(&hash)).unwrap();
            documents.keep(keep.unwrap());
        }
        let persisted = documents.persisted.unwrap();
        persisted.run_pending_tasks();
        assert!(persisted.weighted_size() <= 100_000);
    }

    #[test]
    fn trusted_documents_come_from_either_kind_of_manifest() {
        let apollo = r#"{"format":"apollo-persisted-query-manifest","version":1,"operations":[
            {"id":"one","name":"A","type":"query","body":"{ viewer { id } }"}]}"#;
        let map = r#"{"one":"{ viewer { id } }"}"#;
        for text in [apollo, map] {
            let documents = Documents::with(0, manifest(text).unwrap(), true);
            assert_eq!(documents.find(None, Some("one")).unwrap().0, TEXT);
            assert_eq!(documents.find(Some(TEXT.into()), None).unwrap().0, TEXT);
            let other = documents.find(Some("{ viewer { name } }".into()), None);
            assert_eq!(code(other), "\"FORBIDDEN\"");
            let unknown = documents.find(None, Some("two"));
            assert_eq!(code(unknown), "\"PERSISTED_QUERY_NOT_FOUND\"");
        }
        for text in ["", "[]", r#"{"a":1}"#, r#"{"operations":[{"id":"a"}]}"#] {
            assert!(manifest(text).is_none(), "{text}");
        }
    }

    #[test]
    fn clients_are_told_where_hashes_are_not_taken() {
        let answer = Documents::none().find(None, Some("one"));
        assert_eq!(code(answer), "\"PERSISTED_QUERY_NOT_SUPPORTED\"");
    }
}
