//! GraphQL: what front ends see. Knows `likes` and `domain`, never Redis or SQL.
//!
//! `execute` reads the document before it runs, opens a scope for the request (who asks, its loaders, the
//! one look at likes that answers all its fields) and completes the errors of the response.

mod activity;
mod connection;
mod context;
mod cursor;
mod document;
mod documents;
mod error;
mod gate;
mod guard;
mod id;
mod likers;
mod loaders;
mod mutation;
mod page;
mod query;
mod scalar;
mod shape;
mod user;

use async_graphql::{EmptySubscription, Response, SDLExportOptions, SchemaBuilder, value};

use self::context::{Degraded, Scope};
use self::mutation::Mutation;
use self::query::Query;
use crate::domain::{Identity, Timestamp};
use crate::likes::Likes;
pub use documents::Documents;
pub use error::{Code, Error};
pub use gate::{Asked, Gate};
pub use guard::{Excess, Limit, Prepared};

/// The schema with what it needs to answer.
pub type Schema = async_graphql::Schema<Query, Mutation, EmptySubscription>;

/// Makes the schema. Without introspection it tells nobody what is in it.
pub fn schema(likes: Likes, introspection: bool) -> Schema {
    let builder = builder().data(likes);
    if introspection {
        return builder.finish();
    }
    // Suggestions tell the schema name by name.
    builder
        .disable_introspection()
        .disable_suggestions()
        .finish()
}

/// The schema as text, as it stands in `schema.graphql`. Needs no connections.
pub fn sdl() -> String {
    let options = SDLExportOptions::new()
        .use_space_ident()
        .prefer_single_line_descriptions();
    let sdl = builder().finish().sdl_with_options(options);
    // Blank lines of descriptions come indented.
    let lines = sdl.lines().map(str::trim_end);
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn builder() -> SchemaBuilder<Query, Mutation, EmptySubscription> {
    Schema::build(Query, Mutation, EmptySubscription)
}

/// Answers one prepared request for the bearer of a verified token, or for nobody.
///
/// Every error of the response has `extensions.code`. Where answers came from SQL because Redis was away,
/// the response has `extensions.likes`: `{"source": "sql", "complete": false}`.
pub async fn execute(schema: &Schema, identity: Option<Identity>, prepared: Prepared) -> Response {
    let most_errors = prepared.most_errors;
    let mut response = run(schema, identity, prepared).await;
    error::complete(&mut response.errors, most_errors);
    response
}

async fn run(schema: &Schema, identity: Option<Identity>, prepared: Prepared) -> Response {
    let Some(likes) = schema.data::<Likes>() else {
        return Error::internal("a schema without likes").into_response();
    };
    let Prepared {
        request,
        survey,
        shape,
        ..
    } = prepared;
    let degraded = Degraded::default();
    let now = Timestamp::now();
    let scope = Scope::new(likes.clone(), identity, survey, degraded.clone(), now);
    let mut response = schema.execute(request.data(scope)).await;
    shape.fit(&mut response);
    if degraded.get() {
        let source = value!({ "source": "sql", "complete": false });
        response.extensions.insert("likes".to_owned(), source);
    }
    response
}
