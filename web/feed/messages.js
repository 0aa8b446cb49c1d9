// Short messages at the bottom of the page, read out by screen readers, gone by themselves.

const region = document.getElementById("messages");
// Time to read a sentence twice and reach its button.
const lifetime = 8000;

/** Shows `text`; `action` is an optional `[label, callback]`. The same text is shown once at a time. */
export function say(text, action) {
  for (const old of region.children) if (old.dataset.text === text) old.remove();
  const message = document.createElement("div");
  message.className = "message";
  message.dataset.text = text;
  const words = document.createElement("span");
  words.textContent = text;
  message.append(words);
  if (action) message.append(button(action[0], () => (message.remove(), action[1]())));
  message.append(button("Close", () => message.remove()));
  region.append(message);
  while (region.children.length > 3) region.firstElementChild.remove();
  setTimeout(() => message.remove(), lifetime);
}

const reasons = {
  UNAUTHENTICATED: "Your sign-in is no longer valid. Reload the page.",
  FORBIDDEN: "This is not yours to change.",
  NOT_FOUND: "This post is gone.",
  RATE_LIMITED: "That was a bit fast. Try again in a moment.",
  UNAVAILABLE: "The service is taking a break. Try again in a moment.",
  NETWORK: "The server cannot be reached. Check your connection.",
};

/** Says what did not happen and why. The server's own words are for the mistakes only it can explain. */
export function sayFailure(what, error) {
  const reason = reasons[error.code] ?? (error.code === "BAD_USER_INPUT" ? error.message : "Something went wrong.");
  say(`${what} ${reason}`);
}

function button(label, press) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = label;
  element.addEventListener("click", press);
  return element;
}
