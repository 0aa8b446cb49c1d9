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
mod event;
mod id;
mod likers;
mod loaders;
mod mutation;
mod page;
mod query;
mod root;
mod scalar;
mod shape;
mod subscription;
mod user;

use std::sync::Arc;

use async_graphql::{Request, Response, SDLExportOptions, SchemaBuilder, ServerError};
use futures::stream::{self, BoxStream, StreamExt};

use self::context::{Degraded, Scope, Viewer};
use self::document::Survey;
use self::event::{Events, Scopes};
use self::mutation::Mutation;
use self::query::Query;
use self::shape::Shape;
use self::subscription::Root;
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
#[derive(Clone)]
pub struct Schema {
    likes: Likes,
    executed: Executed,
    /// Extensions cost something at each field, so that only subscriptions have theirs.
    subscribed: Executed,
}

type Executed = async_graphql::Schema<Query, Mutation, Root>;

/// Makes the schema.
pub fn schema(likes: Likes) -> Schema {
    Schema {
        likes,
        executed: builder().finish(),
        subscribed: builder().extension(Scopes).finish(),
    }
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

fn builder() -> SchemaBuilder<Query, Mutation, Root> {
    async_graphql::Schema::build(Query, Mutation, Root)
        .limit_depth(DEPTH)
        .limit_complexity(COMPLEXITY)
}

/// Answers one query or mutation for the bearer of a verified token, or for nobody.
///
/// Every error of the response has `extensions.code`. Where answers came from SQL because Redis was away,
/// the response has `extensions.likes`: `{"source": "sql", "complete": false}`.
pub async fn execute(
    schema: &Schema,
    identity: Option<Identity>,
    mut request: Request,
) -> Response {
    let mut response = match prepare(&mut request) {
        Ok(seen) => {
            let degraded = Degraded::default();
            let (likes, now) = (schema.likes.clone(), Timestamp::now());
            let scope = Scope::new(likes, identity, seen.survey, degraded.clone(), now);
            let mut response = schema.executed.execute(request.data(scope)).await;
            seen.shape.fit(&mut response);
            if seen.is_mutation {
                error::after_a_change(&mut response.errors);
            }
            degraded.tell(&mut response);
            response
        }
        Err(refused) => Response::from_errors(refused),
    };
    error::complete(&mut response.errors);
    response
}

/// Answers a subscription, event after event, each as `execute` would. One that is refused has a single response,
/// whose errors have no path.
pub fn subscribe(
    schema: &Schema,
    identity: Option<Identity>,
    mut request: Request,
) -> BoxStream<'static, Response> {
    let prepared = prepare(&mut request);
    let prepared = prepared.and_then(|it| spread_root(&mut request).map(|()| it));
    let Seen { survey, shape, .. } = match prepared {
        Ok(seen) => seen,
        Err(mut refused) => {
            error::complete(&mut refused);
            return stream::iter([Response::from_errors(refused)]).boxed();
        }
    };
    let likes = &schema.likes;
    let viewer = Arc::new(Viewer::new(likes.clone(), identity));
    let events = Arc::new(Events::new(likes, Arc::clone(&viewer), survey, shape));
    let (degraded, now) = (Degraded::default(), Timestamp::now());
    let scope = Scope::of_viewer(likes.clone(), viewer, survey, degraded, now);
    let request = request.data(scope).data(Arc::clone(&events));
    let responses = schema.subscribed.execute_stream(request);
    let complete = move |mut response: Response| {
        error::complete(&mut response.errors);
        if !events.take_executed() {
            let errors = response.errors.iter_mut();
            errors.for_each(|error| error.path.clear());
        }
        response
    };
    responses.map(complete).boxed()
}

/// What was seen of a document before it is executed.
struct Seen {
    survey: Survey,
    shape: Shape,
    is_mutation: bool,
}

fn prepare(request: &mut Request) -> Result<Seen, Vec<ServerError>> {
    let variables = std::mem::take(&mut request.variables);
    let operation = request.operation_name.take();
    let document = request.parsed_query().map_err(|refused| vec![refused])?;
    let survey = document::survey(document, &variables);
    let survey = survey.map_err(|refused| refused.into_response().errors)?;
    let seen = Seen {
        survey,
        shape: Shape::of(document, operation.as_deref()),
        is_mutation: document::is_mutation(document, operation.as_deref()),
    };
    request.variables = variables;
    request.operation_name = operation;
    Ok(seen)
}

fn spread_root(request: &mut Request) -> Result<(), Vec<ServerError>> {
    let document = request.parsed_query().map_err(|refused| vec![refused])?;
    let mut document = document.clone();
    let spread = root::spread(&mut document);
    spread.map_err(|refused| refused.into_response().errors)?;
    request.set_parsed_query(document);
    Ok(())
}
