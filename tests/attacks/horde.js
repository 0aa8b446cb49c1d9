// Attackers, in a thread of their own: what they do must not slow down whoever measures beside them.

import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { attacks } from "./corpus.js";
import { post } from "./post.js";

const { origin, attackers, seconds, pause } = workerData;
const agent = new Agent({ keepAlive: true, maxSockets: attackers });
const until = performance.now() + seconds * 1000;
const answers = new Map();

async function attack(from) {
  const all = Object.values(attacks);
  for (let i = from; performance.now() < until; i += 1) {
    const { body, headers } = all[i % all.length];
    const { status } = await post(agent, origin, body, headers);
    answers.set(status, (answers.get(status) ?? 0) + 1);
    await sleep(pause);
  }
}

await Promise.all(Array.from({ length: attackers }, (_, i) => attack(i)));
agent.destroy();
parentPort.postMessage(answers);
