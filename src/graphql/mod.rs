//! GraphQL: what front ends see. Knows `likes` and `domain`, never Redis or SQL.
//!
//! `execute` reads the document before it runs, opens a scope for the request (who asks, its loaders, the
//! one look at likes that answers all its fields) and completes the errors of the response.

mod activity;
mod connection;
mod context;
mod cursor;
mod document;
mod error;
mod id;
mod likers;
mod loaders;
mod mutation;
mod page;
mod query;
mod scalar;
mod shape;
mod user;

use async_graphql::{EmptySubscription, Request, Response, SDLExportOptions, SchemaBuilder, value};

use self::context::{Degraded, Scope};
use self::mutation::Mutation;
use self::query::Query;
use self::shape::Shape;
use crate::domain::{Identity, Timestamp};
use crate::likes::Likes;
pub use error::{Code, Error};

/// The deepest nesting of fields. Tools introspect about 15 deep; an activity's likers' liked activities'
/// likers, each through edges and node, are 12.
const DEPTH: usize = 16;
/// The highest cost of a document, by and large its largest number of values. A page of a hundred activities
/// with every field costs about 4,000; five hundred aliases of anything at the root do not fit.
const COMPLEXITY: usize = 20_000;

/// The schema with what it needs to answer.
pub type Schema = async_graphql::Schema<Query, Mutation, EmptySubscription>;

/// Makes the schema.
pub fn schema(likes: Likes) -> Schema {
    builder().data(likes).finish()
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
        .limit_depth(DEPTH)
        .limit_complexity(COMPLEXITY)
}

/// Answers one request for the bearer of a verified token, or for nobody.
///
/// Every error of the response has `extensions.code`. Where answers came from SQL because Redis was away,
/// the response has `extensions.likes`: `{"source": "sql", "complete": false}`.
pub async fn execute(schema: &Schema, identity: Option<Identity>, request: Request) -> Response {
    let mut response = run(schema, identity, request).await;
    error::complete(&mut response.errors);
    response
}

async fn run(schema: &Schema, identity: Option<Identity>, mut request: Request) -> Response {
    let Some(likes) = schema.data::<Likes>() else {
        return Error::internal("a schema without likes").into_response();
    };
    let variables = std::mem::take(&mut request.variables);
    let operation = request.operation_name.take();
    let document = match request.parsed_query() {
        Ok(document) => document,
        Err(refused) => return Response::from_errors(vec![refused]),
    };
    let survey = match document::survey(document, &variables) {
        Ok(survey) => survey,
        Err(refused) => return refused.into_response(),
    };
    let shape = Shape::of(document, operation.as_deref());
    let is_mutation = document::is_mutation(document, operation.as_deref());
    request.variables = variables;
    request.operation_name = operation;
    let degraded = Degraded::default();
    let now = Timestamp::now();
    let scope = Scope::new(likes.clone(), identity, survey, degraded.clone(), now);
    let mut response = schema.execute(request.data(scope)).await;
    shape.fit(&mut response);
    if is_mutation {
        error::after_a_change(&mut response.errors);
    }
    if degraded.get() {
        let source = value!({ "source": "sql", "complete": false });
        response.extensions.insert("likes".to_owned(), source);
    }
    response
}
