// The list of cards: endless, in one order, as one viewer sees it. A new order or viewer is a new list.

import { makeCard } from "./card.js";

const section = document.getElementById("posts");
const waiting = document.getElementById("waiting");
const empty = document.getElementById("empty");
const failure = document.getElementById("failure");
const end = document.getElementById("end");
const horizon = document.getElementById("horizon");

// The API answers for at most this many ids at once.
const batch = 100;

export class Posts {
  #session;
  #order;
  #actions;
  #cards = new Map();
  #cursor = null;
  #more = true;
  #loading = false;
  #near = false;
  #failed = false;
  #closed = new AbortController();
  #observer;
  #sight;
  #inSight = new Set();

  constructor(session, order, actions) {
    this.#session = session;
    this.#order = order;
    this.#actions = actions;
    // Two screens ahead, so that scrolling at leisure never meets the end of the list.
    this.#observer = new IntersectionObserver(
      (entries) => {
        this.#near = entries.at(-1).isIntersecting;
        if (this.#near && !this.#failed) this.#load();
      },
      { rootMargin: "0px 0px 200% 0px" },
    );
    this.#observer.observe(horizon);
    // Half a screen more than can be seen, so that what comes into sight is fresh already.
    this.#sight = new IntersectionObserver((entries) => this.#look(entries), { rootMargin: "50% 0px" });
    failure.querySelector("button").addEventListener("click", () => this.#load(), { signal: this.#closed.signal });
    this.#paintState();
  }

  /** Takes everything off the page, so that nothing is tapped for a viewer who has left. */
  close() {
    this.#closed.abort();
    this.#observer.disconnect();
    this.#sight.disconnect();
    this.#cards.clear();
    section.replaceChildren();
    this.#more = true;
    this.#loading = true;
    this.#failed = false;
    this.#paintState();
  }

  addFirst(activity) {
    const card = this.#add(activity, "prepend");
    card?.element.classList.add("fresh");
    this.#paintState();
    return card;
  }

  remove(id) {
    const element = this.#cards.get(id)?.element;
    if (element) this.#sight.unobserve(element);
    element?.remove();
    this.#cards.delete(id);
    if (this.#inSight.delete(id)) this.#session.live.watch([...this.#inSight]);
    this.#paintState();
  }

  /** Takes in the like fields of one activity, if it is shown. */
  learn(fields) {
    this.#cards.get(fields.id)?.heart.learn(fields);
  }

  /** Asks for the likes of everything shown, for a page that was out of sight for a while. */
  async refresh() {
    const ids = [...this.#cards.keys()];
    for (let from = 0; from < ids.length; from += batch) {
      const answers = await this.#session.api.likes(ids.slice(from, from + batch));
      for (const answer of answers) this.learn(answer);
    }
  }

  paintTimes() {
    for (const card of this.#cards.values()) card.paintTime();
  }

  async #load() {
    if (this.#loading || !this.#more) return;
    this.#loading = true;
    this.#failed = false;
    this.#paintState();
    const { signal } = this.#closed;
    try {
      do {
        const page = await this.#session.api.page(this.#order, this.#cursor, signal);
        signal.throwIfAborted();
        for (const activity of page.nodes) this.#add(activity, "append");
        this.#cursor = page.pageInfo.endCursor;
        this.#more = page.pageInfo.hasNextPage;
        this.#paintState();
        await nextFrame();
        // The observer tells only of changes, so a page too short to fill the screen is looked at here.
        this.#near = horizon.getBoundingClientRect().top < 3 * innerHeight;
      } while (this.#more && this.#near && !signal.aborted);
    } catch (error) {
      if (signal.aborted) return;
      console.warn("The feed could not be read:", error.code ?? error.name, error.message);
      this.#failed = true;
    }
    this.#loading = false;
    if (!signal.aborted) this.#paintState();
  }

  /**
   * Each activity is shown once. Under "Most liked" one that lost likes comes by again on a later
   * page; then only its like fields are news.
   */
  #add(activity, where) {
    const known = this.#cards.get(activity.id);
    if (known) {
      known.heart.learn(activity);
      return null;
    }
    const card = makeCard(activity, this.#session, this.#actions);
    this.#cards.set(activity.id, card);
    section[where](card.element);
    this.#sight.observe(card.element);
    return card;
  }

  #look(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.#inSight.add(target.dataset.id);
      else this.#inSight.delete(target.dataset.id);
    }
    this.#session.live.watch([...this.#inSight]);
  }

  #paintState() {
    const any = this.#cards.size > 0;
    section.setAttribute("aria-busy", this.#loading);
    waiting.hidden = !this.#more || this.#failed;
    failure.hidden = !this.#failed;
    empty.hidden = any || this.#more || this.#failed;
    end.hidden = !any || this.#more;
  }
}

function nextFrame() {
  // A hidden page gets no frames, but is not to stop in the middle either.
  return new Promise((resolve) => (document.hidden ? setTimeout(resolve) : requestAnimationFrame(resolve)));
}
