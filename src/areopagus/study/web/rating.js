// A rating page: all responses of one question, a score on each criterion, and the order they make.

import { isShort, promptFeedback, reasons, told as toldLength } from "./answers.js";
import { ownOrder } from "./ranking.js";
import { Saver } from "./saving.js";

const MOST_ON_A_LINE = 12;
const MOST_BUTTONS = 21; // a longer scale is typed

export function showRating(frame, page) {
  const { study, make, told } = frame;
  const { dimensions, low, high } = study.rubric;
  const scores = {};
  for (const { label } of page.responses) scores[label] = { ...page.scores[label] };
  let isDone = page.done;

  const order = make("ol", { "aria-label": "Order of the responses, best first" });
  const spoken = make("span", { class: "skip", role: "status", "aria-live": "polite" });
  const done = make("button", { type: "button", class: "main", id: "done" });
  const hint = make("p", { class: "quiet", id: "hint" });
  const comment = make("textarea", { id: "comment", rows: 5, maxlength: 20000, "aria-describedby": "comment-hint" });
  comment.value = page.comment;
  const rows = new Map();
  const changed = () => saver.changed();
  const mustSay = study.justify.includes("overall");
  const why = reasons({
    make, justify: study.justify.filter((name) => name !== "overall"), least: study.justify_chars, given: page.reasons,
    labelOf: (name) => dimensions.find(({ id }) => id === name).label, changed,
  });
  const feedback = promptFeedback({ make, given: page.feedback, changed });
  const own = study.rank ? ownOrder({
    make, labels: page.responses.map(({ label }) => label), places: page.places, jump, changed,
    byScores: () => {
      if (missing()) return null;
      const whole = ranked();
      return [...new Set(whole.map(({ place }) => place))]
        .map((place) => whole.filter((one) => one.place === place).map(({ label }) => label));
    },
  }) : null;

  const saver = new Saver({
    path: `api/pages/${page.number}`,
    revision: page.revision,
    content: () => ({
      scores: structuredClone(scores), comment: comment.value, places: own ? own.places() : {},
      reasons: why.content(), feedback: feedback.content(), done: isDone && missing() === 0 && lacking() === null,
    }),
    told,
    answered: () => {},
    conflicted: () => frame.again(),
  });

  function missing(label = null) {
    const labels = label === null ? Object.keys(scores) : [label];
    return labels.reduce((sum, one) =>
      sum + dimensions.filter(({ id }) => scores[one][id] === undefined).length, 0);
  }

  // What is asked for beside the scores and not there: where to go, and what to say.
  function lacking() {
    if (own && !own.isGiven()) return [own.focus, "Your order is still open"];
    const short = why.missing() || (mustSay && isShort(comment.value, study.justify_chars) ? comment : null);
    return short && [() => short.focus(), `Please give a reason of at least ${study.justify_chars} characters`];
  }

  // Only responses with all scores have a place; equal sums share one.
  function ranked() {
    const whole = Object.keys(scores).filter((label) => missing(label) === 0)
      .map((label) => ({ label, sum: dimensions.reduce((all, { id }) => all + scores[label][id], 0) }));
    whole.sort((a, b) => b.sum - a.sum || a.label.localeCompare(b.label));
    for (const one of whole) {
      one.place = 1 + whole.filter((other) => other.sum > one.sum).length;
      one.isTied = whole.some((other) => other !== one && other.sum === one.sum);
    }
    return whole;
  }

  function chip(label, inside, isOpen) {
    return make("li", { class: isOpen ? "open" : "placed" }, make("button", {
      type: "button", class: "chip", on: { click: () => jump(label) },
    }, ...inside));
  }

  function jump(label) {
    const heading = document.getElementById(`response-${label}`);
    heading.scrollIntoView({ block: "start" });
    heading.focus({ preventScroll: true });
  }

  function drawn() {
    const whole = ranked();
    const open = Object.keys(scores).filter((label) => missing(label) > 0);
    order.replaceChildren(
      ...whole.map((one) => chip(one.label, [
        make("span", { class: "place" }, `${one.place}${one.isTied ? "=" : ""}`),
        make("b", {}, one.label), make("span", { class: "sum" }, String(one.sum)),
      ], false)),
      ...open.map((label) => chip(label, [
        make("b", {}, label), make("span", { class: "sum" }, `${missing(label)} left`),
      ], true)),
    );
    for (const [label, note] of rows) {
      const left = missing(label);
      const mine = whole.find((one) => one.label === label);
      note.textContent = left ? `${left} of ${dimensions.length} to score`
        : `sum ${mine.sum} of ${high * dimensions.length}, place ${mine.place}${mine.isTied ? " (shared)" : ""}`;
    }
    const said = whole.map((one) => `${one.place}${one.isTied ? " shared" : ""}: ${one.label}`).join(", ");
    if (spoken.textContent !== said) spoken.textContent = said;
    const left = missing();
    hint.textContent = left ? `${left} scores are still open.` : "All scores are given.";
    done.textContent = isDone && !left ? "Done: go on" : "Done with this question";
  }

  function fieldset(label, dimension) {
    const name = `${label}-${dimension.id}`;
    const values = [];
    for (let score = low; score <= high; score += 1) values.push(score);
    const box = make("fieldset", { id: `field-${name}` });
    const clear = make("button", { type: "button", class: "plain", hidden: scores[label][dimension.id] === undefined,
      "aria-label": `Clear ${dimension.label} of response ${label}` }, "clear");
    const isTyped = values.length > MOST_BUTTONS;
    const scale = make("div", { class: isTyped ? "typed" : values.length > MOST_ON_A_LINE ? "scale many" : "scale" });
    if (isTyped) {
      const input = make("input", { type: "number", class: "number", inputmode: "numeric", min: low, max: high,
        step: 1, value: scores[label][dimension.id], "aria-label": `Score from ${low} to ${high}` });
      input.addEventListener("change", () => {
        const score = input.value.trim() === "" ? undefined : Number(input.value);
        if (score === undefined || (Number.isInteger(score) && score >= low && score <= high)) set(score);
        else told(`A score is a whole number from ${low} to ${high}`, true);
      });
      scale.append(input);
    }
    for (const score of isTyped ? [] : values) {
      const input = make("input", { type: "radio", name, value: score,
        "aria-label": score === low ? `${score}, worst` : score === high ? `${score}, best` : String(score),
        checked: scores[label][dimension.id] === score });
      input.addEventListener("change", () => set(score));
      scale.append(make("label", {}, input, make("span", { "aria-hidden": "true" }, String(score))));
    }
    function set(score) {
      if (score === undefined) {
        delete scores[label][dimension.id];
        for (const input of scale.querySelectorAll("input")) {
          if (isTyped) input.value = "";
          else input.checked = false;
        }
        isDone = false;
      } else {
        scores[label][dimension.id] = score;
      }
      clear.hidden = score === undefined;
      box.classList.remove("missing");
      drawn();
      saver.changed();
    }
    clear.addEventListener("click", () => { set(undefined); scale.querySelector("input").focus(); });
    box.append(
      make("legend", {}, make("span", { class: "label" }, dimension.label), clear,
        make("button", { type: "button", class: "plain what", "aria-label": `What is ${dimension.label}?`,
          title: dimension.question, on: { click: () => frame.showCriteria(study.rubric, dimension.id) } }, "?")),
      scale,
    );
    return box;
  }

  function card({ label, text }) {
    const note = make("span", {});
    rows.set(label, note);
    return make("section", { class: "response", "aria-labelledby": `response-${label}` },
      make("h2", { id: `response-${label}`, tabindex: "-1" }, `Response ${label}`, note),
      make("div", { class: "body" },
        make("div", { class: "read" }, make("div", { class: "text" }, text)),
        make("div", { class: "score" }, make("div", { class: "stay" },
          ...dimensions.map((dimension) => fieldset(label, dimension)),
          make("p", { class: "ends", "aria-hidden": "true" },
            make("span", {}, `${low} worst`), make("span", {}, `${high} best`))))));
  }

  done.addEventListener("click", async () => {
    if (missing()) {
      let first = null;
      for (const label of Object.keys(scores)) {
        for (const { id } of dimensions) {
          const box = document.getElementById(`field-${label}-${id}`);
          const isMissing = scores[label][id] === undefined;
          box.classList.toggle("missing", isMissing);
          if (isMissing && first === null) first = box;
        }
      }
      first.scrollIntoView({ block: "center" });
      first.querySelector("input").focus({ preventScroll: true });
      told(`${missing()} scores are still open`, true);
      return;
    }
    const open = lacking();
    if (open) {
      open[0]();
      told(open[1], true);
      return;
    }
    isDone = true;
    done.disabled = true;
    saver.goesOn(frame.next);
    saver.changed();
    await saver.flush();
    done.disabled = false;
  });
  const commentHint = make("p", { class: "quiet small", id: "comment-hint" });
  const hinted = () => {
    const length = mustSay ? ` ${toldLength(comment.value, study.justify_chars)}` : "";
    commentHint.textContent = `Speak of responses by their letters.${length}`;
  };
  comment.addEventListener("input", () => { hinted(); changed(); });
  hinted();

  frame.show(frame.title, ...[
    make("section", { class: "question" }, make("h1", {}, frame.title), make("div", { class: "text" }, page.prompt)),
    make("div", { class: "ranking" }, make("h2", {}, own ? "By your scores" : "Order so far"), order, spoken,
      make("span", { class: "tools" }, make("button", { type: "button", class: "plain", id: "show-criteria",
        on: { click: () => frame.showCriteria(study.rubric) } }, "Criteria"))),
    ...page.responses.map(card),
    own && own.element,
    make("section", { class: "why" }, ...why.boxes,
      make("label", { for: "comment" }, mustSay ? "Why this order?" : "Why this order? (optional)"), comment,
      commentHint, feedback.element, hint,
      make("p", { class: "steps" }, done)),
  ].filter(Boolean));
  drawn();
  told(page.revision ? "Saved" : "");
  return { saver };
}
