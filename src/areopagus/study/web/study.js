// The frame: overview, moving between pages, the rubric, and how saving goes.
// Text is only ever set as text; the page's policy forbids anything else.

import { ask, Refused } from "./saving.js";
import { showLabelling } from "./labelling.js";
import { showRating } from "./rating.js";
import { showWriting } from "./writing.js";

const main = document.getElementById("main");
const where = document.getElementById("where");
const saved = document.getElementById("saved");
const home = document.getElementById("home");
const dialog = document.getElementById("dialog");

export function make(tag, given = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [kind, act] of Object.entries(value)) element.addEventListener(kind, act);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...inside.filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

export function told(text, isBad = false) {
  if (saved.textContent !== text) saved.textContent = text;
  saved.classList.toggle("bad", isBad);
}

export function duration(seconds) {
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 2) return "a minute";
  if (minutes < 90) return `${minutes} minutes`;
  const hours = Math.round(minutes / 60);
  return hours < 36 ? `${hours} hours` : `${Math.round(hours / 24)} days`;
}

const AGAIN_MS = 3000;

let current = null; // what is shown, with stop() and saver
let study = null;

async function leave() {
  if (current && current.saver) {
    await current.saver.flush();
    if (current.saver.isUnsaved && !current.saver.isOver) return false;
    current.saver.stop();
  }
  if (current && current.stop) current.stop();
  current = null;
  return true;
}

function show(title, ...inside) {
  main.replaceChildren(...inside);
  where.textContent = title;
  document.title = title;
  scrollTo({ top: 0, behavior: "instant" });
  main.focus({ preventScroll: true });
}

const STATES = { done: "done", started: "started", new: "not started", later: "later" };

async function overview() {
  told("");
  home.hidden = true;
  study = await ask("api/study");
  const isWriting = study.kind === "writing";
  const done = study.pages.filter((page) => page.state === "done").length;
  const next = study.pages.find((page) => page.state === "started" || page.state === "new");
  const parts = [make("h1", {}, study.title)];
  parts.push(make("p", {}, `${done} of ${study.pages.length} questions done.`));
  const bar = make("span", {});
  bar.style.width = `${study.pages.length ? (100 * done) / study.pages.length : 0}%`;
  parts.push(make("div", { class: "bar", "aria-hidden": "true" }, bar));
  if (study.is_finished) {
    parts.push(make("p", { class: "notice" }, "You are through with all questions. Thank you. "
      + (isWriting ? "" : "You can still look at your answers and change them.")));
  } else if (study.opens_in_s > 0) {
    parts.push(make("p", { class: "notice", id: "pause" },
      `That is enough for one sitting. The next one opens in ${duration(study.opens_in_s)}; `
      + "come back by the same link."));
    const timer = setTimeout(() => go(0, true), Math.min(study.opens_in_s * 1000 + 1500, 2 ** 31 - 1));
    current = { stop: () => clearTimeout(timer) };
  } else if (next) {
    const word = done || next.state === "started" ? "Go on" : "Begin";
    parts.push(make("p", { class: "steps" }, make("button", {
      type: "button", class: "main", id: "begin", on: { click: () => go(next.number) },
    }, `${word} with question ${next.number}`)));
  }
  parts.push(make("h2", {}, "What to do"));
  for (const paragraph of study.instructions.split(/\n\s*\n/)) {
    parts.push(make("p", { class: "text" }, paragraph.trim()));
  }
  parts.push(make("p", {}, "Everything is saved while you work. Your link brings you back to where you were, "
    + "on this device or another; keep it to yourself."));
  if (isWriting) {
    const limit = study.minutes ? `You have ${study.minutes} minutes for each question; the clock runs from when you start it. ` : "";
    parts.push(make("p", {}, `${limit}Aim at about ${study.words} words.`));
  }
  const sessions = [...new Set(study.pages.map((page) => page.session))];
  for (const session of sessions) {
    parts.push(make("h2", {}, sessions.length > 1 ? `Sitting ${session} of ${sessions.length}` : "Questions"));
    parts.push(make("ul", { class: "pages" }, ...study.pages.filter((page) => page.session === session).map((page) =>
      make("li", { class: page.state }, make("button", {
        type: "button", disabled: page.state === "later", on: { click: () => go(page.number) },
      }, `Question ${page.number}`, make("span", { class: "state" }, STATES[page.state]))))));
  }
  if (study.rubric) {
    parts.push(make("h2", { id: "criteria" }, "What you score"));
    parts.push(...rubricParts(study.rubric));
  }
  show(study.title, ...parts);
}

