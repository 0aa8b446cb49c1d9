// One activity on the page. What people wrote only ever becomes text, never markup.

import { Heart } from "./heart.js";
import { hue, initials, likedBy, number, ordinal, shortNames, since } from "./words.js";

const template = document.getElementById("card");
let made = 0;

/**
 * Builds the card of `activity` as `session` sees it. `actions.tapAnonymously()` is called instead of a like
 * when nobody is chosen, `actions.refused(error, liked)` when a like failed, `actions.remove(card)` on delete.
 */
export function makeCard(activity, session, actions) {
  const element = template.content.firstElementChild.cloneNode(true);
  const find = (selector) => element.querySelector(selector);
  const author = activity.author?.name ?? "Someone who left";
  made += 1;

  element.dataset.id = activity.id;
  paintAvatar(find(".avatar"), activity.author);
  find(".author").textContent = author;
  const time = find("time");
  time.dateTime = activity.createdAt;
  time.title = new Date(activity.createdAt).toLocaleString("en", { dateStyle: "long", timeStyle: "short" });
  find(".title").textContent = activity.title;
  find(".title").id = `title-${made}`;
  element.setAttribute("aria-labelledby", `title-${made}`);
  find(".body").textContent = activity.body;
  find(".body").hidden = activity.body === "";

  const button = find(".heart");
  const line = find(".liked-by");
  line.id = `liked-by-${made}`;
  // The label stays while aria-pressed changes: "Like …, pressed" is right, "Unlike …, pressed" would not be.
  button.setAttribute("aria-label", `Like “${activity.title}”`);
  button.setAttribute("aria-describedby", line.id);

  const heart = new Heart(activity, {
    send: (liked, key) => session.api.setLike(activity.id, liked, key),
    reread: async () => (await session.api.likes([activity.id]))[0],
    changed: () => paintLikes(),
    refused: actions.refused,
  });

  button.addEventListener("click", () => {
    if (!session.viewer) return actions.tapAnonymously();
    heart.tap();
    button.classList.toggle("tapped", heart.shown.isLiked);
  });

  const remove = find(".delete");
  if (session.viewer && session.viewer.id === activity.author?.id) {
    remove.setAttribute("aria-label", `Delete “${activity.title}”`);
    remove.addEventListener("click", () => actions.remove(card));
  } else {
    remove.remove();
  }

  function paintLikes() {
    const { isLiked, likeCount, likeRank, topLikers } = heart.shown;
    const others = topLikers.filter((user) => user.id !== session.viewer?.id).map((user) => user.name);
    button.setAttribute("aria-pressed", isLiked);
    find(".count").textContent = number(likeCount);
    line.textContent = likedBy(likeCount, isLiked, shortNames(others, session.viewer?.name));
    line.title = likeRank ? `You were the ${ordinal(likeRank)} to like this` : "";
    element.classList.toggle("settling", heart.settling);
  }

  function paintTime() {
    time.textContent = since(new Date(activity.createdAt));
  }

  const card = { id: activity.id, title: activity.title, element, heart, paintTime };
  paintLikes();
  paintTime();
  return card;
}

/** A picture if there is one that loads, else initials on a colour of the person's own. */
export function paintAvatar(element, user) {
  element.replaceChildren();
  element.textContent = user ? initials(user.name) : "";
  if (user) element.dataset.hue = hue(user.name);
  else delete element.dataset.hue;
  if (!user?.avatarUrl) return;
  const image = new Image();
  image.alt = "";
  image.loading = "lazy";
  image.referrerPolicy = "no-referrer";
  image.addEventListener("error", () => image.remove());
  image.src = user.avatarUrl;
  element.append(image);
}
