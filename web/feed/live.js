// Others' likes as they happen: a client of graphql-transport-ws, as small as the feed needs it.
//
// The page works without it, so nothing here is ever reported: what does not come by this way comes with the next
// tap, page or glance. What comes are states, of which the hearts keep the newest.

import { likeFields } from "./api.js";

const query = `subscription Live($ids: [ID!]!) { likesChanged(activityIds: $ids) { activity { id ${likeFields} } } }`;

// While somebody scrolls, what is in sight changes faster than it is worth asking for.
const settle = 250;
// The API watches at most this many at once.
const most = 100;
const firstPause = 500;
const longestPause = 30_000;

export class Live {
  #token;
  #learn;
  #signal;
  #socket = null;
  #ready = false;
  #wanted = [];
  #watching = "";
  #operation = 0;
  #pause = firstPause;
  #settling = 0;
  #waiting = 0;

  /** `learn(fields)` is told the like fields of one activity; `signal` ends it. */
  constructor(token, learn, signal) {
    this.#token = token;
    this.#learn = learn;
    this.#signal = signal;
    document.addEventListener("visibilitychange", () => this.#update(), { signal });
    signal.addEventListener("abort", () => this.#close(), { once: true });
  }

  /** Watches these activities and no others. */
  watch(ids) {
    this.#wanted = ids.slice(0, most).sort();
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#update(), settle);
  }

  #update() {
    if (this.#signal.aborted) return;
    // A page that nobody sees catches up when it is seen again.
    if (document.hidden || this.#wanted.length === 0) return this.#close();
    if (this.#ready) this.#subscribe();
    else if (!this.#socket && !this.#waiting) this.#connect();
  }

  #connect() {
    const url = new URL("/graphql", location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url, "graphql-transport-ws");
    this.#socket = socket;
    socket.addEventListener("open", () => {
      const payload = this.#token ? { Authorization: `Bearer ${this.#token}` } : {};
      socket.send(JSON.stringify({ type: "connection_init", payload }));
    });
    socket.addEventListener("message", ({ data }) => {
      if (socket === this.#socket) this.#hear(JSON.parse(data));
    });
    socket.addEventListener("close", () => {
      if (socket !== this.#socket) return;
      this.#close();
      this.#waiting = setTimeout(
        () => {
          this.#waiting = 0;
          this.#update();
        },
        // Half of it is chance, so that not all pages come back in the same moment.
        this.#pause * (0.5 + Math.random() / 2),
      );
      this.#pause = Math.min(this.#pause * 2, longestPause);
    });
  }

  #hear(message) {
    if (message.type === "connection_ack") {
      this.#ready = true;
      this.#subscribe();
    } else if (message.type === "ping") {
      this.#socket.send(JSON.stringify({ type: "pong" }));
    } else if (message.type === "next" && message.payload.data) {
      this.#pause = firstPause;
      this.#learn(message.payload.data.likesChanged.activity);
    }
  }

  /** The new list is asked for before the old one is given up, so that nothing falls between them. */
  #subscribe() {
    const watching = this.#wanted.join(" ");
    if (watching === this.#watching) return;
    const old = this.#operation;
    this.#operation += 1;
    const payload = { query, variables: { ids: this.#wanted } };
    this.#socket.send(JSON.stringify({ type: "subscribe", id: String(this.#operation), payload }));
    if (this.#watching) this.#socket.send(JSON.stringify({ type: "complete", id: String(old) }));
    this.#watching = watching;
  }

  #close() {
    const socket = this.#socket;
    this.#socket = null;
    this.#ready = false;
    this.#watching = "";
    clearTimeout(this.#waiting);
    this.#waiting = 0;
    socket?.close();
  }
}
