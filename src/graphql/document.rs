//! What a document asks of likes, seen before it is executed: so that one look at an activity's likes
//! answers all fields about them, however often and with whatever arguments they occur.

use async_graphql::Variables;
use async_graphql::parser::types::{
    DocumentOperations, ExecutableDocument, Field, OperationDefinition,
};

use super::guard::top_likers;
use crate::domain::Look;

/// What a document asks of likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Survey {
    /// The look that is enough for every field about likes.
    pub look: Look,
    /// Whether any of them depends on who asks.
    pub viewer: bool,
}

impl Survey {
    /// Takes a field into account. Those of unused operations and skipped ones may be among them: asking for
    /// a little too much is harmless.
    pub fn note(&mut self, field: &Field, document: &ExecutableDocument, variables: &Variables) {
        match field.name.node.as_str() {
            "topLikers" => {
                let top = top_likers(field, document, variables);
                self.look.top = self.look.top.max(top);
            }
            "likeRank" => {
                self.look.rank = true;
                self.viewer = true;
            }
            "isLiked" => self.viewer = true,
            _ => {}
        }
    }
}

/// The operation that will be executed, if there is one.
pub fn selected<'a>(
    document: &'a ExecutableDocument,
    name: Option<&str>,
) -> Option<&'a OperationDefinition> {
    let selected = match (&document.operations, name) {
        (DocumentOperations::Single(single), _) => Some(single),
        (DocumentOperations::Multiple(all), Some(name)) => all.get(name),
        (DocumentOperations::Multiple(all), None) => all.values().next(),
    };
    selected.map(|operation| &operation.node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_graphql::parser::parse_query;
    use async_graphql::{Value, value};

    fn of(query: &str, variables: Value) -> Survey {
        let document = parse_query(query).unwrap();
        super::super::guard::survey_of(&document, &Variables::from_value(variables))
    }

    fn top(query: &str, variables: Value) -> usize {
        of(query, variables).look.top
    }

    #[test]
    fn a_document_without_likes_looks_at_nothing() {
        let survey = of("{ activities { nodes { title likeCount } } }", value!({}));
        assert_eq!(survey, Survey::default());
    }

    #[test]
    fn the_largest_number_of_top_likers_is_looked_at() {
        let none = value!({});
        assert_eq!(top("{ a { topLikers { id } } }", none.clone()), 5);
        assert_eq!(top("{ a { topLikers(first: 3) { id } } }", none.clone()), 3);
        assert_eq!(top("{ a { topLikers(first: 0) { id } } }", none.clone()), 0);
        assert_eq!(
            top("{ a { topLikers(first: -4) { id } } }", none.clone()),
            0
        );
        assert_eq!(
            top("{ a { topLikers(first: 9999) { id } } }", none.clone()),
            50
        );
        let several = "{ a { x: topLikers(first: 2) { id } ...F } }
            fragment F on Activity { ... on Activity { y: topLikers(first: 7) { id } } }";
        assert_eq!(top(several, none), 7);
    }

    #[test]
    fn variables_and_their_defaults_count() {
        let query = "query Q($n: Int! = 8) { a { topLikers(first: $n) { id } } }";
        assert_eq!(top(query, value!({})), 8);
        assert_eq!(top(query, value!({ "n": 12 })), 12);
        assert_eq!(top(query, value!({ "n": "many" })), 5);
        assert_eq!(top("{ a { topLikers(first: $n) { id } } }", value!({})), 5);
    }

    #[test]
    fn rank_and_viewer_are_noticed_also_in_fragments() {
        let survey = of("{ a { isLiked } }", value!({}));
        assert!(survey.viewer && !survey.look.rank);
        let query = "{ a { ...F } } fragment F on Activity { r: likeRank }";
        let survey = of(query, value!({}));
        assert!(survey.viewer && survey.look.rank);
    }
}
