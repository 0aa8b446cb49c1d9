// Measures what a hundred attackers do to everybody else: make siege
// Healthy clients scroll the feed and tap hearts, first alone, then while attackers send the whole corpus
// over and over. Says how much slower the healthy ones become, as a ratio of the same run.

import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { startService } from "../browser/service.js";
import { post } from "./post.js";

const { values } = parseArgs({
  options: {
    attackers: { type: "string", default: "100" },
    healthy: { type: "string", default: "8" },
    seconds: { type: "string", default: "30" },
    // Of an attacker between an answer and its next attack, and of a healthy client between two requests, in ms.
    pause: { type: "string", default: "100" },
    think: { type: "string", default: "50" },
  },
});
const [attackers, healthy, seconds, pause, think] =
  [values.attackers, values.healthy, values.seconds, values.pause, values.think].map(Number);

const feed = `{ activities(first: 20) { nodes { id title author { name } likeCount isLiked topLikers(first: 3) { name } } } }`;
const toggle = `mutation($input: LikeInput!) { toggleLike(input: $input) { liked activity { likeCount } } }`;

const service = await startService({ LIKEWISE_LOG: "warn" });
const agent = new Agent({ keepAlive: true, maxSockets: healthy });

async function live(user, until, times) {
  const headers = { authorization: `Bearer ${user.token}` };
  while (performance.now() < until) {
    const answer = await post(agent, service.origin, JSON.stringify({ query: feed }), headers);
    const { data } = JSON.parse(answer.text || "{}");
    if (answer.status !== 200 || !data) throw new Error(`a healthy client got ${answer.status} ${answer.text}`);
    const [{ id }] = data.activities.nodes;
    const input = { activityId: id, idempotencyKey: crypto.randomUUID() };
    const tap = await post(agent, service.origin, JSON.stringify({ query: toggle, variables: { input } }), headers);
    if (tap.status !== 200) throw new Error(`a healthy client got ${tap.status} ${tap.text}`);
    times.push(answer.ms, tap.ms);
    await sleep(think);
  }
}

// What a horde was answered with: how often each status.
function besiege(duration, horde) {
  if (horde === 0) return new Map();
  const workerData = { origin: service.origin, attackers: horde, seconds: duration, pause };
  return new Promise((done, failed) => {
    const worker = new Worker(new URL("horde.js", import.meta.url), { workerData });
    worker.once("message", done);
    worker.once("error", failed);
  });
}

async function measure(duration, horde) {
  const users = await (await fetch(`${service.origin}/dev/users`)).json();
  const until = performance.now() + duration * 1000;
  const times = [];
  const crowd = Array.from({ length: healthy }, (_, i) => live(users[i % users.length], until, times));
  const [answers] = await Promise.all([besiege(duration, horde), ...crowd]);
  times.sort((a, b) => a - b);
  const at = (part) => times[Math.floor((times.length - 1) * part)];
  return { requests: times.length, p50: at(0.5), p99: at(0.99), answers };
}

try {
  await measure(3, 0);
  const alone = await measure(seconds / 2, 0);
  const besieged = await measure(seconds, attackers);
  const tell = (name, { requests, p50, p99 }) =>
    console.log(`${name.padEnd(28)} ${String(requests).padStart(8)} requests, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`);
  tell("healthy clients alone", alone);
  tell(`beside ${attackers} attackers`, besieged);
  const sent = [...besieged.answers.values()].reduce((sum, count) => sum + count, 0);
  const by = [...besieged.answers].sort().map(([status, count]) => `${count} got ${status || "no answer"}`).join(", ");
  console.log(`${sent} attacks, ${(sent / seconds).toFixed(0)} a second: ${by}`);
  console.log(`\np99 beside attackers / alone: ${(besieged.p99 / alone.p99).toFixed(2)}`);
} finally {
  agent.destroy();
  await service.stop();
}
