// What other people do shows on the page by itself.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually, launch, visit } from "./browser.js";
import { browseAs, card, openFeed } from "./page.js";
import { ask, demoUsers, startService } from "./service.js";

const like = `mutation($input: LikeInput!) { likeActivity(input: $input) { changed } }`;
const create = `mutation($input: CreateActivityInput!) { createActivity(input: $input) { activity { id } } }`;

describe("likes of others", () => {
  let service, browser, users;

  before(async () => {
    service = await startService();
    browser = await launch();
    users = await demoUsers(service);
  });

  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const story = (name, tell) => test(name, { timeout: 300_000 }, () => visit(browser, service.origin, {}, tell));

  /** A post that nobody likes yet, at the top of the feed. */
  async function post(title) {
    const data = await ask(service, create, { input: { title } }, users[5].token);
    return data.createActivity.activity.id;
  }

  const likeAs = (user, activityId) => ask(service, like, { input: { activityId } }, user.token);

  story("a like by somebody else moves the count without a reload", async (page) => {
    const id = await post("Watched");
    await openFeed(page, service, users[0].name);
    const shown = card(page, id);
    assert.equal(await shown.count(), 0);
    await likeAs(users[1], id);
    await eventually(async () => (await shown.count()) === 1, "the count is 1");
    assert.equal(await shown.liked(), false);
    await eventually(async () => (await shown.likedBy()).includes(users[1].name.split(" ")[0]), "the liker is named");

    // The viewer's own like, from another device.
    await likeAs(users[0], id);
    await eventually(() => shown.liked(), "the heart is red");
    assert.equal(await shown.count(), 2);
  });

  story("visitors without a name see it too, and so does another viewer after a switch", async (page) => {
    const id = await post("Watched by many");
    await openFeed(page, service);
    const shown = card(page, id);
    await likeAs(users[1], id);
    await eventually(async () => (await shown.count()) === 1, "the count is 1");
    await browseAs(page, users[2].name);
    await likeAs(users[3], id);
    await eventually(async () => (await shown.count()) === 2, "the count is 2");
    await likeAs(users[2], id);
    await eventually(() => shown.liked(), "the heart is red");
  });

  story("a lost connection comes back by itself", async (page) => {
    await page.addInitScript(() => {
      window.sockets = [];
      const Native = WebSocket;
      window.WebSocket = class extends Native {
        constructor(...given) {
          super(...given);
          window.sockets.push(this);
        }
      };
    });
    const id = await post("Watched over a shaky line");
    await openFeed(page, service, users[0].name);
    const shown = card(page, id);
    await likeAs(users[1], id);
    await eventually(async () => (await shown.count()) === 1, "the count is 1");
    await page.evaluate(() => window.sockets.at(-1).close());
    await likeAs(users[2], id);
    await eventually(async () => (await shown.count()) === 2, "the count is 2");
  });
});
