// The public GraphQL API and how to be patient with it.

const timeout = 10_000;
// Six tries in about ten seconds: longer than a restart of the server, shorter than a user's patience.
const pauses = [300, 600, 1200, 2400, 4800];

/** What a heart shows. */
export const likeFields = `
  likeCount likesChangedAt isLiked likeRank
  topLikers(first: 3) { id name }`;
const activityFields = `
  id title body createdAt
  author { id name avatarUrl }
  ${likeFields}`;

const documents = {
  viewer: `query Viewer { viewer { id name avatarUrl } }`,
  page: `query Feed($after: String, $orderBy: ActivityOrder!) {
    activities(first: 20, after: $after, orderBy: $orderBy) {
      nodes { ${activityFields} }
      pageInfo { hasNextPage endCursor }
    }
  }`,
  likes: `query Likes($ids: [ID!]!) { nodes(ids: $ids) { id ... on Activity { ${likeFields} } } }`,
  like: `mutation Like($input: LikeInput!) { result: likeActivity(input: $input) { activity { id ${likeFields} } } }`,
  unlike: `mutation Unlike($input: LikeInput!) { result: unlikeActivity(input: $input) { activity { id ${likeFields} } } }`,
  create: `mutation Post($input: CreateActivityInput!) { createActivity(input: $input) { activity { ${activityFields} } } }`,
  remove: `mutation Delete($input: DeleteActivityInput!) { deleteActivity(input: $input) { deletedActivityId } }`,
};

/** What the server refused, or that it could not be asked. `code` is `extensions.code` or "NETWORK". */
export class ApiError extends Error {
  constructor(code, message, outcome) {
    super(message);
    this.name = "ApiError";
    this.code = code;
    this.outcome = outcome;
  }

  /** Worth asking again with the same words: nobody has decided anything yet. */
  get passing() {
    return this.code === "NETWORK" || this.code === "UNAVAILABLE";
  }

  /** The request may have been carried out although no answer says so. */
  get doubtful() {
    return this.code === "NETWORK" || this.code === "INTERNAL" || this.outcome === "unknown";
  }
}

/** The API as one viewer sees it; no token is the anonymous one. `signal` ends its reads. */
export class Api {
  #token;
  #signal;

  constructor(token, signal) {
    this.#token = token;
    this.#signal = signal;
  }

  async viewer() {
    const data = await patiently(() => this.#ask(documents.viewer, {}, this.#signal), this.#signal);
    return data.viewer;
  }

  async page(orderBy, after, signal) {
    const data = await patiently(() => this.#ask(documents.page, { orderBy, after }, signal), signal, 2);
    return data.activities;
  }

  /** The like fields of up to 100 activities; those that are gone are left out. */
  async likes(ids) {
    const data = await this.#ask(documents.likes, { ids }, this.#signal);
    return data.nodes.filter(Boolean);
  }

  /**
   * Sets the like and answers with the state after it. Every try carries the same key, so that a
   * try whose answer got lost is not carried out again when it meets a newer state. Not tied to
   * `signal`: a tap counts even if the viewer is switched while it is under way.
   */
  async setLike(activityId, liked, idempotencyKey) {
    const document = liked ? documents.like : documents.unlike;
    const data = await patiently(() => this.#ask(document, { input: { activityId, idempotencyKey } }));
    return data.result.activity;
  }

  /** Asked once: a post has no key, so a second try could post twice. */
  async create(title, body) {
    const data = await this.#ask(documents.create, { input: { title, body } });
    return data.createActivity.activity;
  }

  async remove(activityId) {
    try {
      await patiently(() => this.#ask(documents.remove, { input: { activityId } }));
    } catch (error) {
      // An earlier try, or the author in another window, was faster. Gone is gone.
      if (error.code !== "NOT_FOUND") throw error;
    }
  }

  async #ask(query, variables, signal) {
    const headers = { "content-type": "application/json", accept: "application/json" };
    if (this.#token) headers.authorization = `Bearer ${this.#token}`;
    const limits = [AbortSignal.timeout(timeout), signal].filter(Boolean);
    let response, answer;
    try {
      response = await fetch("/graphql", {
        method: "POST",
        headers,
        body: JSON.stringify({ query, variables }),
        signal: AbortSignal.any(limits),
      });
      answer = await response.json();
    } catch {
      signal?.throwIfAborted();
      throw new ApiError("NETWORK", "The server cannot be reached.");
    }
    const problem = answer?.errors?.[0];
    if (problem) {
      const { code = "INTERNAL", outcome } = problem.extensions ?? {};
      throw new ApiError(code, problem.message, outcome);
    }
    if (!response.ok || !answer?.data) throw new ApiError("INTERNAL", `The server answered ${response.status}.`);
    return answer.data;
  }
}

async function patiently(ask, signal, retries = pauses.length) {
  for (let tried = 0; ; tried += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!error.passing || tried >= retries) throw error;
      // Half of the pause is chance, so that all pages do not come back in the same moment.
      await pause(pauses[tried] * (0.5 + Math.random() / 2), signal);
    }
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    }, { once: true });
  });
}
