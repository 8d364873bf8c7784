// SPDX-License-Identifier: Apache-2.0
// Random documents of routing tables: valid ones of every shape, and ones that are broken. Numbers
// beyond 2^53 are bigints here: jsonOf() writes them.
import { OrderId } from "locus-ids";

/** JSON of plain values and bigints, with a space after each ':' and ','. */
export function jsonOf(value, ascii = false) {
  if (typeof value === "bigint") return `${value}`;
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map((each) => jsonOf(each, ascii)).join(", ")}]`;
  if (value !== null && typeof value === "object") {
    const members = Object.entries(value).map(
      ([name, each]) => `${jsonOf(name, ascii)}: ${jsonOf(each, ascii)}`,
    );
    return `{${members.join(", ")}}`;
  }
  const text = JSON.stringify(value);
  if (!ascii) return text;
  return text.replace(/[^\0-\x7f]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** A number as it is to be written. */
class Raw {
  constructor(text) {
    this.text = text;
  }
}

/** The ceiling map, in the most naive way. */
export function ownerIdOf(document, vnode) {
  for (const { last, shard } of document.ranges) if (last >= vnode) return shard;
  return document.ranges[0].shard;
}

// 6181 * 421 = 1 modulo 10000: the formula of the cohort, solved for the sequence.
const INVERSE = Array.from({ length: 10000 }, (_, i) => i).find((i) => (6181 * i) % 10000 === 1);

/** An order ID whose vnode is next to an end of a range or a move, if not any; in a moving vnode
 * the cohort is next to the move's permyriad, if not any. */
export function orderIdNearAnEdge(draw, document) {
  const moves = document.moves ?? [];
  const edges = document.ranges.map(({ last }) => last);
  for (const move of moves) edges.push(move.first, move.last);
  const gene =
    (draw.choice([draw.choice(edges), draw.below(65536)]) + draw.below(2) + 65535) % 65536;
  let sequence = draw.bits(draw.below(57));
  for (const move of moves) {
    if (gene < move.first || gene > move.last || !draw.below(2)) continue;
    const cohort = move.permyriad + draw.below(2) - 1;
    const wanted = ((((cohort - gene * 2531) % 10000) + 10000) * INVERSE) % 10000;
    const near = sequence - (sequence % 10000n) + BigInt(wanted) - 10000n;
    sequence = near < BigInt(wanted) ? BigInt(wanted) : near;
  }
  return new OrderId(gene, sequence);
}

/** A document: one to many shards and ranges that wrap or not, moves that touch each other. */
export function validTable(draw) {
  const shards = randomShards(draw);
  const ids = shards.map(({ id }) => id);
  const lasts = new Set();
  for (let count = draw.choice([1, 2, 5, 10, 300]); count > 0; --count)
    lasts.add(draw.below(65536));
  if (draw.below(2)) lasts.add(65535);
  const document = {
    epoch: draw.choice([1n, 12n, 2n ** 63n - 1n]),
    shards,
    ranges: [...lasts].sort((a, b) => a - b).map((last) => ({ last, shard: draw.choice(ids) })),
  };
  if (draw.below(2)) document.table_id = draw.bits(64).toString(16).padStart(16, "0");
  const moves = randomMoves(draw, document, ids);
  if (moves.length > 0 || draw.below(2)) document.moves = moves;
  return Object.fromEntries(draw.shuffle(Object.entries(document)));
}

function randomShards(draw) {
  const shards = [];
  const count = draw.choice([1, 2, 3, 5, 40]);
  for (let place = 0; place < count; ++place) {
    const shard = {
      id: place * draw.choice([1, 1, 1000]) + 1 + place,
      name: `orders-${place}${draw.choice(["", "", ' "\\/~ é', "\u{1F600}"])}`,
      endpoint: `mysql://127.0.0.${draw.below(3)}:3306/orders-${place}`,
    };
    if (draw.below(4) === 0) shard.weight = draw.below(200);
    if (draw.below(4) === 0) shard.labels = { tier: "hot", "a/b~c": "" };
    shards.push(shard);
  }
  if (new Set(shards.map(({ id }) => id)).size < count) {
    for (const [place, shard] of shards.entries()) shard.id = place + 1;
  }
  return draw.shuffle(shards);
}

