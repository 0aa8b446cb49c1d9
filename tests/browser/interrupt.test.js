import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "./browser.js";
import { startService } from "./service.js";

test("Ctrl-C ends the service and its Redis within seconds", { timeout: 300_000 }, async () => {
  const service = await startService();
  try {
    const processes = await service.processes();
    assert.ok(
      processes.some(({ name }) => /^(redis|valkey)-server/.test(name)),
      `a Redis among ${JSON.stringify(processes)}`,
    );
    service.interrupt();
    const ended = await Promise.race([service.exited, sleep(10_000, null, { ref: false })]);
    assert.deepEqual(ended, { code: 0, signal: null }, service.output());
    await eventually(() => processes.every(({ pid }) => !alive(pid)), "every process has ended");
  } finally {
    await service.stop();
  }
});

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
