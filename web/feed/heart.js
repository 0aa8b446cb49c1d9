// One activity's heart, from the tap to the settled answer. No DOM, so that tests can drive it.
//
// The heart shows the viewer's last wish at once and the server's truth once it is known. Three
// rules make that safe:
//
// - It sends `likeActivity` or `unlikeActivity`, not `toggleLike`. A tap means "make it what the
//   heart now shows"; a toggle means "the other of whatever you have", and what the server has may
//   differ, because the same user tapped in another window. Setting settles to the last wish.
// - One request at a time. While one is under way, further taps only change the wish. A request
//   whose answer got lost is asked again with its own key until it is answered, even if the wish
//   has changed by then: with the answer its key is spent, so a straggler of it that is still on
//   the way cannot undo what is sent next.
// - Of two answers the one with the newer `likesChangedAt` is kept, in whatever order they arrive.

export class Heart {
  #known;
  #wish = null;
  #busy = false;
  #ways;

  /**
   * `ways.send(liked, key)` answers with the like fields after the change; `ways.reread()` with those
   * of now; `ways.changed()` is told when `shown` may differ; `ways.refused(error, liked)` when a wish failed.
   */
  constructor(fields, ways) {
    this.#known = fields;
    this.#ways = ways;
  }

  /** The like fields to show: what is known, as if the wish had already come true. */
  get shown() {
    const known = this.#known;
    if (!this.#wish || this.#wish.liked === known.isLiked) return known;
    const { liked } = this.#wish;
    const likeCount = Math.max(liked ? 1 : 0, known.likeCount + (liked ? 1 : -1));
    return { ...known, isLiked: liked, likeCount, likeRank: null };
  }

  get settling() {
    return this.#busy;
  }

  learn(fields) {
    if (!fields || older(fields.likesChangedAt, this.#known.likesChangedAt)) return;
    this.#known = { ...this.#known, ...fields };
    this.#ways.changed();
  }

  tap() {
    this.#wish = { liked: !this.shown.isLiked, key: newKey() };
    const idle = !this.#busy;
    this.#busy = true;
    this.#ways.changed();
    if (idle) this.#settle();
  }

  async #settle() {
    while (this.#wish) {
      const wish = this.#wish;
      try {
        this.learn(await this.#ways.send(wish.liked, wish.key));
      } catch (error) {
        await this.#giveUp(error, this.#wish.liked);
        continue;
      }
      // Tapped meanwhile, and back to what has just come true: nothing more to send.
      if (this.#wish === wish || this.#wish.liked === wish.liked) this.#wish = null;
    }
    this.#busy = false;
    this.#ways.changed();
  }

  async #giveUp(error, liked) {
    this.#wish = null;
    this.#ways.changed();
    this.#ways.refused(error, liked);
    // Nobody knows whether the last try was carried out, so look.
    if (error.doubtful) await this.#ways.reread().then((fields) => this.learn(fields), () => {});
  }
}

/** A key that nobody had before. `randomUUID` is there only on https and on this machine; a phone in the same network comes by http. */
function newKey() {
  if (crypto.randomUUID) return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** RFC 3339 times in UTC, compared to the last digit; `Date` would drop the microseconds. */
export function older(a, b) {
  return digits(a) < digits(b);
}

function digits(time) {
  const [, seconds, fraction = ""] = /^(.{19})(?:\.(\d+))?/.exec(time ?? "") ?? [null, ""];
  return seconds + fraction.padEnd(9, "0");
}
