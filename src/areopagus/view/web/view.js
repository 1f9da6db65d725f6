"use strict";
/* The list of runs: chosen, sorted, followed while they work. Names and sentences enter as text. */

const POLL_MS = 2000;
const STATES = { running: "running", complete: "complete", stopped: "stopped", interrupted: "interrupted", budget: "stopped by its cap", unread: "not read", open: "open" };
const ORDERS = {
  newest: (a, b) => collator.compare(b.started, a.started),
  oldest: (a, b) => collator.compare(a.started, b.started),
  name: (a, b) => collator.compare(a.path, b.path),
  kind: (a, b) => collator.compare(a.kind, b.kind) || collator.compare(b.started, a.started),
  "cost, highest first": (a, b) => (b.cost_usd ?? -1) - (a.cost_usd ?? -1),
};

const list = document.getElementById("runs");
const told = document.getElementById("told");
const bar = document.getElementById("compare");
const chosen = [];
const rows = new Map();
let runs = [];
let comparisons = null;
let notice = "";
let version = "";
let isAway = false;

function option(value, text) {
  return make("option", { value }, text);
}

const search = make("input", { type: "search", autocomplete: "off", spellcheck: "false" });
const kinds = make("select");
const states = make("select");
const order = make("select", {}, ...Object.keys(ORDERS).map((name) => option(name, name)));
const parts = make("input", { type: "checkbox" });

function dollars(value) {
  if (value === null) return "price unknown";
  if (value === 0) return "$0";
  return value >= 1 ? `$${value.toFixed(2)}` : value >= 0.0001 ? `$${value.toFixed(4)}` : "<$0.0001";
}

function whole(value) {
  return numberText(value, { kind: "count" });
}

function nameOf(run) {
  return run.path === "." ? "this folder" : run.path;
}

