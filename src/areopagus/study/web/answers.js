// What a page asks in words: reasons, and what is wrong with a question.

export function reasons({ make, justify, least, labelOf, given, changed }) {
  const fields = new Map();
  const boxes = justify.map((name) => {
    const area = make("textarea", { id: `reason-${name}`, rows: 3, maxlength: 20000, "aria-required": "true",
      "aria-describedby": `reason-hint-${name}` });
    area.value = given[name] || "";
    const hint = make("p", { class: "quiet small", id: `reason-hint-${name}` });
    const counted = () => { hint.textContent = told(area.value, least); };
    area.addEventListener("input", () => { counted(); changed(); });
    counted();
    fields.set(name, area);
    return make("div", {}, make("label", { for: `reason-${name}` }, `Why these scores on ${labelOf(name)}?`), area, hint);
  });
  return {
    boxes,
    content: () => Object.fromEntries([...fields].map(([name, area]) => [name, area.value])),
    missing: () => [...fields.values()].find((area) => isShort(area.value, least)) || null,
  };
}

// In characters as the server counts them.
export function isShort(text, least) {
  return [...text.trim()].length < least;
}

export function told(text, least) {
  const left = least - [...text.trim()].length;
  return left > 0 ? `Asked for: at least ${least} characters, ${left} to go.` : "Long enough.";
}

const KINDS = { "": "Nothing", unclear: "It is unclear", offensive: "It is offensive", other: "Something else" };

export function promptFeedback({ make, given, changed }) {
  const [kind, text] = Object.entries(given)[0] || ["", ""];
  const select = make("select", { id: "feedback-kind" },
    ...Object.entries(KINDS).map(([value, word]) => make("option", { value, selected: value === kind }, word)));
  const area = make("textarea", { id: "feedback", rows: 3, maxlength: 20000 });
  area.value = text;
  const more = make("div", { hidden: !kind }, make("label", { for: "feedback" }, "What is wrong (optional)"), area);
  select.addEventListener("change", () => { more.hidden = !select.value; changed(); });
  area.addEventListener("input", () => changed());
  return {
    element: make("details", { class: "feedback", open: Boolean(kind) },
      make("summary", {}, "Is anything wrong with the question itself?"),
      make("label", { for: "feedback-kind" }, "What is wrong with it"), select, more),
    content: () => (select.value ? { [select.value]: area.value } : {}),
  };
}
