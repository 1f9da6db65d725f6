"use strict";
/* Markdown as nodes of the document, for reading answers. Text stays text: no markup is made of
   it, links and pictures are shown as words with their address and lead nowhere, HTML is shown as
   it was typed. Every step is linear in the length of the text; what is nested deeper than anybody
   writes, and marks without a partner, stay as they are. */

const MOST_MARKDOWN = 30000;
const DEEPEST = 6;
const MARKS = /\\[!-/:-@[-`{-~]|`{1,20}|\*{1,3}|_{1,3}|~~|!?\[[^[\]\n]{0,300}\]\([^()\s]{0,1000}(?:[ ]"[^"\n]{0,200}")?\)|<https?:\/\/[^<>\s]{1,1000}>/g;
const LINK = /^(!?)\[([^\]]*)\]\((\S*)/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( {1,4}|$)/;
const RULE = /^ {0,3}([-*_])(?:[ ]*\1){2,}[ ]*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const EMPHASIS = { "*": "em", _: "em", "**": "strong", __: "strong", "~~": "s" };

function addAll(element, nodes) {
  for (const node of nodes) element.append(node);
  return element;
}

function prose(text) {
  return shown(text, { isProse: true });
}

function address(text) {
  return addAll(make("span", { class: "address", title: "an address, which is not opened" }), shown(text));
}

/* Where a run of backticks of the same length comes next: token to token. */
function codeEnds(tokens) {
  const ends = new Map();
  const next = new Map();
  for (let at = tokens.length - 1; at >= 0; at -= 1) {
    const mark = tokens[at][0];
    if (!mark.startsWith("`")) continue;
    if (next.has(mark.length)) ends.set(at, next.get(mark.length));
    next.set(mark.length, at);
  }
  return ends;
}

function inline(text, depth = 0) {
  const tokens = [...text.matchAll(MARKS)];
  const ends = codeEnds(tokens);
  const open = [{ mark: "", nodes: [] }];
  const add = (...nodes) => { for (const node of nodes) open.at(-1).nodes.push(node); };
  const addText = (from, to) => { if (to > from) add(...prose(text.slice(from, to))); };
  /* A mark that found no partner is text, and what followed it belongs to what is around it. */
  const flatten = (place) => {
    const [{ mark, nodes }] = open.splice(place, 1);
    open[place - 1].nodes.push(mark);
    for (const node of nodes) open[place - 1].nodes.push(node);
  };
  let end = 0;
  for (let at = 0; at < tokens.length; at += 1) {
    const mark = tokens[at][0];
    const { index } = tokens[at];
    const after = index + mark.length;
    if (index < end) continue;
    if (mark[0] === "`") {
      if (!ends.has(at)) continue;
      addText(end, index);
      const close = tokens[ends.get(at)];
      add(addAll(make("code"), prose(text.slice(after, close.index))));
      end = close.index + close[0].length;
    } else if (mark[0] === "\\") {
      addText(end, index);
      add(mark[1]);
      end = after;
    } else if (mark[0] === "<") {
      addText(end, index);
      add(address(mark.slice(1, -1)));
      end = after;
    } else if (mark.endsWith(")")) {
      addText(end, index);
      const [, isPicture, words, target] = LINK.exec(mark);
      if (isPicture) add(make("span", { class: "quiet" }, "picture: "));
      if (words) add(addAll(make("span"), depth < DEEPEST ? inline(words, depth + 1) : prose(words)));
      add(address(` (${target.replace(/\)$/, "")})`));
      end = after;
    } else {
      const before = text[index - 1] ?? " ";
      const behind = text[after] ?? " ";
      const isWord = mark[0] === "_";
      const closes = !/\s/.test(before) && !(isWord && /[\p{L}\p{N}]/u.test(behind));
      const opens = !/\s/.test(behind) && !(isWord && /[\p{L}\p{N}]/u.test(before));
      addText(end, index);
      end = after;
      let rest = mark.length;
      while (closes && rest) {
        const place = open.findLastIndex((one) => one.mark[0] === mark[0] && one.mark.length <= rest);
        if (place < 1) break;
        while (open.length - 1 > place) flatten(open.length - 1);
        const inner = open.pop();
        rest -= inner.mark.length;
        add(addAll(make(EMPHASIS[inner.mark]), inner.nodes));
      }
      const left = mark.slice(0, rest);
      if (left && opens) {
        if (open.length > DEEPEST) flatten(1);
        if (left.length === 3) open.push({ mark: left.slice(0, 2), nodes: [] });
        open.push({ mark: left.length === 3 ? left[0] : left, nodes: [] });
      } else if (left) {
        add(left);
      }
    }
  }
  addText(end, text.length);
  while (open.length > 1) flatten(open.length - 1);
  return open[0].nodes;
}

function cells(line) {
  return line.trim().replace(/^\|/, "").replace(/\|$/, "").split(/(?<!\\)\|/).map((cell) => cell.trim());
}

function startsBlock(line) {
  return FENCE.test(line) || RULE.test(line) || ITEM.test(line) || /^ {0,3}(?:#{1,6} |>)/.test(line);
}

function blocks(lines, depth = 0) {
  const found = [];
  const block = (tag, text) => addAll(make(tag, { dir: "auto" }), inline(text));
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    const heading = /^ {0,3}(#{1,6}) /.exec(line);
    const item = RULE.test(line) ? null : ITEM.exec(line);
    if (!line.trim()) {
      at += 1;
    } else if (fence) {
      const mark = fence[1];
      const code = [];
      for (at += 1; at < lines.length; at += 1) {
        const closing = FENCE.exec(lines[at]);
        if (closing && closing[1].startsWith(mark) && lines[at].trim() === closing[1]) break;
        code.push(lines[at]);
      }
      at += 1;
      found.push(make("pre", { tabindex: "0" }, addAll(make("code"), prose(code.join("\n")))));
    } else if (heading) {
      let words = line.slice(heading[0].length).trim();
      while (words.endsWith("#")) words = words.slice(0, -1);
      found.push(block(heading[1].length < 3 ? "h4" : "h5", words.trimEnd()));
      at += 1;
    } else if (RULE.test(line)) {
      found.push(make("hr"));
      at += 1;
    } else if (/^ {0,3}>/.test(line) && depth < DEEPEST) {
      const quoted = [];
      for (; at < lines.length && /^ {0,3}>/.test(lines[at]); at += 1) quoted.push(lines[at].replace(/^ {0,3}> ?/, ""));
      found.push(addAll(make("blockquote"), blocks(quoted, depth + 1)));
    } else if (item && depth < DEEPEST) {
      const isNumbered = /\d/.test(item[2]);
      const list = make(isNumbered ? "ol" : "ul", isNumbered ? { start: parseInt(item[2], 10) } : {});
      while (at < lines.length) {
        const next = RULE.test(lines[at]) ? null : ITEM.exec(lines[at]);
        if (!next || /\d/.test(next[2]) !== isNumbered) break;
        const offset = next[0].length || 2;
        const own = [lines[at].slice(next[0].length)];
        for (at += 1; at < lines.length; at += 1) {
          const indent = /^ */.exec(lines[at])[0].length;
          const isBlank = !lines[at].trim();
          const wasBlank = !lines[at - 1].trim();
          if (!isBlank && indent < Math.min(offset, 2) && (wasBlank || startsBlock(lines[at]))) break;
          own.push(lines[at].slice(Math.min(indent, offset)));
        }
        list.append(addAll(make("li", { dir: "auto" }), blocks(own, depth + 1)));
      }
      found.push(list);
    } else if (line.includes("|") && /^[ |:-]*-[ |:-]*$/.test(lines[at + 1] ?? "") && lines[at + 1].includes("|")) {
      const row = (text, tag) => {
        const made = make("tr");
        for (const cell of cells(text).slice(0, 30)) made.append(block(tag, cell));
        return made;
      };
      const body = make("tbody");
      const head = row(line, "th");
      for (at += 2; at < lines.length && lines[at].includes("|"); at += 1) body.append(row(lines[at], "td"));
      found.push(make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "table" }, make("table", {}, make("thead", {}, head), body)));
    } else {
      const words = [line];
      for (at += 1; at < lines.length && lines[at].trim() && !startsBlock(lines[at]); at += 1) words.push(lines[at]);
      found.push(block("p", words.join("\n")));
    }
  }
  return found;
}

/* A text as it is meant to be read; of a very long one the beginning. */
function markdown(text) {
  const read = text.slice(0, MOST_MARKDOWN).replaceAll("\r\n", "\n").replaceAll("\t", "    ");
  const made = addAll(make("div", { class: "markdown" }), blocks(read.split("\n")));
  if (text.length > MOST_MARKDOWN) {
    const left = numberText(text.length - MOST_MARKDOWN, { kind: "count" });
    made.append(make("p", { class: "quiet" }, `\u2026 ${left} characters more`));
  }
  return made;
}
