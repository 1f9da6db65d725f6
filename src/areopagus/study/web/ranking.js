// The order that a rater gives the responses: by drag, by keys or by buttons; ties are allowed.
// Nothing is an order before the rater has made it one.

export function ownOrder({ make, labels, places, byScores, jump, changed }) {
  let groups = null; // from the best on, each a list of labels that share a place
  if (Object.keys(places).length) {
    groups = [...new Set(Object.values(places))].sort((a, b) => a - b)
      .map((place) => labels.filter((label) => places[label] === place));
  }
  const list = make("ol", { class: "own", "aria-label": "Your order, best first" });
  const note = make("p", { class: "quiet small", id: "order-note" });
  const spoken = make("span", { class: "skip", role: "status", "aria-live": "polite" });
  let dragged = null;

  const shown = () => groups || labels.map((label) => [label]);

  function placeOf(label) {
    let before = 0;
    for (const group of shown()) {
      if (group.includes(label)) return { place: before + 1, isShared: group.length > 1 };
      before += group.length;
    }
    return null;
  }

  // Takes a response out and puts it before the group at a place among the groups that stay.
  function put(label, at) {
    const left = shown().map((group) => group.filter((one) => one !== label)).filter((group) => group.length);
    left.splice(Math.max(0, Math.min(left.length, at)), 0, [label]);
    given(left, label);
  }

  function step(label, by) {
    const now = shown();
    const at = now.findIndex((group) => group.includes(label));
    // Out of a shared place first, then past the next one.
    if (now[at].length > 1) put(label, by < 0 ? at : at + 1);
    else put(label, at + by);
  }

  function share(label) {
    const now = shown().map((group) => [...group]);
    const at = now.findIndex((group) => group.includes(label));
    if (now[at].length > 1) {
      put(label, at + 1);
      return;
    }
    if (now.length < 2) return;
    const other = at > 0 ? at - 1 : 1;
    now[other] = [...now[other], label].sort();
    now.splice(at, 1);
    given(now, label);
  }

  function given(next, label) {
    groups = next;
    drawn();
    const { place, isShared } = placeOf(label);
    spoken.textContent = `Response ${label}: place ${place}${isShared ? ", shared" : ""}`;
    document.getElementById(`order-${label}`).focus();
    changed();
  }

  function targetAt(y) {
    const rows = [...list.children].filter((row) => row.dataset.label !== dragged);
    const heads = new Map(); // group to its vertical middle
    const left = shown().map((group) => group.filter((one) => one !== dragged)).filter((group) => group.length);
    left.forEach((group, at) => {
      const boxes = rows.filter((row) => group.includes(row.dataset.label)).map((row) => row.getBoundingClientRect());
      heads.set(at, (boxes[0].top + boxes[boxes.length - 1].bottom) / 2);
    });
    return { at: [...heads.values()].filter((middle) => middle < y).length, left };
  }

  // The list is drawn anew only when the drag ends: a touch would lose what it holds.
  function marked(y) {
    for (const row of list.children) row.classList.remove("before", "after");
    const { at, left } = targetAt(y);
    const next = at < left.length ? left[at][0] : left[left.length - 1].at(-1);
    list.querySelector(`[data-label="${next}"]`)?.classList.add(at < left.length ? "before" : "after");
  }

  function handle(label) {
    const { place, isShared } = placeOf(label);
    const button = make("button", {
      type: "button", class: "handle", id: `order-${label}`, "aria-describedby": "order-note",
      "aria-label": `Response ${label}, ${groups ? `place ${place}${isShared ? ", shared" : ""}` : "not placed yet"}`,
    }, make("span", { class: "grip", "aria-hidden": "true" }, "\u283f"),
    make("span", { class: "place" }, groups ? `${place}${isShared ? "=" : ""}` : "\u2013"), make("b", {}, label));
    button.addEventListener("keydown", (event) => {
      const act = { ArrowUp: () => step(label, -1), ArrowDown: () => step(label, 1), "=": () => share(label) }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
    button.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      dragged = label;
      const from = event.clientY;
      let isMoved = false;
      button.setPointerCapture(event.pointerId);
      const move = (now) => {
        isMoved ||= Math.abs(now.clientY - from) > 6;
        if (isMoved) {
          button.closest("li").classList.add("dragged");
          marked(now.clientY);
        }
      };
      const end = (now) => {
        for (const kind of ["pointermove", "pointerup", "pointercancel"]) button.removeEventListener(kind, kind === "pointermove" ? move : end);
        const { at } = targetAt(now.clientY);
        const isDropped = isMoved && now.type === "pointerup";
        dragged = null;
        if (isDropped) put(label, at);
        else if (isMoved) drawn();
      };
      button.addEventListener("pointermove", move);
      button.addEventListener("pointerup", end);
      button.addEventListener("pointercancel", end);
    });
    return button;
  }

  function drawn() {
    const act = (word, text, go) => make("button", { type: "button", class: "plain", "aria-label": text, on: { click: go } }, word);
    const flat = shown().flat();
    list.replaceChildren(...flat.map((label) => make("li", {
      "data-label": label, class: placeOf(label).isShared && groups ? "shared" : null,
    }, handle(label),
    act("\u2191", `Move ${label} up`, () => step(label, -1)),
    act("\u2193", `Move ${label} down`, () => step(label, 1)),
    act("=", `Response ${label} shares a place with its neighbour, or no longer`, () => share(label)),
    act("read", `Go to response ${label}`, () => jump(label)))));
    note.textContent = groups
      ? "Drag, or use the arrow keys; = lets a response share the place above it."
      : "Not ordered yet. Drag, or use the arrow keys; = lets a response share the place above it.";
  }

  const take = make("button", { type: "button", id: "take-scores", on: { click: () => {
    const found = byScores();
    if (!found) {
      note.textContent = "Score all responses first: only then do the scores make an order.";
      return;
    }
    given(found, found[0][0]);
  } } }, "Take the order of my scores");

  drawn();
  return {
    element: make("section", { class: "order", "aria-labelledby": "own-order" },
      make("h2", { id: "own-order", tabindex: "-1" }, "Your order"), note, list, spoken, take),
    places: () => (groups ? Object.fromEntries(labels.map((label) => [label, placeOf(label).place])) : {}),
    isGiven: () => groups !== null,
    focus: () => {
      const first = list.querySelector(".handle");
      first.scrollIntoView({ block: "center" });
      first.focus({ preventScroll: true });
    },
  };
}
