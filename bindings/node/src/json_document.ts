// SPDX-License-Identifier: Apache-2.0
// Reads a JSON document whose members are known, and refuses any other: at the first value that is
// wrong, so that little of a hostile document is ever in memory. Refusals are INVALID_ARGUMENT and
// begin with the JSON Pointer (RFC 6901) of the offending value; those of the whole document have
// no pointer. No message quotes a string of the document.

import { type LocusError, invalid } from "./errors.js";
import { END, JsonLexer } from "./json_lexer.js";
import { octetsOf, quoted } from "./texts.js";

/** No document is longer. */
export const MAX_DOCUMENT_BYTES = 32 << 20;
const MOST_SHOWN = 64;

/** What a value must be. Integers are 0..most; texts have at most `most` bytes of UTF-8; `each` is
 * called with each element of an array once it has been read. */
export type Shape =
  | { readonly kind: "integer"; readonly most: bigint }
  | { readonly kind: "string"; readonly most: number }
  | {
      readonly kind: "array";
      readonly element: Shape;
      readonly most: number;
      readonly each: (element: Value, pointer: string) => void;
    }
  | {
      readonly kind: "map";
      readonly element: Shape;
      readonly most: number;
      readonly nameBytes: number;
    }
  | {
      readonly kind: "object";
      readonly members: ReadonlyMap<string, Shape>;
      readonly optional: ReadonlySet<string>;
    };
/** A value that was read. An array gives its elements to `each` and keeps none. */
export type Value = bigint | string | null | Members;
export type Members = Map<string, Value>;

/** The error of the value that `pointer` leads to; "": of the whole document. */
export function refusal(pointer: string, reason: string): LocusError {
  return invalid(pointer === "" ? reason : `${pointer}: ${reason}`);
}

/** The pointer of a member or an element of what `parent` points to. Control characters stand as
 * \xHH, so that a message stays one line. */
export function pointerTo(parent: string, member: string | number): string {
  const shown = String(member)
    .replaceAll("~", "~0")
    .replaceAll("/", "~1")
    // eslint-disable-next-line no-control-regex -- these are the characters that are meant
    .replace(/[\x00-\x1f\x7f]/g, (character) => {
      return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
    });
  return `${parent}/${shown}`;
}

/** The members of a document of this shape. INVALID_ARGUMENT: it is of another shape, not JSON, not
 * UTF-8, or too long. */
export function readDocument(document: string | Uint8Array, shape: Shape): Members {
  const octets = octetsOf(document);
  if (octets.length > MAX_DOCUMENT_BYTES) {
    throw refusal("", `it is ${octets.length} bytes long; at most ${MAX_DOCUMENT_BYTES}`);
  }
  const lexer = new JsonLexer(octets);
  const value = read(lexer, shape, "");
  if (lexer.peek() !== END) throw lexer.refuse("expected the end of the document");
  return value as Members;
}

/** The type of the next value, by its first byte. */
function typeOfNext(lexer: JsonLexer): "object" | "array" | "string" | "number" | "literal" {
  const first = lexer.peek();
  if (first === END) throw lexer.refuse("the document ends too early");
  const character = String.fromCharCode(first);
  if (character === "{") return "object";
  if (character === "[") return "array";
  if (character === '"') return "string";
  return /[-0-9]/.test(character) ? "number" : "literal";
}

function read(lexer: JsonLexer, shape: Shape, pointer: string): Value {
  const type = typeOfNext(lexer);
  if (shape.kind === "integer") return readInteger(lexer, type, shape, pointer);
  if (type !== kindOf(shape)) {
    throw refusal(pointer, `it is of type ${takeType(lexer, type)}, not ${kindOf(shape)}`);
  }
  switch (shape.kind) {
    case "string":
      return readText(lexer, shape, pointer);
    case "array":
      readArray(lexer, shape, pointer);
      return null;
    default:
      return readMembers(lexer, shape, pointer);
  }
}

function kindOf(shape: Shape): "integer" | "string" | "array" | "object" {
  return shape.kind === "map" ? "object" : shape.kind;
}

/** Takes a value of a wrong type, as far as it must be read to be one; the name of its type. */
function takeType(lexer: JsonLexer, type: ReturnType<typeof typeOfNext>): string {
  if (type === "number") lexer.number();
  if (type === "string") lexer.string();
  if (type !== "literal") return type;
  return lexer.literal() === "null" ? "null" : "boolean";
}

function readInteger(
  lexer: JsonLexer,
  type: ReturnType<typeof typeOfNext>,
  shape: Shape & { kind: "integer" },
  pointer: string,
): bigint {
  let shown = "it";
  if (type === "number") {
    const number = lexer.number();
    if (number.integer !== undefined && number.integer >= 0n && number.integer <= shape.most) {
      return number.integer;
    }
    shown = number.shown;
  } else {
    takeType(lexer, type);
  }
  throw refusal(pointer, `${shown} is not an integer from 0 to ${shape.most}`);
}

function readText(lexer: JsonLexer, shape: Shape & { kind: "string" }, pointer: string): string {
  const { text, size } = lexer.string();
  if (size > shape.most) throw refusal(pointer, `${size} bytes; at most ${shape.most}`);
  return text;
}

function readArray(lexer: JsonLexer, shape: Shape & { kind: "array" }, pointer: string): void {
  lexer.expect("[");
  if (lexer.take("]")) return;
  for (let index = 0; ; ++index) {
    if (index === shape.most && typeOfNext(lexer) === kindOf(shape.element)) {
      throw refusal(pointer, `more than ${shape.most} elements`);
    }
    const element = read(lexer, shape.element, pointerTo(pointer, index));
    shape.each(element, pointer);
    if (lexer.take("]")) return;
    lexer.expect(",");
  }
}

function readMembers(
  lexer: JsonLexer,
  shape: Shape & { kind: "map" | "object" },
  pointer: string,
): Members {
  const members: Members = new Map();
  lexer.expect("{");
  for (let first = true; !lexer.take("}"); first = false) {
    if (!first) lexer.expect(",");
    const { text: name, size } = lexer.string();
    const expected = shapeOfMember(name, size, shape, pointer, members.size);
    if (members.has(name)) throw refusal(pointerTo(pointer, name), "the member occurs twice");
    lexer.expect(":");
    members.set(name, read(lexer, expected, pointerTo(pointer, name)));
  }
  if (shape.kind === "object") {
    for (const name of shape.members.keys()) {
      if (!members.has(name) && !shape.optional.has(name)) {
        throw refusal(pointer, `member ${quoted(name)} is missing`);
      }
    }
  }
  return members;
}

function shapeOfMember(
  name: string,
  size: number,
  shape: Shape & { kind: "map" | "object" },
  pointer: string,
  count: number,
): Shape {
  if (shape.kind === "map") {
    if (size > shape.nameBytes) {
      throw refusal(pointer, `a member name of ${size} bytes; at most ${shape.nameBytes}`);
    }
    if (count >= shape.most) throw refusal(pointer, `more than ${shape.most} members`);
    return shape.element;
  }
  const member = shape.members.get(name);
  if (member !== undefined) return member;
  if (size <= MOST_SHOWN) throw refusal(pointerTo(pointer, name), "unknown member");
  throw refusal(pointer, `unknown member with a name of ${size} bytes`);
}