function anchors(found) {
  if (!found.length) return null;
  return make("dl", { class: "anchors" }, ...found.flatMap((one) =>
    [make("dt", {}, String(one.score)), make("dd", {}, one.text)]));
}

function rubricParts(rubric, only = null) {
  const shown = rubric.dimensions.filter((one) => only === null || one.id === only);
  return [
    only === null ? make("p", {}, rubric.purpose) : null,
    only === null ? make("p", {}, `Scores go from ${rubric.low} (worst) to ${rubric.high} (best).`) : null,
    only === null ? anchors(rubric.anchors) : null,
    ...shown.flatMap((one) => [
      make("h3", {}, one.label),
      make("p", {}, one.definition),
      make("p", {}, make("em", {}, one.question)),
      anchors(one.anchors),
    ]),
  ].filter((one) => one !== null);
}

export function showCriteria(rubric, only = null) {
  const title = only === null ? "The criteria" : "The criterion";
  dialog.replaceChildren(
    make("div", { class: "close" }, make("h2", { id: "dialog-title" }, title),
      make("button", { type: "button", on: { click: () => dialog.close() } }, "Close")),
    make("div", { class: "inside" }, ...rubricParts(rubric, only)),
  );
  dialog.showModal();
  dialog.scrollTop = 0;
}

// Asks before something that cannot be taken back.
export function confirmed(title, text, yes) {
  return new Promise((resolve) => {
    const answer = (said) => () => { resolve(said); dialog.close(); };
    dialog.replaceChildren(
      make("div", { class: "close" }, make("h2", { id: "dialog-title" }, title)),
      make("div", { class: "inside" }, make("p", {}, text), make("p", { class: "steps" },
        make("button", { type: "button", class: "main", on: { click: answer(true) } }, yes),
        make("button", { type: "button", on: { click: answer(false) } }, "Not yet"))),
    );
    dialog.addEventListener("close", () => resolve(false), { once: true });
    dialog.showModal();
  });
}

async function page(number) {
  const [found, overall] = await Promise.all([ask(`api/pages/${number}`), ask("api/study")]);
  study = overall;
  home.hidden = false;
  const frame = {
    study, number, make, told, show, confirmed, showCriteria,
    title: `Question ${number} of ${study.pages.length}`,
    next: (reply) => {
      const pages = reply.study.pages;
      const open = (one) => one.state === "new" || one.state === "started";
      const later = pages.find((one) => one.number > number && open(one)) || pages.find(open);
      return go(later ? later.number : 0);
    },
    again: () => go(number, true),
    start: () => ask(`api/pages/${number}/start`, { method: "POST" }),
  };
  const shown = { rating: showRating, writing: showWriting, labelling: showLabelling }[study.kind];
  current = shown(frame, found);
}

async function go(number, isReplacing = false) {
  if (!(await leave())) return;
  history[isReplacing ? "replaceState" : "pushState"]({ page: number }, "", location.href);
  await load();
}

async function load() {
  const number = (history.state && history.state.page) || 0;
  try {
    await (number ? page(number) : overview());
  } catch (error) {
    failed(error);
  }
}

function failed(error) {
  home.hidden = true;
  told("");
  if (error instanceof Refused && error.status === 401) {
    show("Study", make("h1", {}, "This link is not known"),
      make("p", {}, "Open the whole link that the organiser sent you, or ask for a new one."));
  } else if (error instanceof Refused && error.status < 500) {
    show("Study", make("h1", {}, "Not now"), make("p", {}, error.message),
      make("button", { type: "button", class: "main", on: { click: () => go(0, true) } }, "All questions"));
  } else {
    const timer = setTimeout(load, AGAIN_MS);
    current = { stop: () => clearTimeout(timer) };
    show("Study", make("h1", {}, "The study cannot be reached"),
      make("p", {}, "What was saved is safe. This page tries again by itself."),
      make("button", { type: "button", class: "main", on: { click: () => { clearTimeout(timer); load(); } } },
        "Try now"));
  }
}

home.addEventListener("click", () => go(0));
addEventListener("popstate", async () => { if (await leave()) await load(); });
addEventListener("hashchange", () => { if (location.hash.length > 20) location.reload(); });
document.querySelector(".skip").addEventListener("click", (event) => {
  // Following it would put #main in the place of the link's secret.
  event.preventDefault();
  main.focus();
});
load();
