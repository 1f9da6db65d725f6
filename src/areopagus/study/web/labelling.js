// A labelling page: one item, one question, one label of those that the study has.

import { promptFeedback } from "./answers.js";
import { Saver } from "./saving.js";

export function showLabelling(frame, page) {
  const { study, make, told } = frame;
  let chosen = page.label;
  let isDone = page.done;
  const done = make("button", { type: "button", class: "main", id: "done" });
  const comment = make("textarea", { id: "comment", rows: 3, maxlength: 20000 });
  comment.value = page.comment;
  const feedback = promptFeedback({ make, given: page.feedback, changed: () => saver.changed() });
  const saver = new Saver({
    path: `api/pages/${page.number}`,
    revision: page.revision,
    content: () => ({ label: chosen, comment: comment.value, feedback: feedback.content(), done: isDone && chosen !== null }),
    told,
    answered: () => {},
    conflicted: () => frame.again(),
  });
  const drawn = () => { done.textContent = isDone ? "Done: go on" : "Done with this question"; };
  const box = make("fieldset", { id: "labels" }, make("legend", {}, study.question),
    ...study.categories.map(({ name, shown }) => {
      const input = make("input", { type: "radio", name: "label", value: name, checked: chosen === name });
      input.addEventListener("change", () => { chosen = name; box.classList.remove("missing"); saver.changed(); });
      return make("label", { class: "choice" }, input, shown);
    }));
  done.addEventListener("click", async () => {
    if (chosen === null) {
      box.classList.add("missing");
      box.querySelector("input").focus();
      told("No label is chosen yet", true);
      return;
    }
    isDone = true;
    done.disabled = true;
    saver.goesOn(frame.next);
    saver.changed();
    await saver.flush();
    done.disabled = false;
  });
  comment.addEventListener("input", () => saver.changed());
  frame.show(frame.title,
    make("section", { class: "question" }, make("h1", {}, frame.title), make("div", { class: "text" }, page.prompt)),
    box,
    make("section", { class: "why" }, make("label", { for: "comment" }, "Why? (optional)"), comment,
      feedback.element, make("p", { class: "steps" }, done)));
  drawn();
  told(page.revision ? "Saved" : "");
  return { saver };
}
