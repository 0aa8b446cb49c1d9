import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startService } from "../browser/service.js";
import { attackAll } from "./attack.js";

describe("attacks", () => {
  let service, results;
  before(async () => {
    service = await startService();
    results = await attackAll(service, 2);
  });
  after(() => service?.stop());

  test("are of 40 kinds", () => assert.ok(results.length >= 40));

  test("are answered with an error, soon and shortly", () => {
    // A build without optimization, on a machine that is busy with other tests.
    const bad = results.filter(({ isError, cpu, bytes }) => !isError || cpu > 500 || bytes > 8192);
    assert.deepEqual(bad, []);
  });
});
