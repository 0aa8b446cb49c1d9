// Sends a body and tells what came of it; status 0 stands for no answer.

import { request } from "node:http";

export function post(agent, origin, body, headers = {}) {
  const begin = performance.now();
  return new Promise((done) => {
    const sent = request(`${origin}/graphql`, {
      agent,
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
    }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => done({ ms: performance.now() - begin, status: response.statusCode, text: Buffer.concat(chunks).toString() }));
    });
    sent.on("error", () => done({ ms: performance.now() - begin, status: 0, text: "" }));
    sent.end(body);
  });
}
