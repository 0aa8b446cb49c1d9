//! GraphQL: what front ends see. Knows `likes` and `domain`, never Redis or SQL.
//!
//! `Gate::prepare` looks at a request before it runs; `execute` opens a scope for the request (who asks, its loaders, the
//! one look at likes that answers all its fields) and completes the errors of the response.

mod activity;
mod complete;
mod connection;
mod context;
mod cursor;
mod document;
mod documents;
mod error;
mod event;
mod gate;
mod guard;
mod id;
mod lane;
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

use async_graphql::parser::types::OperationType;
use async_graphql::{Request, Response, SDLExportOptions, SchemaBuilder, ServerError};
use futures::stream::{self, BoxStream, StreamExt};

use self::context::{Degraded, Scope, Viewer};
use self::event::{Events, Scopes};
use self::mutation::Mutation;
use self::query::Query;
use self::subscription::Root;
use crate::domain::{Identity, Timestamp};
use crate::likes::Likes;
pub use documents::Documents;
pub use error::{Code, Error};
pub use gate::{Asked, Gate};
pub use guard::{Excess, Limit, Prepared};
pub use lane::Lane;

/// The schema with what it needs to answer.
#[derive(Clone)]
pub struct Schema {
    likes: Likes,
    executed: Executed,
    /// Extensions cost something at each field, so that only subscriptions have theirs.
    subscribed: Executed,
}

type Executed = async_graphql::Schema<Query, Mutation, Root>;

/// Makes the schema. Without introspection it tells nobody what is in it.
pub fn schema(likes: Likes, introspection: bool) -> Schema {
    let builder = || {
        if introspection {
            return builder();
        }
        // Suggestions tell the schema name by name.
        builder().disable_introspection().disable_suggestions()
    };
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
}

/// Answers one query or mutation for the bearer of a verified token, or for nobody.
///
/// Every error of the response has `extensions.code`. Where answers came from SQL because Redis was away,
/// the response has `extensions.likes`: `{"source": "sql", "complete": false}`.
pub async fn execute(schema: &Schema, identity: Option<Identity>, prepared: Prepared) -> Response {
    let degraded = Degraded::default();
    let (likes, now) = (schema.likes.clone(), Timestamp::now());
    let scope = Scope::new(likes, identity, prepared.survey, degraded.clone(), now);
    let mut response = schema.executed.execute(prepared.request.data(scope)).await;
    prepared.shape.fit(&mut response);
    if prepared.kind == OperationType::Mutation {
        complete::after_a_change(&mut response.errors);
    }
    degraded.tell(&mut response);
    complete::complete(&mut response.errors, prepared.most_errors);
    response
}

/// Answers a subscription, event after event, each as `execute` would. One that is refused has a single response,
/// whose errors have no path.
pub fn subscribe(
    schema: &Schema,
    identity: Option<Identity>,
    prepared: Prepared,
) -> BoxStream<'static, Response> {
    let Prepared {
        mut request,
        survey,
        shape,
        most_errors,
        ..
    } = prepared;
    if let Err(mut refused) = spread_root(&mut request) {
        complete::complete(&mut refused, most_errors);
        return stream::iter([Response::from_errors(refused)]).boxed();
    }
    let likes = &schema.likes;
    let viewer = Arc::new(Viewer::new(likes.clone(), identity));
    let events = Arc::new(Events::new(likes, Arc::clone(&viewer), survey, shape));
    let (degraded, now) = (Degraded::default(), Timestamp::now());
    let scope = Scope::of_viewer(likes.clone(), viewer, survey, degraded, now);
    let request = request.data(scope).data(Arc::clone(&events));
    let responses = schema.subscribed.execute_stream(request);
    let complete = move |mut response: Response| {
        complete::complete(&mut response.errors, most_errors);
        if !events.take_executed() {
            let errors = response.errors.iter_mut();
            errors.for_each(|error| error.path.clear());
        }
        response
    };
    responses.map(complete).boxed()
}

fn spread_root(request: &mut Request) -> Result<(), Vec<ServerError>> {
    let document = request.parsed_query().map_err(|refused| vec![refused])?;
    let mut document = document.clone();
    let spread = root::spread(&mut document);
    spread.map_err(|refused| refused.into_response().errors)?;
    request.set_parsed_query(document);
    Ok(())
}
