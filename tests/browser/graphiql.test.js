import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { launch, picture, visit } from "./browser.js";
import { demoUsers, startService } from "./service.js";

describe("GraphiQL", () => {
  let service, browser;

  before(async () => {
    service = await startService();
    browser = await launch();
  });

  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const story = (name, tell, options = {}) =>
    test(name, { timeout: 300_000 }, () => visit(browser, service.origin, options, tell));

  async function open(page) {
    await page.goto(`${service.origin}/graphql`);
    await page.locator(".graphiql-query-editor .CodeMirror").waitFor();
  }

  /** Runs what the open tab holds. */
  async function run(page) {
    const answered = page.waitForResponse((response) => !/IntrospectionQuery/.test(response.request().postData() ?? ""));
    await page.getByRole("button", { name: /^Execute query/ }).click();
    const response = await answered;
    return { sent: response.request(), answer: await response.json() };
  }

  story("shows the schema, runs its first query and shows the data", async (page) => {
    await open(page);
    const { answer } = await run(page);
    assert.equal(answer.errors, undefined);
    const [first] = answer.data.activities.nodes;
    await page.locator(".result-window").getByText(first.title, { exact: false }).first().waitFor();

    await page.getByRole("button", { name: "Show Documentation Explorer" }).click();
    await page.locator(".graphiql-doc-explorer").getByText("Mutation", { exact: true }).first().waitFor();
    await picture(page, "graphiql");
  });

  story("asks as the chosen demo user, in every tab", async (page) => {
    const users = await demoUsers(service);
    await open(page);
    await page.getByLabel("Ask as").selectOption(users[0].name);
    const { answer } = await run(page);
    assert.equal(answer.data.viewer.name, users[0].name);

    await page.getByLabel("Ask as").selectOption(users[1].name);
    await page.getByRole("tab", { name: "Toggle" }).click();
    await page.locator(".graphiql-editor-tool").getByText("Authorization").waitFor();
    const { sent, answer: toggled } = await run(page);
    assert.equal(sent.headers().authorization, `Bearer ${users[1].token}`);
    assert.equal(toggled.data.toggleLike.changed, true);
    await picture(page, "graphiql-dark");
  }, { colorScheme: "dark" });
});
