"use strict";
/* A prompt with all its answers side by side, each with its judges' scores and reasons. */

const MOST_BESIDE = 12;
const MOST_STRIPS = 4;

function drawn(tag, given, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(given)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/* A judge's composite of an answer: the mean of its scores; null where it scored nothing that counts. */
function votesOf(view, [numbers, remarks]) {
  const width = view.scores.length;
  return view.judges.map((labels, judge) => {
    const own = numbers.slice(judge * width, (judge + 1) * width);
    if (remarks[judge] !== undefined || own.some((value) => value === null)) return null;
    return own.reduce((sum, value) => sum + value, 0) / width;
  });
}

function judgeName(view, labels) {
  const hasModels = new Set(view.judges.map((one) => one[2])).size > 1;
  const hasRepeats = labels.length > 3;
  return [labels[0].replaceAll("_", " "), hasModels ? labels[2] : "", hasRepeats ? `asking ${labels[3]}` : ""].filter(Boolean).join(", ");
}

/* The judges' composites upon the scale: a mark a judge, a line a model where there are few. */
function strip(view, votes, composite) {
  const [low, high] = view.scale;
  const models = [...new Set(view.judges.map((labels) => labels[2]))];
  const lines = models.length > 1 && models.length <= MOST_STRIPS
    ? models.map((model) => [model, (judge) => view.judges[judge][2] === model]) : [["", () => true]];
  const width = 340;
  const x = (value) => 8 + ((value - low) / (high - low)) * (width - 16);
  const marks = [];
  let y = 2;
  for (const [model, belongs] of lines) {
    const bins = new Map();
    const dots = [];
    votes.forEach((vote, judge) => {
      if (vote === null || !belongs(judge)) return;
      const bin = Math.round(x(vote) / 9);
      const height = bins.get(bin) || 0;
      bins.set(bin, height + 1);
      dots.push([x(vote), Math.min(height, 9), `${visible(judgeName(view, view.judges[judge])).textContent}: ${vote.toFixed(1)}`]);
    });
    const room = 9 + 6 * Math.max(0, ...dots.map((dot) => dot[1]));
    if (model) {
      y += 13;
      marks.push(drawn("text", { x: 2, y: y - 2, class: "soft" }, visible(model, { most: 40 }).textContent));
    }
    y += room;
    for (const [at, height, name] of dots) {
      marks.push(drawn("circle", { cx: at.toFixed(1), cy: (y - 4 - 6 * height).toFixed(1), r: 4, class: "vote" }, drawn("title", {}, name)));
    }
  }
  if (composite !== null) {
    marks.unshift(drawn("line", { x1: x(composite).toFixed(1), x2: x(composite).toFixed(1), y1: 0, y2: y + 2, class: "composite" }));
  }
  y += 4;
  marks.push(drawn("line", { x1: 8, x2: width - 8, y1: y, y2: y, class: "axis" }));
  for (const tick of new Set([low, Math.round((low + high) / 2), high])) {
    const anchor = tick === low ? "start" : tick === high ? "end" : "middle";
    marks.push(drawn("line", { x1: x(tick), x2: x(tick), y1: y, y2: y + 4, class: "axis" }));
    marks.push(drawn("text", { x: tick === low ? 4 : tick === high ? width - 4 : x(tick), y: y + 15, "text-anchor": anchor, class: "soft" }, String(tick)));
  }
  const known = votes.filter((vote) => vote !== null);
  const said = known.length ? `${known.length} judges, from ${Math.min(...known).toFixed(1)} to ${Math.max(...known).toFixed(1)}` : "no judge's score";
  return drawn("svg", { viewBox: `0 0 ${width} ${y + 18}`, class: "strip", role: "img", "aria-label": `Scores on the scale ${low} to ${high}: ${said}` }, ...marks);
}

/* What each judge scored and said, the highest first; those without a score last. */
function judgeLines(view, votes, remarks, reasons) {
  const order = view.judges.map((labels, judge) => judge);
  order.sort((a, b) => (votes[b] ?? -Infinity) - (votes[a] ?? -Infinity) || a - b);
  const list = make("ul", { class: "judges" });
  for (const judge of order) {
    const said = [addAll(make("span", { class: "by" }), shown(judgeName(view, view.judges[judge])))];
    if (remarks[judge] !== undefined) said.push(" ", make("span", { class: "quiet" }, visible(remarks[judge], { most: 300 })));
    if (reasons[judge] !== undefined) said.push(make("p", {}, visible(reasons[judge], { isProse: true, most: 4000 })));
    list.append(make("li", {}, make("b", { class: "n" }, votes[judge] === null ? DASH : votes[judge].toFixed(1)), make("div", {}, ...said)));
  }
  const n = votes.filter((vote) => vote !== null).length;
  const what = Object.keys(reasons).length ? "scores and reasons" : "scores";
  return make("details", { open: Object.keys(reasons).length > 0 }, make("summary", {}, `Judges' ${what}: ${n} scored of ${view.judges.length}`), list);
}

/* One answer: who wrote it, what it scored, what it says, and what the judges made of it. */
async function answerOf(other, row, { named, value, low, high }) {
  const { columns, view } = other.table;
  const [scores, texts, reasons] = await Promise.all(["scores", "texts", "rationales"].map((stream) => other.item(stream, row)));
  const figure = columns[value].values[row];
  const limits = columns[low].values[row] === null || columns[high].values[row] === null ? ""
    : ` [${numberText(columns[low].values[row], columns[low])}, ${numberText(columns[high].values[row], columns[high])}]`;
  const head = make("header", {},
    make("h3", {}, visible(columns[named].values[row], { isName: true, most: 120 })),
    make("p", { class: "figure" }, numberText(figure, columns[value]), make("small", {}, limits)));
  const parts = [head];
  if (scores) parts.push(strip(view, votesOf(view, scores), figure));
  const text = texts?.[1];
  if (text === "") parts.push(make("p", { class: "quiet" }, "(empty)"));
  else if (text) parts.push(markdown(text));
  else parts.push(make("p", { class: "quiet" }, "Its text is not in this page."));
  if (scores) parts.push(judgeLines(view, votesOf(view, scores), scores[1], reasons || {}));
  parts.push(make("p", { class: "quiet" }, make("a", { href: `#${other.name}/${row}` }, "text as written, scores by criterion")));
  return [make("article", { class: "answer" }, ...parts), texts?.[0]];
}

/* The prompt, and its answers side by side; more of them on demand. */
async function besideParts(other, rows, beside) {
  if (!other || !rows.length) return [make("p", { class: "quiet" }, "Its answers are not in this page.")];
  const grid = make("div", { class: "answers" });
  const more = make("button", { type: "button", class: "button" });
  let prompt = null;
  const add = async () => {
    const next = rows.slice(grid.children.length, grid.children.length + MOST_BESIDE);
    const made = await Promise.all(next.map((row) => answerOf(other, row, beside)));
    for (const [article, asked] of made) {
      grid.append(article);
      prompt ??= asked ?? null;
    }
    const left = rows.length - grid.children.length;
    more.hidden = left <= 0;
    more.textContent = `${Math.min(left, MOST_BESIDE)} more of ${rows.length} answers`;
  };
  await add();
  more.addEventListener("click", add);
  const asked = prompt === null ? [] : [make("section", { class: "asked" }, make("h3", {}, "Prompt"), markdown(prompt))];
  return [...asked, grid, more];
}

/* From one answer to all answers to its prompt. */
function besideLink(name, row) {
  for (const records of all.values()) {
    const at = records.table.beside?.records === name ? records.table.beside.rows.findIndex((rows) => rows.includes(row)) : -1;
    if (at >= 0 && records.table.beside.rows[at].length > 1) {
      return make("p", {}, make("a", { href: `#${records.name}/${at}` }, "all answers to this prompt"));
    }
  }
  return null;
}
