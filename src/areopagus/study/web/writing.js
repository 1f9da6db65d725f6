// A writing page: the question appears when the clock starts; what is there when it ends counts.

import { Saver } from "./saving.js";

function counted(text) {
  const found = text.trim().split(/\s+/);
  return found[0] === "" ? 0 : found.length;
}

function clockText(seconds) {
  const whole = Math.max(0, Math.ceil(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

export function showWriting(frame, page) {
  return page.started ? editor(frame, page) : beginning(frame, page);
}

function beginning(frame, page) {
  const { study, make } = frame;
  const limit = study.minutes
    ? `You have ${study.minutes} minutes. The clock starts with the button below and cannot be stopped.`
    : "There is no limit of time.";
  frame.show(frame.title, make("h1", {}, frame.title),
    make("p", {}, limit), make("p", {}, `Aim at about ${study.words} words.`),
    make("p", { class: "steps" }, make("button", { type: "button", class: "main", id: "start", on: {
      click: async (event) => {
        event.target.disabled = true;
        try {
          await frame.start();
        } catch {
          event.target.disabled = false;
          frame.told("The study cannot be reached: try again", true);
          return;
        }
        frame.again();
      },
    } }, "Show the question and start")));
  return {};
}

function editor(frame, page) {
  const { study, make, told } = frame;
  const area = make("textarea", { id: "text", maxlength: 100000, spellcheck: "true", "aria-describedby": "words" });
  area.value = page.text;
  const words = make("span", { id: "words" });
  const clock = make("span", { class: "clock", role: "timer" });
  const spoken = make("span", { class: "skip", role: "status", "aria-live": "polite" });
  const done = make("button", { type: "button", class: "main", id: "done" }, "Hand in");
  const over = make("p", { class: "notice", hidden: true });
  let pasted = 0;
  let isDone = page.done;
  const ends = page.seconds_left === null ? null : performance.now() + 1000 * page.seconds_left;

  const saver = new Saver({
    path: `api/pages/${page.number}`,
    revision: page.revision,
    content: () => {
      const sent = { text: area.value, done: isDone, pasted_chars: pasted };
      pasted = 0;
      return sent;
    },
    told,
    answered: () => {},
    conflicted: () => frame.again(),
  });

  function counting() {
    const n = counted(area.value);
    words.textContent = `${n} ${n === 1 ? "word" : "words"} of about ${study.words}`;
    done.disabled = n === 0;
  }

  function close(text) {
    area.readOnly = true;
    done.hidden = true;
    over.textContent = text;
    over.hidden = false;
    clearInterval(timer);
  }

  let timer = null;
  async function tick() {
    const left = (ends - performance.now()) / 1000;
    clock.textContent = `${clockText(left)} left`;
    clock.classList.toggle("low", left < 120);
    for (const minutes of [5, 1]) {
      if (Math.ceil(left) === 60 * minutes) spoken.textContent = `${minutes} minutes left`;
    }
    if (left > 0) return;
    close("The time is up. What you have written is handed in as it is.");
    spoken.textContent = over.textContent;
    if (area.value.trim()) isDone = true;
    saver.changed();
    await saver.flush();
  }

  area.addEventListener("input", () => { counting(); saver.changed(); });
  area.addEventListener("paste", (event) => {
    pasted += (event.clipboardData ? event.clipboardData.getData("text/plain").length : 0);
  });
  done.addEventListener("click", async () => {
    const isSure = await frame.confirmed("Hand in?", `Your response has ${counted(area.value)} words. `
      + "It cannot be changed once it is handed in.", "Hand in");
    if (!isSure) return;
    isDone = true;
    saver.goesOn(frame.next);
    saver.changed();
    await saver.flush();
  });

  frame.show(frame.title,
    make("section", { class: "question" }, make("h1", {}, frame.title), make("div", { class: "text" }, page.prompt)),
    make("section", { class: "writing" },
      make("label", { for: "text" }, "Your response"), over,
      make("p", { class: "meter" }, words, ends === null ? null : clock, spoken), area,
      make("p", { class: "steps" }, done)));
  counting();
  told(page.revision ? "Saved" : "");
  if (page.done) close("This response is handed in.");
  else if (ends !== null) { timer = setInterval(tick, 500); tick(); }
  if (!page.done) area.focus();
  return { saver, stop: () => clearInterval(timer) };
}
