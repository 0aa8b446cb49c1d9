import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually, launch, picture, visit } from "./browser.js";
import { browseAs, card, cardsShown, isMutation, openFeed, unlikedCard, write } from "./page.js";
import { ask, demoUsers, startService } from "./service.js";

describe("the feed page", () => {
  let service, browser, users, viewer;

  before(async () => {
    service = await startService();
    browser = await launch();
    users = await demoUsers(service);
    viewer = users[0].name;
  });

  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const story = (name, tell, options = {}) =>
    test(name, { timeout: 300_000 }, () => visit(browser, service.origin, options, tell));

  for (const [where, options] of [
    ["desktop", {}],
    ["phone", { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }],
    ["dark", { colorScheme: "dark" }],
  ]) {
    story(`the page fits its screen (${where})`, async (page) => {
      await openFeed(page, service, viewer);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `${overflow} pixels too wide`);
      await picture(page, `feed-${where}`);
    }, options);
  }

  story("a heart that was clicked is still red after a reload", async (page) => {
    await openFeed(page, service, viewer);
    const post = await unlikedCard(page);
    const before = await post.count();

    await post.tapAndSettle();
    assert.equal(await post.liked(), true);
    assert.equal(await post.count(), before + 1);
    assert.match(await post.likedBy(), /\byou\b/);
    await picture(page, "feed-liked");

    await page.reload();
    await cardsShown(page);
    assert.equal(await post.liked(), true);
    assert.equal(await post.count(), before + 1);
  });

  story("the last like, once taken back, stays gone from the very next request on", async (page) => {
    await openFeed(page, service, viewer);
    const post = await write(page, "The last like");
    await post.tapAndSettle();
    assert.equal(await post.likedBy(), "Liked by you");

    await post.tapAndSettle();
    await page.reload();
    await cardsShown(page);
    assert.equal(await post.count(), 0);
    assert.equal(await post.liked(), false);
    assert.equal(await post.likedBy(), "No likes yet");

    // Again when the worker has carried it to the database.
    await sleep(2000);
    await page.reload();
    await cardsShown(page);
    assert.equal(await post.count(), 0);
    assert.equal(await post.liked(), false);
  });

  story("the heart turns red before the server has answered", async (page) => {
    await openFeed(page, service, viewer);
    const post = await unlikedCard(page);
    const before = await post.count();
    let answer;
    const held = new Promise((release) => (answer = release));
    await page.route("**/graphql", async (route) => {
      if (isMutation(route.request())) await held;
      await route.continue();
    });

    await post.heart.click();
    assert.equal(await post.liked(), true);
    assert.equal(await post.count(), before + 1);
    assert.match(await post.root.getAttribute("class"), /settling/);

    answer();
    await post.settled();
    assert.equal(await post.liked(), true);
    assert.equal(await post.count(), before + 1);
  });

  story("a refused like is taken back, and the page says so", async (page) => {
    await openFeed(page, service, viewer);
    const post = await unlikedCard(page);
    const before = await post.count();
    await page.route("**/graphql", async (route) => {
      if (!isMutation(route.request())) return route.continue();
      await sleep(300);
      await route.fulfill({ json: { data: null, errors: [{ message: "Slow down.", extensions: { code: "RATE_LIMITED" } }] } });
    });

    await post.heart.click();
    assert.equal(await post.liked(), true);
    await page.getByText("Your like was not saved. That was a bit fast. Try again in a moment.").waitFor();
    assert.equal(await post.liked(), false);
    assert.equal(await post.count(), before);
    await picture(page, "feed-refused");
  });

  story("a like whose answer got lost is asked again with the same key and counts once", async (page, seen) => {
    seen.forgive(/Failed to load resource/);
    await openFeed(page, service, viewer);
    const post = await unlikedCard(page);
    const before = await post.count();
    const keys = [];
    await page.route("**/graphql", async (route) => {
      if (!isMutation(route.request())) return route.continue();
      keys.push(route.request().postDataJSON().variables.input.idempotencyKey);
      if (keys.length > 1) return route.continue();
      await route.fetch();
      return route.abort("connectionreset");
    });

    await post.tapAndSettle();
    assert.equal(keys.length, 2);
    assert.equal(keys[0], keys[1]);
    assert.equal(await post.liked(), true);
    assert.equal(await post.count(), before + 1);
  });

  story("a service that is unavailable for a moment is asked again", async (page, seen) => {
    seen.forgive(/Failed to load resource/);
    await openFeed(page, service, viewer);
    const post = await unlikedCard(page);
    let asked = 0;
    await page.route("**/graphql", async (route) => {
      asked += isMutation(route.request());
      if (!isMutation(route.request()) || asked > 2) return route.continue();
      const extensions = { code: "UNAVAILABLE", outcome: "not_applied" };
      return route.fulfill({ status: 503, json: { errors: [{ message: "Back soon.", extensions }] } });
    });

    await post.tapAndSettle();
    assert.equal(asked, 3);
    assert.equal(await post.liked(), true);
    assert.equal(await page.locator(".message").count(), 0);
  });

  story("quick taps settle to the last wish, one request at a time", async (page) => {
    await openFeed(page, service, viewer);
    const post = await unlikedCard(page);
    const before = await post.count();
    let open = 0;
    let most = 0;
    await page.route("**/graphql", async (route) => {
      most = Math.max(most, (open += 1));
      await sleep(100);
      await route.continue();
      open -= 1;
    });

    for (let tap = 0; tap < 7; tap += 1) await post.heart.click({ delay: 10 });
    assert.equal(await post.liked(), true);
    await post.settled();
    assert.equal(most, 1);
    assert.equal(await post.liked(), true);

    await page.reload();
    await cardsShown(page);
    assert.equal(await post.liked(), true);
    assert.equal(await post.count(), before + 1);
  });

  story("the heart works from the keyboard", async (page) => {
    await openFeed(page, service, viewer);
    const post = await unlikedCard(page);
    await post.heart.focus();
    await page.keyboard.press("Space");
    await post.settled();
    assert.equal(await post.liked(), true);
    await page.keyboard.press("Enter");
    await post.settled();
    assert.equal(await post.liked(), false);
  });

  story("an anonymous visitor sees counts but is asked to choose a user", async (page) => {
    const { activities } = await ask(service, "{ activities(first: 1) { nodes { id likeCount } } }");
    const [newest] = activities.nodes;
    let mutations = 0;
    page.on("request", (request) => (mutations += isMutation(request)));
    await openFeed(page, service);
    const post = card(page, newest.id);
    assert.equal(await post.count(), newest.likeCount);

    await post.heart.click();
    await page.getByText("Choose a demo user to like posts.").waitFor();
    assert.equal(await post.liked(), false);
    assert.equal(await post.count(), newest.likeCount);
    assert.equal(mutations, 0);
    assert.equal(await page.locator("#composer").isVisible(), false);
    await picture(page, "feed-anonymous");
  });

  story("the chosen user and order are remembered, and each user sees their own hearts", async (page) => {
    await openFeed(page, service, viewer);
    const post = await write(page, "Seen by two");
    await post.tapAndSettle();

    await browseAs(page, users[1].name);
    assert.equal(await post.liked(), false);
    assert.equal(await post.count(), 1);
    assert.match(await post.likedBy(), /^Liked by (?!you)/);
    await page.getByLabel("Most liked").check();
    await cardsShown(page);

    await page.reload();
    await cardsShown(page);
    assert.equal(await page.getByLabel("Browse as").inputValue(), users[1].name);
    assert.equal(await page.getByLabel("Most liked").isChecked(), true);
    await picture(page, "feed-most-liked");
  });

  story("the most liked come first under Most liked", async (page) => {
    await openFeed(page, service);
    await page.getByLabel("Most liked").check();
    await cardsShown(page);
    // Likes of a moment ago may still be on their way into the order.
    await eventually(async () => {
      await page.reload();
      await cardsShown(page);
      const shown = await page.locator(".card").evaluateAll((cards) => cards.map((element) => element.dataset.id));
      const { activities } = await ask(service, "{ activities(first: 20, orderBy: MOST_LIKED) { nodes { id } } }");
      return activities.nodes.every(({ id }, place) => shown[place] === id);
    }, "the order of the page is that of the API");
  });

  story("a post is shown as it was written and can be deleted by its author", async (page) => {
    await openFeed(page, service, viewer);
    const title = `<img src="nowhere" onerror="alert(1)"> & <b>bold</b>`;
    const post = await write(page, title, "First line.\nSecond line.");
    assert.equal(await post.root.locator("h2").textContent(), title);
    assert.equal(await post.root.locator("h2 *").count(), 0);

    await post.root.locator(".delete").click();
    await page.getByRole("button", { name: "Keep it" }).click();
    assert.equal(await post.root.count(), 1);
    await post.root.locator(".delete").click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await post.root.waitFor({ state: "detached" });
    await page.reload();
    await cardsShown(page);
    assert.equal(await post.root.count(), 0);
  });

  story("only the author can delete a post", async (page) => {
    await openFeed(page, service, viewer);
    const post = await write(page, "Not yours");
    assert.equal(await post.root.locator(".delete").count(), 1);
    await browseAs(page, users[1].name);
    assert.equal(await post.root.locator(".delete").count(), 0);
  });

  story("endless scrolling shows each card once while likes and new posts come in", async (page) => {
    const writer = users[1].token;
    const create = "mutation ($input: CreateActivityInput!) { createActivity(input: $input) { activity { id } } }";
    const toggle = "mutation ($input: LikeInput!) { toggleLike(input: $input) { liked } }";
    // Three pages at least, whatever the demo data holds.
    for (let i = 0; i < 45; i += 1) await ask(service, create, { input: { title: `Filler ${i + 1}` } }, writer);

    for (const order of ["Newest", "Most liked"]) {
      const there = await allIds(service);
      await openFeed(page, service);
      await page.getByLabel(order).check();
      await cardsShown(page);
      let busy = true;
      const others = (async () => {
        for (let i = 0; busy; i += 1) {
          const activityId = there[(i * 7) % there.length];
          await ask(service, toggle, { input: { activityId } }, users[i % users.length].token);
          if (i % 5 === 0) await ask(service, create, { input: { title: `Meanwhile ${i}` } }, writer);
          await sleep(10);
        }
      })();

      const enough = Math.min(there.length, 400);
      await eventually(async () => {
        await page.mouse.wheel(0, 4000);
        const shown = await page.locator(".card").count();
        return shown >= enough || (await page.locator("#end").isVisible());
      }, `${enough} cards under ${order}`);
      busy = false;
      await others;

      const shown = await page.locator(".card").evaluateAll((cards) => cards.map((element) => element.dataset.id));
      assert.equal(new Set(shown).size, shown.length, `each card once under ${order}`);
      // New posts stand before the first page, so under Newest nothing that was there may be skipped.
      if (order === "Newest") assert.deepEqual(shown.slice(0, enough), there.slice(0, enough));
    }
  });

  story("a feed that cannot be read says so and tries again when asked", async (page, seen) => {
    seen.forgive(/Failed to load resource/);
    let broken = true;
    await page.route("**/graphql", (route) => (broken ? route.abort("connectionrefused") : route.continue()));
    await page.goto(service.origin);
    await page.getByText("The feed cannot be reached right now.").waitFor();
    await picture(page, "feed-unreachable");
    broken = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await cardsShown(page);
  });
});

async function allIds(service) {
  const query = "query ($after: String) { activities(first: 100, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }";
  const ids = [];
  let after = null;
  do {
    const { activities } = await ask(service, query, { after });
    ids.push(...activities.nodes.map((activity) => activity.id));
    after = activities.pageInfo.hasNextPage ? activities.pageInfo.endCursor : null;
  } while (after && ids.length < 400);
  return ids;
}
