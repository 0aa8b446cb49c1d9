// Prints a table of what each attack is answered with, and what it costs: make attacks

import { startService } from "../browser/service.js";
import { attackAll } from "./attack.js";

const most = { cpu: 50, bytes: 8192 };
const service = await startService({ LIKEWISE_LOG: "warn" });
const results = await attackAll(service).finally(() => service.stop());
const row = (name, answer, status, ms, cpu, bytes) =>
  console.log([name.padEnd(42), answer.padEnd(15), status.padStart(6), ms.padStart(8), cpu.padStart(8), bytes.padStart(7)].join(" "));
row("attack", "answer", "status", "ms", "cpu ms", "bytes");
for (const { name, answer, status, ms, cpu, bytes } of results) {
  row(name, answer, String(status), ms.toFixed(1), cpu.toFixed(1), String(bytes));
}
const bad = results.filter(({ isError, cpu, bytes }) => !isError || cpu > most.cpu || bytes > most.bytes);
console.log(`\n${results.length} attacks, ${bad.length} of them answered without an error, after ${most.cpu} ms or with more than ${most.bytes} bytes.`);
if (bad.length) console.log(bad.map(({ name }) => `  ${name}`).join("\n"));
process.exitCode = bad.length ? 1 : 0;
