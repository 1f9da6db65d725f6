"use strict";
/* Text and numbers in the document. Text enters it as text alone: no markup is ever made from it,
   and hidden characters are shown as their codes. */

const DASH = "\u2013";
const WIDTHS = { id: 11, wide: 18, text: 8, number: 6.4, count: 6.4 };
const NARROW_WIDTHS = { id: 8, wide: 13, text: 6.5, number: 5.6, count: 5.6 };
/* Characters of a row's name that such a column holds: names differ at their ends. */
const NARROW_NAMES = { id: 15, wide: 27 };
/* As the style has it: on such a screen two or three columns are in sight. */
const NARROW = matchMedia("(max-width: 30rem)");
const MOST_PRINTED = 300;
const collator = new Intl.Collator("en", { numeric: true });
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{1d159}\u{e0100}-\u{e01ef}]/u;
/* A run of marks longer than any orthography stacks would paint over the lines beside it. */
const SPECIAL = new RegExp(`[\\u0300-\\u036f]{5,}|(?! )${HIDDEN.source}`, "gu");

function make(tag, given = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

/* Characters that may stand as they are: in prose line breaks and tabs; and the
   selector of an emoji's form right behind the emoji. */
function isPlain(character, before, isProse) {
  if (isProse && (character === "\n" || character === "\t")) return true;
  return character === "\ufe0f" && /\p{Extended_Pictographic}$/u.test(before);
}

/* A name may be broken behind its underscores. */
function breakable(text) {
  return text.split(/(?<=_)/).flatMap((part, at) => (at ? [make("wbr"), part] : [part]));
}

/* A text's nodes: hidden characters are codes, all else is text. */
function shown(text, { isProse = false, isName = false } = {}) {
  const nodes = [];
  const parts = (plain) => (isName ? breakable(plain) : [plain]);
  let end = 0;
  for (const match of text.matchAll(SPECIAL)) {
    const found = match[0];
    if (isPlain(found, text.slice(Math.max(0, match.index - 2), match.index), isProse)) continue;
    nodes.push(...parts(text.slice(end, match.index)));
    for (const character of found) {
      const code = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      nodes.push(make("span", { class: "code", title: "hidden character" }, `U+${code}`));
    }
    end = match.index + found.length;
  }
  nodes.push(...parts(text.slice(end)));
  return nodes;
}

function visible(value, { isProse = false, isName = false, most = Infinity } = {}) {
  let text = String(value);
  const tail = Math.min(20, Math.ceil(most / 2));
  if (text.length > most) text = `${text.slice(0, most - tail - 1)}\u2026${text.slice(-tail)}`;
  if (isProse) text = text.replaceAll("\r\n", "\n");
  const made = make("bdi", { class: "text", dir: "auto" });
  for (const node of shown(text, { isProse, isName })) made.append(node);
  return made;
}

function numberText(value, column) {
  if (value === null || value === undefined) return DASH;
  if (typeof value === "string") return value;
  const text = column.kind === "count"
    ? String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",")
    : value.toFixed(column.digits);
  return text.replace(/^-(?=0[.0]*$)/, "").replace(/^-/, "\u2212");
}

function isNumeric(column) {
  return column.kind === "number" || column.kind === "count";
}

function content(value, column, options) {
  if (isNumeric(column)) return numberText(value, column);
  return value === null || value === "" ? "" : visible(value, options);
}

async function unpack(id) {
  const binary = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
