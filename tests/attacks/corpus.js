// Documents and bodies that are sent to hurt, one of each kind. Each is to be answered with an error: soon, and shortly.

const many = (count, make, glue = " ") => Array.from({ length: count }, (_, i) => make(i)).join(glue);
const post = (query, more = {}) => ({ body: JSON.stringify({ query, ...more }) });

/** Fragments that spread the next one twice, filled up to so many bytes. */
function bomb(bytes, on = "Query", root = "{...F0}") {
  const of = (count) =>
    `${root}${many(count, (i) => `fragment F${i} on ${on}{...F${i + 1} ...F${i + 1}}`, "")}fragment F${count} on ${on}{__typename}`;
  let count = 1;
  while (of(count + 1).length <= bytes) count += 1;
  return of(count).padEnd(bytes);
}

const tap = (i) => `a${i}: toggleLike(input: {activityId: "QWN0aXZpdHk6MQ"}) {liked}`;
const introspection = "types{fields{args{type{name kind ofType{name kind ofType{name kind}}}} type{name kind ofType{name kind}}}}";

export const attacks = {
  // Fragments
  "fragment bomb of 719 bytes": post(bomb(719)),
  "fragment bomb of 807 bytes": post(bomb(807)),
  "fragment bomb of 1,000 bytes": post(bomb(1000)),
  "fragment bomb of 20 kB": post(bomb(20_000)),
  "fragment bomb below a field": post(bomb(1000, "User", "{viewer{...F0}}")),
  "fragment bomb that is skipped": post(bomb(1000, "Query", "{...F0 @skip(if: true)}")),
  "fragment bomb that nobody uses": post(bomb(1000, "User", "{viewer{id}}")),
  "fragment that contains itself": post("{...F} fragment F on Query{...F}"),
  "two fragments that contain each other": post("{...F} fragment F on Query{...G ...G} fragment G on Query{...F ...F}"),
  "circle of 100 fragments": post(`{...F0} ${many(100, (i) => `fragment F${i} on Query{...F${(i + 1) % 100}}`)}`),
  "chain of 250 fragments": post(`{...F0} ${many(250, (i) => `fragment F${i} on Query{...F${i + 1}}`)} fragment F250 on Query{__typename}`),
  "200 fragments that nobody uses": post(`{__typename} ${many(200, (i) => `fragment F${i} on Query{__typename}`)}`),
  "200 fragments on unknown types": post(`{${many(200, (i) => `...F${i}`)}} ${many(200, (i) => `fragment F${i} on T${i}{a}`)}`),
  "400 unknown fragments": post(`{${many(400, (i) => `...F${i}`)}}`),
  "inline fragments within inline fragments": post(`{${"...{".repeat(45)}__typename${"}".repeat(45)}}`),

  // Many of something
  "10,000 aliases of __typename": post(`{${many(10_000, (i) => `a${i}:__typename`)}}`),
  "500 aliases of __typename": post(`{${many(500, (i) => `a${i}:__typename`)}}`),
  "10,000 times __typename": post(`{${"__typename ".repeat(2_900)}}`),
  "500 aliases of a mutation": post(`mutation{${many(100, tap)}}`),
  "a list of 100 requests": { body: JSON.stringify(Array(100).fill({ query: "{__typename}" })) },
  "900 directives": post(`{__typename ${"@include(if:true)".repeat(250)}}`),
  "900 unknown directives": post(`{__typename ${"@a".repeat(900)}}`),
  "directives on 250 fragments": post(`{__typename} ${many(180, (i) => `fragment F${i} on Query@include(if:true){__typename}`)}`),
  "300 operations": post(many(300, (i) => `query Q${i}{__typename}`)),
  "200 operations that spread 50 fields": post(
    `${many(200, (i) => `query Q${i}{...F}`)} fragment F on Query{viewer{${"id ".repeat(50)}}}`,
    { operationName: "Q0" },
  ),
  "300 variables that nobody uses": post(`query(${many(300, (i) => `$v${i}:Int`)}){__typename}`),
  "300 variables that are not defined": post(`{viewer{${many(180, (i) => `likedActivities(first:$v${i}){pageInfo{endCursor}}`)}}}`),
  "900 unknown fields": post(`{viewer{${many(900, (i) => `unknown${i}`)}}}`),
  "300 unknown arguments": post(`{viewer{id(${many(300, (i) => `argument${i}:1`)})}}`),
  "200 fields that conflict": post(`{activity(id:1){${many(200, (i) => `topLikers(first:${i}){id}`)}}}`),

  // Deep
  "10,000 fields within fields": post(`${"{a".repeat(10_000)}${"}".repeat(10_000)}`),
  "49 fields within fields": post(`${"{a".repeat(49)}${"}".repeat(49)}`),
  "10,000 lists within lists": post(`{activity(id:${"[".repeat(10_000)}1${"]".repeat(10_000)}){id}}`),
  "objects within objects": post(`{activity(id:${"{a:".repeat(5_000)}1${"}".repeat(5_000)}){id}}`),
  "brackets that are never closed": post("{a".repeat(15_000)),
  "100,000 lists within lists in variables": { body: `{"query":"{__typename}","variables":${"[".repeat(100_000)}` },
  "types within lists within lists": post(`query($a:${"[".repeat(5_000)}Int${"]".repeat(5_000)}){__typename}`),

  // Introspection
  "circular introspection": post(`{__schema{types{${"fields{type{".repeat(6)}name${"}}".repeat(6)}}}}`),
  "30 times introspection": post(`{${many(19, (i) => `a${i}:__schema{${introspection}}`)}}`),
  "types of types of types": post(`{__type(name:"Query"){${"ofType{".repeat(40)}name${"}".repeat(40)}}}`),

  // Pages
  "pages within pages": post("{activities(first:100){nodes{likers(first:100){nodes{likedActivities(first:100){nodes{id}}}}}}}"),
  "pages within pages by variables": post(
    "query($n:Int){activities(first:$n){nodes{likers(first:$n){nodes{likedActivities(first:$n){nodes{id}}}}}}}",
    { variables: { n: 100 } },
  ),
  "pages within pages by defaults": post("query($n:Int=100){activities(last:$n){nodes{likers(last:$n){nodes{id name avatarUrl}}}}}"),
  "a page of 2,147,483,647": post("{activities(first:2147483647){nodes{id}}}"),
  "40,000 ids": post("query($i:[ID!]!){nodes(ids:$i){id}}", { variables: { i: Array(40_000).fill("a") } }),

  // Odd texts
  "a number of 30,000 digits": post(`{activities(first:${"9".repeat(30_000)}){nodes{id}}}`),
  "a number of exponents": post("{activities(first:1e400){nodes{id}}}"),
  "an id of 30,000 characters": post(`{activity(id:"${"a".repeat(30_000)}"){id}}`),
  "an id of control characters": post(`{activity(id:"${"\\u0000".repeat(5_000)}"){id}}`),
  "a field of 30,000 characters": post(`{${"a".repeat(30_000)}}`),
  "an operation of 30,000 characters": post(`query ${"a".repeat(15_000)}{unknown}`, { operationName: "a".repeat(15_000) }),
  "a text that does not end": post(`{activity(id:"${"a".repeat(30_000)}`),
  "a block of text that does not end": post(`{activity(id:"""${'\\"""'.repeat(7_000)}`),
  "nothing but comments": post("#a\n".repeat(10_000)),
  "nothing but commas": post(",".repeat(30_000)),
  "zeros": post("\u0000".repeat(30_000)),

  // Bodies
  "300 kB of body": post(`{__typename #${"a".repeat(300_000)}\n}`),
  "a body that is not UTF-8": { body: Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]) },
  "a number beyond all numbers": { body: `{"query":"{__typename}","variables":{"a":1e999999}}` },
  "a compressed body": { body: Buffer.alloc(1000), headers: { "content-encoding": "gzip" } },
  "a form from another site": { body: "query={__typename}", headers: { "content-type": "application/x-www-form-urlencoded" } },
  "a subscription of bombs": post(bomb(1000, "Subscription", "subscription{...F0}")),
};
