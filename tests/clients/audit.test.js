// GraphQL over HTTP as its working group audits it: every check passes, those of mere recommendations too.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { serverAudits } from "graphql-http";
import { startService } from "../browser/service.js";

describe("GraphQL over HTTP", () => {
  let service;
  before(async () => (service = await startService()));
  after(() => service?.stop());

  const audits = serverAudits({ url: async () => `${service.origin}/graphql` });

  test("the audit has as many checks as we know of", () => assert.equal(audits.length, 61));

  for (const audit of audits) {
    test(`${audit.id} ${audit.name}`, async () => {
      const result = await audit.fn();
      const body = result.status === "ok" ? "" : await result.response?.text().catch(() => "");
      assert.equal(result.status, "ok", `${result.status}: ${result.reason}\n${result.response?.status} ${body}`);
    });
  }
});
