"use strict";
/* Draws the long tables, sorts the others, and opens the view that the address names. */

const all = new Map();
const dialog = document.getElementById("record");
let opener = null;

/* Marks what scrolls sideways for as long as more stands beyond its right edge. */
function announceMore(element) {
  const look = () => element.classList.toggle("more", element.scrollLeft + element.clientWidth < element.scrollWidth - 4);
  element.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(element);
}

function followAddress() {
  const match = /^#([\w-]+)\/(\d+)$/.exec(location.hash);
  const records = match && all.get(match[1]);
  if (!records || Number(match[2]) >= records.n) {
    if (dialog.open) dialog.close();
    return;
  }
  if (!dialog.open) opener = document.activeElement;
  records.open(Number(match[2]));
}

dialog.addEventListener("close", () => {
  if (/\/\d+$/.test(location.hash)) {
    history.replaceState(null, "", location.hash.replace(/\/\d+$/, "-records"));
  }
  const row = opener?.closest?.("tr[data-row]")?.dataset.row;
  const again = opener?.isConnected ? opener : row && document.querySelector(`tr[data-row="${row}"] a`);
  again?.focus?.({ preventScroll: true });
});

/* A folded section opens when a link leads into it, and on paper. */
function unfold() {
  const at = document.getElementById(location.hash.slice(1));
  at?.closest("details")?.setAttribute("open", "");
}

async function start() {
  for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);
  for (const wide of document.querySelectorAll(".scroll, .drawing")) announceMore(wide);
  for (const root of document.querySelectorAll(".records")) {
    try {
      const records = new Records(root, await unpack(`${root.dataset.name}-table`));
      records.draw();
      all.set(root.dataset.name, records);
    } catch (error) {
      root.append(make("p", { class: "notice" }, `The rows cannot be drawn: ${error.message}`));
    }
  }
  addEventListener("hashchange", followAddress);
  addEventListener("hashchange", unfold);
  unfold();
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("main details")) folded.open = true;
  });
  addEventListener("beforeprint", () => { for (const records of all.values()) records.render(true, MOST_PRINTED); });
  addEventListener("afterprint", () => { for (const records of all.values()) records.render(true); });
  NARROW.addEventListener("change", () => { for (const records of all.values()) records.lay(); });
  followAddress();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start();
