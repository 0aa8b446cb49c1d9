// The libraries that front ends use for what goes on: queries, changes and subscriptions over each.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ApolloClient, InMemoryCache, gql } from "@apollo/client";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { Client, cacheExchange, fetchExchange, subscriptionExchange } from "@urql/core";
import { createClient as sseClient } from "graphql-sse";
import { createClient as wsClient } from "graphql-ws";
import WebSocket from "ws";
import { ask, demoUsers, startService } from "../browser/service.js";

const viewer = `query { viewer { name } }`;
const like = `mutation Like($id: ID!) { likeActivity(input: { activityId: $id }) { activity { id likeCount } } }`;
const watch = `subscription Watch($ids: [ID!]!) { likesChanged(activityIds: $ids) { activity { id likeCount isLiked } } }`;
const create = `mutation { createActivity(input: { title: "Watched" }) { activity { id } } }`;

describe("clients that watch", { timeout: 120_000 }, () => {
  let service, users, socketUrl, httpUrl;

  before(async () => {
    service = await startService();
    users = await demoUsers(service);
    httpUrl = `${service.origin}/graphql`;
    socketUrl = httpUrl.replace("http", "ws");
  });

  after(() => service?.stop());

  const authorization = () => `Bearer ${users[0].token}`;

  function overSocket() {
    return wsClient({
      url: socketUrl,
      webSocketImpl: WebSocket,
      connectionParams: () => ({ Authorization: authorization() }),
    });
  }

  /** A new activity, and how somebody else likes it. */
  async function activity() {
    const data = await ask(service, create, {}, users[1].token);
    const { id } = data.createActivity.activity;
    return { id, likeBy: (user) => ask(service, like, { id }, user.token) };
  }

  /** The story of a subscription: now, somebody else's like, and the viewer's own. */
  async function tell(results, { id, likeBy }, pick = (result) => result.data) {
    const next = async () => pick((await results.next()).value).likesChanged.activity;
    const until = async (count) => {
      for (;;) {
        const state = await next();
        if (state.likeCount === count) return state;
      }
    };
    assert.equal((await next()).likeCount, 0);
    await likeBy(users[2]);
    assert.equal((await until(1)).isLiked, false);
    await likeBy(users[0]);
    assert.equal((await until(2)).isLiked, true);
    await results.return();
  }

  test("graphql-ws queries, changes and watches over one socket", async () => {
    const client = overSocket();
    const first = async (request) => (await client.iterate(request).next()).value;
    assert.deepEqual((await first({ query: viewer })).data, { viewer: { name: users[0].name } });
    const liked = await activity();
    const change = await first({ query: like, variables: { id: liked.id } });
    assert.equal(change.data.likeActivity.activity.likeCount, 1);
    const watched = await activity();
    await tell(client.iterate({ query: watch, variables: { ids: [watched.id] } }), watched);
    await assert.rejects(first({ query: "{ nonsense }" }), (errors) => /nonsense/.test(errors[0].message));
    await client.dispose();
  });

  test("graphql-ws is told of a token that is not valid", async () => {
    const closed = new Promise((told) => {
      const client = wsClient({
        url: socketUrl,
        webSocketImpl: WebSocket,
        connectionParams: { Authorization: "Bearer nonsense" },
        retryAttempts: 0,
        on: { closed: told },
      });
      client.subscribe({ query: viewer }, { next: () => {}, error: () => {}, complete: () => {} });
    });
    assert.equal((await closed).code, 4403);
  });

  test("graphql-sse queries, changes and watches", async () => {
    const client = sseClient({ url: httpUrl, headers: () => ({ authorization: authorization() }) });
    const first = async (request) => {
      const results = [];
      for await (const result of client.iterate(request)) results.push(result);
      assert.equal(results.length, 1);
      return results[0];
    };
    assert.deepEqual((await first({ query: viewer })).data, { viewer: { name: users[0].name } });
    const liked = await activity();
    const change = await first({ query: like, variables: { id: liked.id } });
    assert.equal(change.data.likeActivity.activity.likeCount, 1);
    const watched = await activity();
    await tell(client.iterate({ query: watch, variables: { ids: [watched.id] } }), watched);
    const refused = await first({ query: "{ nonsense }" });
    assert.match(refused.errors[0].message, /nonsense/);
    client.dispose();
  });

  test("Apollo Client watches over graphql-ws", async () => {
    const socket = overSocket();
    const client = new ApolloClient({ link: new GraphQLWsLink(socket), cache: new InMemoryCache() });
    const watched = await activity();
    const observable = client.subscribe({ query: gql(watch), variables: { ids: [watched.id] } });
    await tell(iterate((sink) => observable.subscribe(sink)), watched);
    client.stop();
    await socket.dispose();
  });

  test("urql watches over event streams", async () => {
    const client = new Client({
      url: httpUrl,
      exchanges: [cacheExchange, fetchExchange],
      fetchSubscriptions: true,
      preferGetMethod: false,
      fetchOptions: () => ({ headers: { authorization: authorization() } }),
    });
    const watched = await activity();
    const source = client.subscription(watch, { ids: [watched.id] });
    await tell(iterate((sink) => source.subscribe((result) => sink.next(result))), watched);
  });

  test("urql watches over graphql-ws", async () => {
    const socket = overSocket();
    const forwardSubscription = ({ query, variables }) => ({
      subscribe: (sink) => ({ unsubscribe: socket.subscribe({ query, variables }, sink) }),
    });
    const exchanges = [cacheExchange, subscriptionExchange({ forwardSubscription }), fetchExchange];
    const client = new Client({ url: httpUrl, exchanges, preferGetMethod: false });
    const watched = await activity();
    const source = client.subscription(watch, { ids: [watched.id] });
    await tell(iterate((sink) => source.subscribe((result) => sink.next(result))), watched);
    await socket.dispose();
  });
});

/** What is pushed, to be pulled. */
async function* iterate(subscribe) {
  const waiting = [];
  let wake = () => {};
  const put = (result) => {
    waiting.push(result);
    wake();
  };
  const subscription = subscribe({ next: put, error: (error) => put(Promise.reject(error)), complete: () => {} });
  try {
    for (;;) {
      while (waiting.length > 0) yield await waiting.shift();
      await new Promise((woken) => (wake = woken));
    }
  } finally {
    subscription.unsubscribe();
  }
}
