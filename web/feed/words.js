// Everything the page says that depends on numbers, names or time. No DOM, so that tests can read it.

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const plain = new Intl.NumberFormat("en");
const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const ordinals = new Intl.PluralRules("en", { type: "ordinal" });
const suffixes = { one: "st", two: "nd", few: "rd", other: "th" };

/** 999, 9,999, then 12.3K: exact while a reader could still count, short after that. */
export function number(n) {
  return n < 10_000 ? plain.format(n) : compact.format(n);
}

export function ordinal(n) {
  return plain.format(n) + suffixes[ordinals.select(n)];
}

/**
 * "Liked by you, Ada and 40 others". `names` are other people, earliest like first; there may be
 * fewer of them than likes, since the API tells only the first few.
 */
export function likedBy(count, you, names) {
  if (count <= 0) return "No likes yet";
  const known = (you ? ["you", ...names] : names).slice(0, count);
  // Three names read better than "and 1 other", but only if they are everybody.
  const named = known.length === count && count <= 3 ? known : known.slice(0, 2);
  const rest = count - named.length;
  if (named.length === 0) return `Liked by ${number(rest)} ${rest === 1 ? "person" : "people"}`;
  if (rest > 0) named.push(`${number(rest)} ${rest === 1 ? "other" : "others"}`);
  const last = named.pop();
  return `Liked by ${named.length ? `${named.join(", ")} and ${last}` : last}`;
}

/** First names are enough, unless two of them are the same, or the reader would take one for their own. */
export function shortNames(names, reader = "") {
  const first = [...names, reader].map((name) => name.trim().split(/\s+/)[0] || name);
  return names.map((name, i) => (first.indexOf(first[i]) === first.lastIndexOf(first[i]) ? first[i] : name));
}

export function initials(name) {
  const words = name.trim().split(/\s+/).filter(Boolean);
  const chosen = words.length > 1 ? [words[0], words.at(-1)] : words;
  return chosen.map((word) => [...word][0].toUpperCase()).join("") || "?";
}

/** One of eight calm colours, the same for a name every time. */
export function hue(name) {
  let sum = 0;
  for (const char of name) sum = (sum * 31 + char.codePointAt(0)) % 9973;
  return sum % 8;
}

const steps = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 7],
];

/** "5 minutes ago"; a date once a week has passed. A clock that runs behind is no time traveller. */
export function since(then, now = new Date()) {
  let amount = Math.max(0, (now - then) / 1000);
  if (amount < 45) return "just now";
  for (const [unit, size] of steps) {
    if (Math.round(amount) < size) return ago.format(-Math.round(amount), unit);
    amount /= size;
  }
  const year = then.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return then.toLocaleDateString("en", { day: "numeric", month: "long", year });
}