function randomMoves(draw, document, ids) {
  const moves = [];
  let vnode = draw.choice([0, draw.below(65536)]);
  for (let count = draw.below(20); count > 0 && vnode < 65536; --count) {
    const first = vnode;
    const to = draw.choice(ids);
    const end = Math.min(65536, first + 1 + draw.below(3000));
    while (vnode < end && ownerIdOf(document, vnode) !== to) ++vnode;
    if (vnode > first) {
      const permyriad = draw.choice([0, 5000, 5001, 10000, draw.below(10001)]);
      const move = { first, last: vnode - 1, to, permyriad };
      if (draw.below(2)) move.step = draw.bits(63);
      moves.push(move);
    }
    vnode += draw.choice([1, draw.below(8000)]);
  }
  return draw.shuffle(moves);
}

const VALUES = [
  0,
  1,
  2,
  9999,
  10000,
  10001,
  65535,
  65536,
  2 ** 32 - 1,
  2 ** 32,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 1n,
  2n ** 64n,
  -1,
  0.5,
  new Raw("1.0"),
  new Raw("-0"),
  new Raw("-0.0"),
  new Raw("1e15"),
  new Raw("123456789012345.0"),
  new Raw("1E-5"),
  new Raw("0.0001234"),
  new Raw("-9223372036854775809"),
  new Raw("1.5e300"),
  true,
  false,
  null,
  "",
  "1",
  "x",
  "a b",
  "u@h",
  "PWD=x",
  "PassWord=x",
  "\x00",
  "\x7f",
  "\x85",
  "\u2028",
  "\uffff",
  "\u{10FFFF}",
  "é",
  "x".repeat(64),
  "x".repeat(65),
  "é".repeat(33),
  "x".repeat(2048),
  "x".repeat(2049),
  "0123456789abcdef",
  "0123456789ABCDEF",
  "0123456789abcdeg",
  [],
  {},
  [0],
  { a: "b" },
];

/** All containers in `value`. */
function placesOf(value, found = []) {
  if (value !== null && typeof value === "object" && !(value instanceof Raw)) {
    found.push(value);
    for (const element of Object.values(value)) placesOf(element, found);
  }
  return found;
}

/** The document as text, with one value or member of it changed: it may be valid or not. */
export function changed(draw, original) {
  const document = structuredClone(original);
  const places = placesOf(document).filter((each) => Object.keys(each).length > 0);
  const container = draw.choice(places);
  const isArray = Array.isArray(container);
  const keys = Object.keys(container);
  const key = isArray ? Number(draw.choice(keys)) : draw.choice(keys);
  const change = draw.below(6);
  const other = draw.choice(places);
  if (change === 0) {
    if (isArray) container.splice(key, 1);
    else delete container[key];
  } else if (change === 1 && !isArray) {
    const name = draw.choice(["step", "weight", "labels", "x", "~/\n", "x".repeat(65), "é"]);
    container[name] = draw.choice(VALUES);
  } else if (change === 2 && isArray) {
    container.splice(key, 0, structuredClone(draw.choice(container)));
  } else if (change === 3 && typeof container[key] === "number") {
    container[key] += draw.choice([-1, 1]);
  } else if (change === 4 && !isArray && !Array.isArray(other) && key in other) {
    container[key] = structuredClone(other[key]);
  } else {
    container[key] = draw.choice(VALUES);
  }
  const text = jsonOf(document, draw.below(2) === 0);
  if (draw.below(10) > 0) return text;
  // A member twice, -0, a large exponent: what an object cannot hold.
  return draw.choice([
    text.replace('"last": ', '"last": -'),
    text.replace('"epoch": ', '"epoch": 1, "epoch": '),
    text.replace('"shard": 1', '"shard": 1e0'),
    text.replace('"to": ', '"to": -0, "to": '),
  ]);
}

/** The bytes of a document with a few of them changed: hardly ever JSON. */
export function garbled(draw, text) {
  let octets = Buffer.from(text);
  for (let count = draw.choice([1, 1, 2]); count > 0 && octets.length > 0; --count) {
    const at = draw.below(octets.length);
    const [head, tail] = [octets.subarray(0, at), octets.subarray(at)];
    const put = draw.choice([
      ",",
      " ",
      "\0",
      '"',
      "}",
      "\\",
      "\\ud800",
      Buffer.from([0xed, 0xa0, 0x80]),
    ]);
    octets = draw.choice([
      () => Buffer.concat([head, draw.bytes(1), tail.subarray(1)]),
      () => Buffer.concat([head, tail.subarray(1)]),
      () => Buffer.concat([head, Buffer.from(put), tail]),
      () => Buffer.concat([head, Buffer.from(draw.choice(["", "}", "]}"]))]),
    ])();
  }
  const mark = draw.choice(["", "", "", "\ufeff", "\ufeff\ufeff"]);
  return Buffer.concat([Buffer.from(mark), octets]);
}
