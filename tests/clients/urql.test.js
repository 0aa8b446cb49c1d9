// urql as an application uses it: a query, a mutation, and automatic persisted queries.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Client, cacheExchange, fetchExchange, gql } from "@urql/core";
import { persistedExchange } from "@urql/exchange-persisted";
import { demoUsers, startService } from "../browser/service.js";

const ACTIVITIES = gql`
  query Activities($first: Int) { activities(first: $first) { nodes { id likeCount isLiked } } }
`;
const LIKE = gql`
  mutation Toggle($input: LikeInput!) { toggleLike(input: $input) { liked activity { id likeCount isLiked } } }
`;

describe("urql", () => {
  let service, user;
  before(async () => {
    service = await startService();
    [user] = await demoUsers(service);
  });
  after(() => service?.stop());

  function client(exchanges = [], requests = []) {
    return new Client({
      url: `${service.origin}/graphql`,
      preferGetMethod: false,
      exchanges: [cacheExchange, ...exchanges, fetchExchange],
      fetchOptions: { headers: { authorization: `Bearer ${user.token}` } },
      fetch: (url, options) => {
        requests.push({ url: String(url), body: options.body });
        return fetch(url, options);
      },
    });
  }

  test("reads activities and likes one", async () => {
    const urql = client();
    const { data, error } = await urql.query(ACTIVITIES, { first: 2 }).toPromise();
    assert.equal(error, undefined);
    const activity = data.activities.nodes[0];
    const input = { activityId: activity.id, idempotencyKey: "a tap" };
    const toggled = await urql.mutation(LIKE, { input }).toPromise();
    assert.equal(toggled.error, undefined);
    assert.equal(toggled.data.toggleLike.activity.isLiked, !activity.isLiked);
  });

  test("shows what was wrong with a document", async () => {
    const { error } = await client().query("{ activities { nodes { nothing } } }", {}).toPromise();
    assert.equal(error.graphQLErrors[0].extensions.code, "BAD_USER_INPUT");
    assert.match(error.message, /nothing/);
  });

  test("sends a hash, and the document only once", async () => {
    const requests = [];
    const persisted = persistedExchange({ preferGetForPersistedQueries: false });
    const urql = client([persisted], requests);
    const query = "query Hashed($first: Int) { activities(first: $first) { nodes { title } } }";
    for (const first of [1, 2]) {
      const { data, error } = await urql.query(query, { first }).toPromise();
      assert.equal(error, undefined);
      assert.equal(data.activities.nodes.length, first);
    }
    const withDocument = requests.filter(({ body }) => JSON.parse(body).query);
    assert.equal(withDocument.length, 1);
    assert.equal(requests.length, 3);
  });
});
