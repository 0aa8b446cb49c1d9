// GraphiQL from the bundles beside this file's folder; nothing comes from the internet.
// On a development server a choice of demo users fills in the Authorization header.

/* global React, ReactDOM, GraphiQL */

import { feed, like, likers } from "./examples.js";

const h = React.createElement;
const fetcher = GraphiQL.createFetcher({ url: "/graphql" });

const [users, activityId] = await Promise.all([demoUsers(), someActivity()]);
const demoTokens = new Set(users.map(({ token }) => `Bearer ${token}`));
const variables = JSON.stringify({ activityId }, null, 2);
const examples = [{ query: feed }, { query: like, variables }, { query: likers, variables }];

const root = document.getElementById("graphiql");
root.replaceChildren();
ReactDOM.createRoot(root).render(h(Page));

function Page() {
  const [viewer, setViewer] = React.useState(remembered);
  const [tab, setTab] = React.useState(null);
  // Every tab has headers of its own, so the chosen viewer follows from tab to tab.
  React.useEffect(() => {
    let current = true;
    headerEditor().then((editor) => current && fillIn(editor, viewer));
    return () => (current = false);
  }, [viewer, tab]);
  function choose(event) {
    remember(event.target.value);
    setViewer(event.target.value);
  }
  return h(
    GraphiQL,
    {
      fetcher,
      defaultTabs: examples,
      defaultEditorToolsVisibility: "headers",
      onTabChange: ({ tabs, activeTabIndex }) => setTab(tabs[activeTabIndex].id),
    },
    h(GraphiQL.Logo, null, users.length > 0 && h(Chooser, { viewer, choose })),
  );
}

function Chooser({ viewer, choose }) {
  return h(
    "div",
    { className: "viewer" },
    h("label", { htmlFor: "viewer", className: "unseen" }, "Ask as"),
    h(
      "select",
      { id: "viewer", value: viewer, onChange: choose, title: "Fills in the Authorization header" },
      h("option", { value: "" }, "Anonymous"),
      users.map(({ name }) => h("option", { key: name, value: name }, name)),
    ),
    h("a", { href: "/" }, "Feed"),
  );
}

/** Writes the viewer's token into the headers. Other headers stay, and so does a token typed by hand. */
function fillIn(editor, viewer) {
  if (!editor || users.length === 0) return;
  const before = editor.getValue();
  let headers;
  try {
    headers = JSON.parse(before || "{}");
  } catch {
    return;
  }
  if (headers.Authorization && !demoTokens.has(headers.Authorization)) return;
  delete headers.Authorization;
  const user = users.find(({ name }) => name === viewer);
  if (user) headers = { Authorization: `Bearer ${user.token}`, ...headers };
  const after = Object.keys(headers).length ? JSON.stringify(headers, null, 2) : "";
  if (after !== before) editor.setValue(after);
}

/** The second of the two small editors, variables and headers. GraphiQL makes them some moments after it is shown. */
async function headerEditor() {
  for (let tried = 0; tried < 100; tried += 1) {
    const [, headers] = document.querySelectorAll(".graphiql-editor-tool .CodeMirror");
    if (headers) return headers.CodeMirror;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return null;
}

async function demoUsers() {
  try {
    const response = await fetch("/dev/users", { headers: { accept: "application/json" } });
    return response.ok ? await response.json() : [];
  } catch {
    return [];
  }
}

/** An id that exists, so that the examples run as they are. */
async function someActivity() {
  try {
    const response = await fetch("/graphql", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ query: "query Example { activities(first: 1) { nodes { id } } }" }),
    });
    return (await response.json()).data.activities.nodes[0].id;
  } catch {
    return "an id from the feed";
  }
}

/** The feed page remembers its viewer under the same key. */
function remembered() {
  try {
    const name = localStorage.getItem("likewise.viewer");
    return users.some((user) => user.name === name) ? name : "";
  } catch {
    return "";
  }
}

function remember(name) {
  try {
    localStorage.setItem("likewise.viewer", name);
  } catch {
    // A browser that forbids storage just forgets.
  }
}
