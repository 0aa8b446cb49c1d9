// Automatic persisted queries, as Apollo's clients speak them, without a client that hides what is said.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { startService } from "../browser/service.js";

const sha256 = (text) => createHash("sha256").update(text).digest("hex");

describe("automatic persisted queries", () => {
  let service;
  before(async () => (service = await startService()));
  after(() => service?.stop());

  async function post(body, accept = "application/graphql-response+json") {
    const headers = { "content-type": "application/json", accept };
    const response = await fetch(`${service.origin}/graphql`, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: response.status, ...(await response.json()) };
  }
  const hashed = (sha256Hash) => ({ extensions: { persistedQuery: { version: 1, sha256Hash } } });

  test("are asked for, sent once and known from then on, also by GET", async () => {
    const query = "query Feed($n: Int) { activities(first: $n) { nodes { title } } }";
    const hash = sha256(query);
    for (const accept of ["application/json", "application/graphql-response+json"]) {
      const unknown = await post(hashed(hash), accept);
      assert.equal(unknown.status, 200);
      assert.equal(unknown.errors[0].message, "PersistedQueryNotFound");
      assert.equal(unknown.errors[0].extensions.code, "PERSISTED_QUERY_NOT_FOUND");
      assert.equal("data" in unknown, false);
    }
    const sent = await post({ query, variables: { n: 2 }, ...hashed(hash) });
    assert.equal(sent.data.activities.nodes.length, 2);
    const known = await post({ variables: { n: 3 }, ...hashed(hash) });
    assert.equal(known.data.activities.nodes.length, 3);
    const parameters = new URLSearchParams({
      variables: JSON.stringify({ n: 1 }),
      extensions: JSON.stringify(hashed(hash).extensions),
    });
    const got = await (await fetch(`${service.origin}/graphql?${parameters}`)).json();
    assert.equal(got.data.activities.nodes.length, 1);
  });

  test("are not kept if they are not valid, or not what their hash says", async () => {
    for (const [query, hash] of [
      ["{ unknown }", sha256("{ unknown }")],
      ["{ activities { nodes { id } } ", sha256("{ activities { nodes { id } } ")],
      ["{ viewer { id } }", sha256("{ viewer { name } }")],
    ]) {
      const refused = await post({ query, ...hashed(hash) });
      assert.equal(refused.errors[0].extensions.code, "BAD_USER_INPUT");
      const unknown = await post(hashed(hash));
      assert.equal(unknown.errors[0].message, "PersistedQueryNotFound", query);
    }
  });

  test("of mutations do not run over GET", async () => {
    const query = "mutation { toggleLike(input: { activityId: 1 }) { liked } }";
    await post({ query, ...hashed(sha256(query)) });
    const extensions = JSON.stringify(hashed(sha256(query)).extensions);
    const answer = await fetch(`${service.origin}/graphql?${new URLSearchParams({ extensions })}`);
    assert.equal(answer.status, 405);
  });

  test("of another version are refused", async () => {
    const answer = await post({ extensions: { persistedQuery: { version: 2, sha256Hash: "a" } } });
    assert.equal(answer.status, 400);
  });
});

describe("trusted documents", () => {
  const query = "{ activities(first: 1) { nodes { title } } }";
  const manifest = new URL("./manifest.json", import.meta.url).pathname;

  async function ask(service, body) {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${service.origin}/graphql`, { method: "POST", headers, body: JSON.stringify(body) });
    return response.json();
  }
  const known = { extensions: { persistedQuery: { version: 1, sha256Hash: sha256(query) } } };

  for (const [mode, other] of [["preferred", undefined], ["only", "FORBIDDEN"]]) {
    test(`${mode}: are known from the first request on`, async () => {
      const service = await startService({
        LIKEWISE_TRUSTED_DOCUMENTS: manifest,
        LIKEWISE_TRUSTED_DOCUMENTS_MODE: mode,
        LIKEWISE_INTROSPECTION: "false",
      });
      try {
        assert.equal((await ask(service, known)).data.activities.nodes.length, 1);
        const untrusted = await ask(service, { query: "{ viewer { id } }" });
        assert.equal(untrusted.errors?.[0].extensions.code, other);
        // Whether it is introspection or a mistyped name, nothing of the schema is told.
        const schema = JSON.stringify(await ask(service, { query: "{ __schema { types { name } } }" }));
        assert.doesNotMatch(schema, /ActivityConnection/);
        const mistyped = JSON.stringify(await ask(service, { query: "{ activitys { nodes { id } } }" }));
        assert.doesNotMatch(mistyped, /Did you mean/);
      } finally {
        await service.stop();
      }
    });
  }
});
