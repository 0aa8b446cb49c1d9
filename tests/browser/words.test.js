import assert from "node:assert/strict";
import { test } from "node:test";
import { hue, initials, likedBy, number, ordinal, shortNames, since } from "../../web/feed/words.js";

test("who liked it is said in proper English", () => {
  const cases = [
    [0, false, [], "No likes yet"],
    [1, true, [], "Liked by you"],
    [1, false, ["Ada"], "Liked by Ada"],
    [2, false, ["Ada", "Grace"], "Liked by Ada and Grace"],
    [2, true, ["Ada"], "Liked by you and Ada"],
    [3, false, ["Ada", "Grace", "Alan"], "Liked by Ada, Grace and Alan"],
    [3, true, ["Ada", "Grace"], "Liked by you, Ada and Grace"],
    [3, false, ["Ada", "Grace"], "Liked by Ada, Grace and 1 other"],
    [4, false, ["Ada", "Grace", "Alan"], "Liked by Ada, Grace and 2 others"],
    [42, false, ["Ada", "Grace", "Alan"], "Liked by Ada, Grace and 40 others"],
    [42, true, ["Ada", "Grace", "Alan"], "Liked by you, Ada and 40 others"],
    [1234, true, [], "Liked by you and 1,233 others"],
  ];
  for (const [count, you, names, sentence] of cases) assert.equal(likedBy(count, you, names), sentence);
});

test("likes of accounts that are gone are still counted", () => {
  assert.equal(likedBy(1, false, []), "Liked by 1 person");
  assert.equal(likedBy(7, false, []), "Liked by 7 people");
});

test("an unlike that is not answered yet leaves nobody too many", () => {
  assert.equal(likedBy(1, false, ["Ada", "Grace"]), "Liked by Ada");
  assert.equal(likedBy(0, false, ["Ada"]), "No likes yet");
});

test("first names do unless two are the same", () => {
  assert.deepEqual(shortNames(["Ada Lovelace", "Grace Hopper"]), ["Ada", "Grace"]);
  assert.deepEqual(shortNames(["Ada Lovelace", "Ada Yonath", "Plato"]), ["Ada Lovelace", "Ada Yonath", "Plato"]);
  assert.deepEqual(shortNames(["Ada Yonath", "Plato"], "Ada Lovelace"), ["Ada Yonath", "Plato"]);
});

test("a face without a picture has initials and a colour", () => {
  assert.equal(initials("Ada Lovelace"), "AL");
  assert.equal(initials("  émile  "), "É");
  assert.equal(initials("Johann Sebastian Bach"), "JB");
  assert.equal(initials(""), "?");
  assert.equal(hue("Ada Lovelace"), hue("Ada Lovelace"));
  assert.ok(hue("🎉") >= 0 && hue("🎉") < 8);
});

test("numbers are exact as long as somebody could count them", () => {
  assert.deepEqual([0, 999, 9999, 12_345, 1_200_000].map(number), ["0", "999", "9,999", "12.3K", "1.2M"]);
  assert.deepEqual([1, 2, 3, 4, 11, 22, 113].map(ordinal), ["1st", "2nd", "3rd", "4th", "11th", "22nd", "113th"]);
});

test("times are told as people tell them", () => {
  const now = new Date("2026-03-15T12:00:00Z");
  const before = (seconds) => since(new Date(now - seconds * 1000), now);
  assert.equal(before(-5), "just now");
  assert.equal(before(10), "just now");
  assert.equal(before(60), "1 minute ago");
  assert.equal(before(59.9 * 60), "1 hour ago");
  assert.equal(before(3 * 3600), "3 hours ago");
  assert.equal(before(26 * 3600), "yesterday");
  assert.equal(before(6 * 86_400), "6 days ago");
  assert.equal(before(30 * 86_400), "February 13");
  assert.equal(before(400 * 86_400), "February 8, 2025");
});