function ago(written) {
  const seconds = Math.max(0, Date.now() / 1000 - written);
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min ago` : `${Math.round(seconds / 3600)} h ago`;
}

/* What stands in a list of names, as many as fit a line. */
function named(names, most = 4) {
  const nodes = names.slice(0, most).flatMap((name, at) => [at ? ", " : "", visible(name, { isName: true, most: 60 })]);
  return names.length > most ? [...nodes, ` and ${names.length - most} more`] : nodes;
}

/* How far a run at work is. */
function progressOf(run) {
  const { stage, number, stages, unit, done, total, troubled } = run.progress;
  const lines = [];
  if (stage) {
    const place = stages > 1 ? `stage ${number} of ${stages}, ` : "";
    const what = total ? `${whole(done)} of ${whole(total)} ${unit}` : `${whole(done)} ${unit}`;
    lines.push(make("progress", total ? { max: total, value: done, "aria-label": "done" } : { "aria-label": "at work" }));
    lines.push(make("p", { class: "small", "data-progress": done }, visible(`${place}${stage}: ${what}${troubled ? `, ${whole(troubled)} came to nothing` : ""}`)));
  }
  const counts = Object.entries(run.counts).map(([name, n]) => `${whole(n)} ${name.replaceAll("_", " ")}`);
  if (counts.length) lines.push(make("p", { class: "small" }, visible(`judgments: ${counts.join(", ")}`)));
  lines.push(make("p", { class: "small", "data-written": run.written }, `begun and not ended; last written ${ago(run.written)}`));
  return lines;
}

function rowOf(run) {
  const box = run.is_comparable
    ? make("input", { type: "checkbox", "aria-label": `compare ${visible(nameOf(run)).textContent}` }) : make("span");
  box.checked = chosen.includes(run.id);
  box.addEventListener("change", () => choose(run.id, box.checked));
  const name = visible(nameOf(run), { isName: true, most: 160 });
  const title = make("h2", {}, run.has_page ? make("a", { href: `runs/${run.id}.html` }, name) : name);
  const head = make("div", {}, title,
    make("span", { class: "kind" }, visible(run.kind || "unknown")),
    make("span", { class: `state ${Object.hasOwn(STATES, run.state) ? run.state : ""}` }, visible(STATES[run.state] ?? run.state)),
    run.is_demonstration ? make("span", { class: "kind demonstration", title: "an embedded stand-in took part: no findings" }, "demonstration") : "",
    make("p", { class: "small" }, visible(run.started.slice(0, 16).replace("T", " "))));
  const said = run.headline.slice(0, 2).map((sentence, at) => make("p", { class: at ? "small" : "answer-line" }, visible(sentence, { most: 400 })));
  if (run.coverage) said.push(make("p", { class: "small" }, visible(run.coverage, { most: 300 })));
  if (run.state === "running") said.push(...progressOf(run));
  else if (run.state === "stopped" && !run.problem) said.push(make("p", { class: "small" }, "Its process was stopped amid the work: the same command goes on."));
  else if (run.has_page && !run.is_read && !run.headline.length) said.push(make("p", { class: "small" }, "reading \u2026"));
  if (run.problem) said.push(make("p", { class: "problem" }, visible(run.problem, { most: 400 })));
  const facts = make("div", { class: "facts-of" });
  if (run.respondents.length) facts.append(make("p", { class: "small" }, ...named(run.respondents)));
  if (run.personas || run.models.length) {
    facts.append(make("p", { class: "small" }, `${run.personas} ${run.personas === 1 ? "persona" : "personas"} \u00d7 `, ...named(run.models, 3)));
  }
  if (run.state !== "unread" && !["calibration", "study"].includes(run.kind)) {
    facts.append(make("p", { class: "small" }, dollars(run.cost_usd) + (run.unpriced_calls && run.cost_usd !== null ? `, ${whole(run.unpriced_calls)} calls without a price` : "")));
  }
  return make("li", { class: run.within ? "run part" : "run", "data-id": run.id, "data-state": run.state }, box, head, make("div", {}, ...said), facts);
}

/* A row is drawn anew when its run has changed. */
function rowFor(run) {
  const text = JSON.stringify(run) + chosen.includes(run.id);
  const known = rows.get(run.id);
  if (known?.text === text) return known.row;
  const row = rowOf(run);
  rows.set(run.id, { text, row });
  return row;
}

function choose(id, isChosen) {
  if (isChosen) chosen.push(id);
  else chosen.splice(chosen.indexOf(id), 1);
  if (chosen.length > 2) chosen.shift();
  draw();
}

function drawBar() {
  bar.hidden = !chosen.length;
  const pair = chosen.map((id) => runs.find((run) => run.id === id)).filter(Boolean);
  const names = pair.flatMap((run, at) => [at ? " with " : "", make("b", {}, visible(nameOf(run), { most: 60 }))]);
  const clear = make("button", { type: "button", class: "button" }, "clear");
  clear.addEventListener("click", () => { chosen.length = 0; draw(); });
  let next = make("span", { class: "quiet" }, "choose a second run of its kind to compare");
  if (pair.length === 2) {
    const made = comparisons?.find((both) => both.includes(pair[0].id) && both.includes(pair[1].id));
    const [first, second] = made ?? pair.map((run) => run.id);
    next = comparisons && !made
      ? make("span", { class: "quiet" }, "these files hold no comparison of the two (areopagus view --static OUT --compare RUN RUN)")
      : make("a", { class: "button", id: "compare-link", href: `compare/${first}-${second}.html` }, "compare");
  }
  bar.replaceChildren(...names, next, clear);
}

function fillChoices() {
  const fill = (select, values, all, text = (value) => value) => {
    const before = select.value;
    select.replaceChildren(option("", all), ...[...new Set(values)].sort(collator.compare).map((value) => option(value, visible(text(value)).textContent)));
    select.value = [...select.options].some((one) => one.value === before) ? before : "";
  };
  fill(kinds, runs.map((run) => run.kind || "unknown"), "all kinds");
  fill(states, runs.map((run) => run.state), "all states", (state) => STATES[state] ?? state);
}

function draw() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const shownRuns = runs.filter((run) => {
    if (run.within && !parts.checked) return false;
    if (kinds.value && (run.kind || "unknown") !== kinds.value) return false;
    if (states.value && run.state !== states.value) return false;
    const hay = [run.path, run.kind, ...run.respondents, ...run.models, ...run.headline, run.problem].join("\n").toLowerCase();
    return words.every((word) => hay.includes(word));
  });
  shownRuns.sort((a, b) => ORDERS[order.value](a, b) || collator.compare(a.path, b.path));
  const wanted = shownRuns.map(rowFor);
  const focused = document.activeElement?.closest?.(".run")?.dataset.id;
  if (wanted.length !== list.children.length || wanted.some((row, at) => row !== list.children[at])) {
    list.replaceChildren(...wanted);
    if (focused) list.querySelector(`[data-id="${focused}"] :is(input, a)`)?.focus({ preventScroll: true });
  }
  const n = runs.filter((run) => !run.within).length;
  const hidden = runs.length - n;
  const total = parts.checked ? runs.length : n;
  const noun = total === 1 ? "run" : "runs";
  const count = shownRuns.length === total ? `${whole(total)} ${noun}` : `${whole(shownRuns.length)} of ${whole(total)} ${noun}`;
  told.textContent = [
    isAway ? "The server is not there any more; this is what it last said." : "",
    runs.length ? `${count}.` : "No run is here.",
    hidden && !parts.checked ? `${whole(hidden)} parts of larger jobs are not shown.` : "",
    notice,
  ].filter(Boolean).join(" ");
  drawBar();
}

function take(data) {
  runs = data.runs;
  notice = data.notice || "";
  comparisons = data.comparisons ?? null;
  for (const id of [...chosen]) if (!runs.some((run) => run.id === id && run.is_comparable)) chosen.splice(chosen.indexOf(id), 1);
  fillChoices();
  draw();
}

async function poll() {
  try {
    const answer = await fetch(`api/runs?seen=${version}`);
    if (!answer.ok) throw new Error(String(answer.status));
    const data = await answer.json();
    const wasAway = isAway;
    isAway = false;
    if (data.runs) {
      version = data.version;
      take(data);
    } else if (wasAway) {
      draw();
    }
  } catch {
    isAway = true;
    draw();
  }
  for (const line of document.querySelectorAll("[data-written]")) line.textContent = `begun and not ended; last written ${ago(Number(line.dataset.written))}`;
  // While headlines are being read the next look comes sooner.
  const isReading = runs.some((run) => run.has_page && !run.is_read);
  setTimeout(poll, document.hidden ? 5 * POLL_MS : isReading ? POLL_MS / 4 : POLL_MS);
}

const tools = document.getElementById("tools");
tools.append(make("label", {}, "search", search), make("label", {}, "kind", kinds), make("label", {}, "state", states),
  make("label", {}, "order", order), make("label", { class: "check" }, parts, "parts of larger jobs"));
tools.addEventListener("submit", (event) => event.preventDefault());
tools.addEventListener("input", draw);
tools.addEventListener("change", draw);

async function begin() {
  if (document.getElementById("listed")) take(await unpack("listed"));
  else await poll();
  document.documentElement.dataset.ready = "1";
}

begin();
