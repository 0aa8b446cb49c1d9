// Carries out the attacks and measures what each costs the service.

import { readdir, readFile } from "node:fs/promises";
import { attacks } from "./corpus.js";

/** Sends each attack a few times; what was answered, and the least that it took. */
export async function attackAll(service, times = 3) {
  const results = [];
  for (const [name, attack] of Object.entries(attacks)) {
    let best = null;
    for (let i = 0; i < times; i += 1) {
      const result = await carryOut(service, attack);
      if (!best || result.cpu < best.cpu) best = result;
    }
    results.push({ name, ...best });
  }
  return results;
}

async function carryOut(service, { body, headers }) {
  const [before, begin] = [await cpu(service.pid), performance.now()];
  const response = await fetch(`${service.origin}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/graphql-response+json", ...headers },
    body,
  });
  const text = await response.text();
  const ms = performance.now() - begin;
  const [error] = JSON.parse(text).errors ?? [];
  const answer = error ? error.extensions.limit ?? error.extensions.code : "answered";
  return { answer, isError: Boolean(error), status: response.status, ms, cpu: (await cpu(service.pid)) - before, bytes: text.length };
}

/** Milliseconds of processor time that all threads of a process have had. */
async function cpu(pid) {
  let nanoseconds = 0;
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8").catch(() => "0");
    nanoseconds += Number(text.split(" ")[0]);
  }
  return nanoseconds / 1e6;
}
