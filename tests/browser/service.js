// `likewise dev` as a user starts it, but on free ports and with a data folder that vanishes.

import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const project = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const binary = resolve(project, process.env.LIKEWISE_BIN ?? "target/debug/likewise");
// Redis, migrations and demo data on a busy machine.
const patience = 60_000;

/** With more settings, if there are any. */
export async function startService(settings = {}) {
  const data = await mkdtemp(join(tmpdir(), "likewise-browser-"));
  const [port, metricsPort] = await freePorts(2);
  const origin = `http://127.0.0.1:${port}`;
  const env = {
    ...process.env,
    LIKEWISE_LISTEN: `127.0.0.1:${port}`,
    LIKEWISE_METRICS_LISTEN: `127.0.0.1:${metricsPort}`,
    LIKEWISE_DATA: data,
    ...settings,
  };
  // What is set for other tests is not meant for this service, which brings its own.
  delete env.REDIS_URL;
  delete env.DATABASE_URL;
  const child = spawn(binary, ["dev"], { cwd: project, env, stdio: ["ignore", "pipe", "pipe"] });
  const output = [];
  child.stdout.on("data", (chunk) => output.push(chunk));
  child.stderr.on("data", (chunk) => output.push(chunk));
  const exited = new Promise((done) => {
    child.once("error", (error) => done({ error }));
    child.once("exit", (code, signal) => done({ code, signal }));
  });
  // A test that fails hard must not leave a service behind.
  const abandon = () => child.kill("SIGTERM");
  process.once("exit", abandon);

  const service = {
    origin,
    metrics: `http://127.0.0.1:${metricsPort}/metrics`,
    pid: child.pid,
    /** All processes of the service, its own first. */
    processes: () => descendants(child.pid),
    output: () => Buffer.concat(output).toString(),
    exited,
    interrupt: () => child.kill("SIGINT"),
    async stop() {
      child.kill("SIGINT");
      const ended = await Promise.race([exited, sleep(15_000, null, { ref: false })]);
      process.removeListener("exit", abandon);
      if (!ended) child.kill("SIGKILL");
      await rm(data, { recursive: true, force: true });
      if (!ended) throw new Error(`The service did not end after an interrupt.\n${service.output()}`);
    },
  };

  const deadline = Date.now() + patience;
  while (!(await ready(origin))) {
    const ended = await Promise.race([exited, sleep(100)]);
    if (ended || Date.now() > deadline) {
      await service.stop();
      const what = ended ? `ended early (${ended.error ?? ended.code ?? ended.signal})` : "did not become ready";
      throw new Error(`${binary} dev ${what}.\n${service.output()}`);
    }
  }
  return service;
}

/** The public API without a browser: for what other people do while a page is open. */
export async function ask(service, query, variables, token) {
  const headers = { "content-type": "application/json" };
  if (token) headers.authorization = `Bearer ${token}`;
  const response = await fetch(`${service.origin}/graphql`, {
    method: "POST",
    headers,
    body: JSON.stringify({ query, variables }),
  });
  const answer = await response.json();
  if (answer.errors) throw new Error(`${query}: ${JSON.stringify(answer.errors)}`);
  return answer.data;
}

export async function demoUsers(service) {
  return (await fetch(`${service.origin}/dev/users`)).json();
}

async function ready(origin) {
  try {
    return (await fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}

/** All are held until the last is found, so that no two are the same. */
async function freePorts(count) {
  const servers = [];
  for (let i = 0; i < count; i += 1) {
    const server = createServer();
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    servers.push(server);
  }
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

async function descendants(root) {
  const children = new Map();
  const names = new Map();
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = await readFile(`/proc/${entry}/stat`, "utf8");
      // The name stands in brackets and may hold anything, so the rest is read from behind it.
      const [, name, rest] = /\((.*)\) (.*)/s.exec(stat);
      const parent = Number(rest.split(" ")[1]);
      names.set(Number(entry), name);
      children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
    } catch {
      // Ended while we looked.
    }
  }
  const found = [root];
  for (const pid of found) found.push(...(children.get(pid) ?? []));
  return found.filter((pid) => names.has(pid)).map((pid) => ({ pid, name: names.get(pid) }));
}
