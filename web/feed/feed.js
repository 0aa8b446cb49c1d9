// The demo feed. It knows nothing that any other front end could not know: GraphQL over HTTP and a
// bearer token. Only the list of demo users comes from a development server's own address.
//
// feed.js     who looks, in which order, and the form for new posts
// posts.js    the endless list
// card.js     one post
// heart.js    the optimistic heart
// live.js     others' likes as they happen
// api.js      the GraphQL API
// words.js    sentences, numbers and times

import { Api } from "./api.js";
import { paintAvatar } from "./card.js";
import { Live } from "./live.js";
import { say, sayFailure } from "./messages.js";
import { Posts } from "./posts.js";

const chooser = document.getElementById("viewer");
const order = document.getElementById("order");
const composer = document.getElementById("composer");
const invitation = document.getElementById("invitation");
const confirmation = document.getElementById("confirm");
const postButton = composer.querySelector("button");

const tokens = new Map();
let session = null;
let posts = null;

/** What is remembered between visits. A browser that forbids storage just forgets. */
const memory = {
  get: (key) => {
    try {
      return localStorage.getItem(`likewise.${key}`);
    } catch {
      return null;
    }
  },
  set: (key, value) => {
    try {
      localStorage.setItem(`likewise.${key}`, value);
    } catch {
      // Forgotten, then.
    }
  },
};

const actions = {
  tapAnonymously: () => say("Choose a demo user to like posts.", tokens.size ? ["Choose", choose] : undefined),
  refused: (error, liked) => sayFailure(liked ? "Your like was not saved." : "Your like is still there.", error),
  remove: async (card) => {
    if (!(await confirmed())) return;
    card.element.classList.add("leaving");
    try {
      await session.api.remove(card.id);
      posts?.remove(card.id);
      say("Deleted.");
    } catch (error) {
      card.element.classList.remove("leaving");
      sayFailure("The post was not deleted.", error);
    }
  },
};

await start();

async function start() {
  const remembered = memory.get("order");
  for (const radio of order.querySelectorAll("input")) radio.checked = radio.value === (remembered ?? "NEWEST");
  await loadUsers();
  chooser.value = tokens.has(memory.get("viewer")) ? memory.get("viewer") : "";
  browse();

  chooser.addEventListener("change", () => {
    memory.set("viewer", chooser.value);
    browse();
  });
  order.addEventListener("change", () => {
    memory.set("order", chosenOrder());
    list();
  });
  invitation.querySelector("button").addEventListener("click", choose);
  composer.addEventListener("submit", post);
  composer.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) composer.requestSubmit();
  });
  document.addEventListener("visibilitychange", catchUp);
  addEventListener("focus", catchUp);
  setInterval(() => posts?.paintTimes(), 30_000);
}

async function loadUsers() {
  try {
    const response = await fetch("/dev/users", { headers: { accept: "application/json" } });
    if (!response.ok) return;
    for (const { name, token } of await response.json()) {
      tokens.set(name, token);
      chooser.append(new Option(name, name));
    }
  } catch {
    // No development server, no demo users: the feed is there for anonymous eyes.
  }
}

/** Looks through the eyes of whoever is chosen now. */
async function browse() {
  session?.ended.abort();
  posts?.close();
  posts = null;
  const ended = new AbortController();
  const token = tokens.get(chooser.value);
  const live = new Live(token, (fields) => posts?.learn(fields), ended.signal);
  const mine = { api: new Api(token, ended.signal), live, viewer: null, ended };
  session = mine;
  paintAvatar(document.getElementById("viewer-avatar"), chooser.value ? { name: chooser.value } : null);
  if (chooser.value) {
    try {
      mine.viewer = await mine.api.viewer();
    } catch (error) {
      if (ended.signal.aborted) return;
      sayFailure(`You are not signed in as ${chooser.value}.`, error);
    }
    // Somebody else was chosen while the server was thinking.
    if (session !== mine) return;
  }
  composer.hidden = !mine.viewer;
  invitation.hidden = Boolean(mine.viewer) || tokens.size === 0;
  list();
}

function list() {
  posts?.close();
  posts = new Posts(session, chosenOrder(), actions);
}

function chosenOrder() {
  return order.querySelector("input:checked").value;
}

function choose() {
  chooser.focus();
  try {
    chooser.showPicker();
  } catch {
    // Older browsers open it at the next key.
  }
}

async function post(event) {
  event.preventDefault();
  const { title, body } = composer.elements;
  if (!title.value.trim()) return title.focus();
  const mine = session;
  postButton.disabled = true;
  try {
    const activity = await mine.api.create(title.value.trim(), body.value.trim());
    composer.reset();
    if (session === mine) {
      posts?.addFirst(activity);
      document.activeElement?.blur();
    }
  } catch (error) {
    sayFailure(error.doubtful ? "It is not certain that this was posted." : "This was not posted.", error);
  } finally {
    postButton.disabled = false;
  }
}

function confirmed() {
  confirmation.returnValue = "keep";
  confirmation.showModal();
  return new Promise((resolve) => {
    confirmation.addEventListener("close", () => resolve(confirmation.returnValue === "delete"), { once: true });
  });
}

let caughtUp = performance.now();

/** Back from another window, where the same posts may have been liked. */
function catchUp() {
  if (document.hidden || performance.now() - caughtUp < 2000) return;
  caughtUp = performance.now();
  posts?.refresh().catch(() => {
    // A glance that failed is no news; the next tap or page will tell.
  });
}
