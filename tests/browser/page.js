// The feed page in a reader's words.

import assert from "node:assert/strict";

export const isMutation = (request) =>
  request.method() === "POST" && new URL(request.url()).pathname === "/graphql" && /mutation/.test(request.postData());

export async function openFeed(page, service, viewer) {
  await page.goto(service.origin);
  await cardsShown(page);
  if (viewer) await browseAs(page, viewer);
}

export async function browseAs(page, viewer) {
  await page.getByLabel("Browse as").selectOption(viewer);
  await page.locator("#composer").waitFor();
  await cardsShown(page);
}

export async function cardsShown(page) {
  await page.locator("#posts[aria-busy=false] .card").first().waitFor();
}

/** Writes a post and answers with the card's handle. */
export async function write(page, title, body = "") {
  await page.getByLabel("Title of a new post").fill(title);
  if (body) await page.getByLabel("Text of the new post").fill(body);
  await page.getByRole("button", { name: "Post", exact: true }).click();
  const fresh = page.locator(".card.fresh").first();
  await fresh.getByRole("heading", { name: title, exact: true }).waitFor();
  return card(page, await fresh.getAttribute("data-id"));
}

export function card(page, id) {
  const root = page.locator(`.card[data-id="${id}"]`);
  const heart = root.locator(".heart");
  return {
    id,
    root,
    heart,
    liked: async () => (await heart.getAttribute("aria-pressed")) === "true",
    count: async () => Number((await root.locator(".count").textContent()).replaceAll(",", "")),
    likedBy: () => root.locator(".liked-by").textContent(),
    /** Taps and waits until the server's answer has been taken in. */
    async tapAndSettle() {
      await heart.click();
      await this.settled();
    },
    settled: () => page.locator(`.card[data-id="${id}"]:not(.settling)`).waitFor(),
  };
}

/** A card of somebody's that the viewer has not liked yet. */
export async function unlikedCard(page) {
  const found = page.locator('.card:has(.heart[aria-pressed="false"])').first();
  const id = await found.getAttribute("data-id");
  assert.ok(id, "a card that is not liked yet");
  return card(page, id);
}
