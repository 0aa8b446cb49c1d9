import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { test } from "node:test";
import { Heart, older } from "../../web/feed/heart.js";

// Browsers have had it for years, Node.js since version 19.
globalThis.crypto ??= webcrypto;

const start = { isLiked: false, likeCount: 4, likeRank: null, likesChangedAt: "2026-01-01T00:00:00.000001Z", topLikers: [] };

/** A heart whose requests the test answers. */
function make(fields = start) {
  const sent = [];
  const refusals = [];
  let now = { ...fields };
  const heart = new Heart(fields, {
    send: (liked, key) => new Promise((resolve, reject) => sent.push({ liked, key, resolve, reject })),
    reread: async () => now,
    changed: () => {},
    refused: (error, liked) => refusals.push([error.code, liked]),
  });
  return { heart, sent, refusals, serverHas: (fields) => (now = fields) };
}

const at = (micros, isLiked, likeCount) => ({
  isLiked,
  likeCount,
  likesChangedAt: `2026-01-01T00:00:00.${String(micros).padStart(6, "0")}Z`,
});
const turn = () => new Promise((done) => setImmediate(done));
const refusal = (code, doubtful = false) => Object.assign(new Error(code), { code, doubtful });

test("a tap shows at once", () => {
  const { heart } = make();
  heart.tap();
  assert.equal(heart.shown.isLiked, true);
  assert.equal(heart.shown.likeCount, 5);
});

test("an even number of quick taps sends the first wish and its opposite", async () => {
  const { heart, sent } = make();
  heart.tap();
  heart.tap();
  assert.equal(sent.length, 1);
  sent[0].resolve(at(2, true, 5));
  await turn();
  assert.deepEqual(sent.map(({ liked }) => liked), [true, false]);
  assert.notEqual(sent[0].key, sent[1].key);
  sent[1].resolve(at(3, false, 4));
  await turn();
  assert.equal(heart.settling, false);
  assert.equal(heart.shown.isLiked, false);
});

test("an odd number of quick taps needs one request", async () => {
  const { heart, sent } = make();
  for (let i = 0; i < 5; i += 1) heart.tap();
  sent[0].resolve(at(2, true, 5));
  await turn();
  assert.equal(sent.length, 1);
  assert.equal(heart.settling, false);
  assert.equal(heart.shown.isLiked, true);
});

test("a refusal brings back what was there, also after more taps", async () => {
  const { heart, sent, refusals } = make();
  heart.tap();
  heart.tap();
  heart.tap();
  sent[0].reject(refusal("FORBIDDEN"));
  await turn();
  assert.deepEqual(refusals, [["FORBIDDEN", true]]);
  assert.equal(heart.shown.isLiked, false);
  assert.equal(heart.shown.likeCount, 4);
  assert.equal(heart.settling, false);
});

test("after a failure that leaves doubt, the heart shows what the server has", async () => {
  const { heart, sent, serverHas } = make();
  heart.tap();
  serverHas(at(2, true, 5));
  sent[0].reject(refusal("NETWORK", true));
  await turn();
  assert.equal(heart.shown.isLiked, true);
  assert.equal(heart.shown.likeCount, 5);
});

test("a tap during the second look is sent, too", async () => {
  const { heart, sent } = make();
  heart.tap();
  sent[0].reject(refusal("NETWORK", true));
  await Promise.resolve();
  heart.tap();
  await turn();
  assert.equal(sent.length, 2);
  assert.equal(sent[1].liked, true);
});

test("an answer that is older than what is known is dropped", () => {
  const { heart } = make();
  heart.learn(at(9, false, 7));
  heart.learn(at(8, true, 6));
  assert.equal(heart.shown.likeCount, 7);
  assert.equal(heart.shown.isLiked, false);
});

test("others' likes are taken in while a wish is under way", () => {
  const { heart } = make();
  heart.tap();
  heart.learn(at(5, false, 9));
  assert.equal(heart.shown.isLiked, true);
  assert.equal(heart.shown.likeCount, 10);
});

test("times are compared to the last microsecond, and none is the oldest", () => {
  assert.equal(older("2026-01-01T00:00:00.000001Z", "2026-01-01T00:00:00.000002Z"), true);
  assert.equal(older("2026-01-01T00:00:00.1Z", "2026-01-01T00:00:00.099999Z"), false);
  assert.equal(older("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000001Z"), true);
  assert.equal(older(null, "2026-01-01T00:00:00Z"), true);
  assert.equal(older(null, null), false);
});
