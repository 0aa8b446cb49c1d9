// Debian's Chromium, watched: a page must not ask anybody but its own server, nor complain.

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: [
      "--no-sandbox", // its sandbox refuses root, and only our own pages are loaded
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/**
 * Runs `story(page, seen)` in a fresh profile and then checks that nothing improper happened. Violations of the
 * content security policy are console errors, too. `seen.forgive(pattern)` expects errors that the story itself provokes.
 */
export async function visit(browser, origin, options, story) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 850 }, ...options });
  const problems = [];
  const forgiven = [];
  const strangers = [];
  try {
    await context.route(
      (url) => url.origin !== origin,
      (route) => {
        strangers.push(route.request().url());
        return route.abort();
      },
    );
    const page = await context.newPage();
    // A machine that has much else to do is slow; nothing here is measured.
    page.setDefaultTimeout(45_000);
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(`${message.text()} (${message.location().url})`);
    });
    page.on("pageerror", (error) => problems.push(error.stack));
    await story(page, { forgive: (pattern) => forgiven.push(pattern) });
  } finally {
    await context.close();
  }
  assert.deepEqual(strangers, [], "requests that leave the machine");
  const unforgiven = problems.filter((problem) => !forgiven.some((pattern) => pattern.test(problem)));
  assert.deepEqual(unforgiven, [], "errors on the page");
}

/** Keeps a picture for people to look at, if they asked for it. */
export async function picture(page, name) {
  const folder = process.env.SCREENSHOTS;
  if (!folder) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
}

/** Waits until `look()` is true; what a page shows may take a moment. */
export async function eventually(look, what) {
  const deadline = Date.now() + 45_000;
  while (!(await look())) {
    if (Date.now() > deadline) assert.fail(`never came true: ${what}`);
    await new Promise((done) => setTimeout(done, 25));
  }
}
