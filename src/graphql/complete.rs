//! The errors of an answer before it is sent: each has a code, and all of them together are short.

use async_graphql::{ServerError, Value};

use super::error::{Code, MAY_HAVE_HAPPENED};

/// What of a text of async-graphql's is passed on; it quotes what it was given.
const LONGEST_TEXT: usize = 240;
/// What all errors of one answer may take: somebody who sends little is not answered with much.
const ERRORS_BYTES: usize = 7_000;

/// Gives a code to the errors that have none: those that async-graphql made. It makes them of documents
/// and values that it refuses; anything else it says during execution is masked.
///
/// Of many errors the first ones are enough to mend what was sent, and stay.
pub fn complete(errors: &mut Vec<ServerError>, most: usize) {
    errors.truncate(most);
    for error in errors.iter_mut() {
        let coded = error
            .extensions
            .as_ref()
            .is_some_and(|extensions| extensions.get("code").is_some());
        if coded {
            continue;
        }
        let code = if error.path.is_empty() || is_about_a_value(&error.message) {
            Code::BadUserInput
        } else {
            tracing::error!(
                error.code = Code::Internal.name(),
                error.message = error.message,
            );
            "Something went wrong on our side.".clone_into(&mut error.message);
            Code::Internal
        };
        error.source = None;
        error
            .extensions
            .get_or_insert_default()
            .set("code", code.name());
        if error.message.len() > LONGEST_TEXT {
            error.message = error.message.chars().take(LONGEST_TEXT).collect();
        }
    }
    let mut bytes = 0;
    let fitting = errors.iter().take_while(|error| {
        bytes += serde_json::to_string(error).map_or(ERRORS_BYTES, |text| text.len());
        bytes <= ERRORS_BYTES
    });
    let fitting = fitting.count().max(1);
    errors.truncate(fitting);
}

/// Of a mutation, the fields below the first level are resolved when the change has happened: what is
/// not available there does not undo it, whatever the failed look-up says of itself.
pub fn after_a_change(errors: &mut [ServerError]) {
    for error in errors.iter_mut().filter(|error| error.path.len() > 1) {
        let extensions = error.extensions.get_or_insert_default();
        if extensions.get("outcome").is_some() {
            extensions.set("outcome", "unknown");
            MAY_HAVE_HAPPENED.clone_into(&mut error.message);
        }
    }
}

/// Whether something was away for a moment.
pub fn is_any_unavailable(errors: &[ServerError]) -> bool {
    let unavailable = Value::from(Code::Unavailable.name());
    errors.iter().any(|error| {
        let extensions = error.extensions.as_ref();
        extensions.and_then(|it| it.get("code")) == Some(&unavailable)
    })
}

/// Whether a text is one of those that async-graphql has for a value of the wrong type or size.
fn is_about_a_value(message: &str) -> bool {
    message.starts_with("Failed to parse \"") || message.starts_with("Expected input type \"")
}

#[cfg(test)]
mod tests {
    use async_graphql::{PathSegment, Pos};

    use super::*;
    use crate::graphql::error::Error;
    use crate::likes;

    fn code_of(error: &ServerError) -> String {
        let extensions = error.extensions.as_ref().unwrap();
        extensions.get("code").unwrap().to_string()
    }

    #[test]
    fn what_is_missing_from_the_answer_of_a_change_does_not_undo_it() {
        let away = || {
            let error = Error::from(likes::Error::unavailable("the database failed"));
            async_graphql::Error::from(error).into_server_error(Pos::default())
        };
        let field = |name: &str| PathSegment::Field(name.into());
        let path = vec![field("toggleLike"), field("activity"), field("topLikers")];
        let mut errors = [away().with_path(path[..1].to_vec()), away().with_path(path)];
        after_a_change(&mut errors);
        let outcome = |error: &ServerError| {
            let extensions = error.extensions.as_ref().unwrap();
            extensions.get("outcome").unwrap().to_string()
        };
        assert_eq!(outcome(&errors[0]), "\"not_applied\"");
        assert_eq!(outcome(&errors[1]), "\"unknown\"");
        assert!(errors[1].message.contains("may have happened"));
    }

    #[test]
    fn errors_without_a_code_get_one() {
        let refused = ServerError::new("Unknown field", None);
        let at = vec![PathSegment::Field("a".into())];
        let value = ServerError::new("Failed to parse \"Int\": no", None).with_path(at.clone());
        let other = ServerError::new("disk on fire", None).with_path(at);
        let mut errors = vec![refused, value, other];
        complete(&mut errors, 20);
        assert_eq!(code_of(&errors[0]), "\"BAD_USER_INPUT\"");
        assert_eq!(code_of(&errors[1]), "\"BAD_USER_INPUT\"");
        assert_eq!(code_of(&errors[2]), "\"INTERNAL\"");
        assert_eq!(errors[2].message, "Something went wrong on our side.");
    }
}
