// Apollo Client as an application uses it: a query, a mutation, and automatic persisted queries.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { ApolloClient, ApolloLink, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { demoUsers, startService } from "../browser/service.js";

const FEED = gql`
  query Feed($first: Int) {
    activities(first: $first) {
      nodes { id title likeCount isLiked topLikers(first: 2) { id name } }
      pageInfo { endCursor hasNextPage }
    }
  }
`;
const TOGGLE = gql`
  mutation Toggle($input: LikeInput!) {
    toggleLike(input: $input) { liked changed activity { id likeCount isLiked likesChangedAt } }
  }
`;

describe("Apollo Client", () => {
  let service, user;
  before(async () => {
    service = await startService();
    [user] = await demoUsers(service);
  });
  after(() => service?.stop());

  function client(link = ApolloLink.empty(), requests = []) {
    const http = new HttpLink({
      uri: `${service.origin}/graphql`,
      headers: { authorization: `Bearer ${user.token}` },
      fetch: (url, options) => {
        requests.push({ url: String(url), method: options.method, body: options.body });
        return fetch(url, options);
      },
    });
    return new ApolloClient({ cache: new InMemoryCache(), link: link ? ApolloLink.from([link, http]) : http });
  }

  test("reads the feed, and sees its own like at once", async () => {
    const apollo = client(null);
    const { data } = await apollo.query({ query: FEED, variables: { first: 3 } });
    assert.equal(data.activities.nodes.length, 3);
    const activity = data.activities.nodes[0];
    const input = { activityId: activity.id, idempotencyKey: "a tap" };
    const toggled = await apollo.mutate({ mutation: TOGGLE, variables: { input } });
    assert.equal(toggled.data.toggleLike.liked, !activity.isLiked);
    // The cache has taken in the activity of the payload.
    const cached = apollo.readQuery({ query: FEED, variables: { first: 3 } });
    assert.equal(cached.activities.nodes[0].isLiked, !activity.isLiked);
  });

  test("shows what was wrong with a document", async () => {
    const wrong = gql`query { activities(first: 0) { nodes { id } } }`;
    await assert.rejects(client(null).query({ query: wrong }), (error) => {
      assert.equal(error.errors[0].extensions.code, "BAD_USER_INPUT");
      assert.equal(error.errors[0].extensions.argument, "first");
      return true;
    });
  });

  for (const useGETForHashedQueries of [false, true]) {
    test(`sends a hash, and the document only once (${useGETForHashedQueries ? "GET" : "POST"})`, async () => {
      const sha256 = (text) => createHash("sha256").update(text).digest("hex");
      const requests = [];
      const link = new PersistedQueryLink({ sha256, useGETForHashedQueries });
      const apollo = client(link, requests);
      const query = gql`query Persisted($first: Int) { activities(first: $first) { nodes { id } } }`;
      const options = { query, fetchPolicy: "no-cache" };
      for (const first of [1, 2, 3]) {
        const { data } = await apollo.query({ ...options, variables: { first } });
        assert.equal(data.activities.nodes.length, first);
      }
      const withDocument = requests.filter(({ url, body }) => /"query"|[?&]query=/.test(url + (body ?? "")));
      // The second client finds it known already.
      assert.equal(withDocument.length, useGETForHashedQueries ? 0 : 1);
      assert.equal(requests.length, useGETForHashedQueries ? 3 : 4);
    });
  }
});
