"use strict";
/* Sorting of tables by a click on a head. */

/* Undefined values stand last whichever way a column is sorted. */
function compare(left, right, direction) {
  const noLeft = left === null || left === "" || Number.isNaN(left);
  const noRight = right === null || right === "" || Number.isNaN(right);
  if (noLeft || noRight) return noLeft - noRight;
  if (typeof left === "number" && typeof right === "number") return direction * (left - right);
  return direction * collator.compare(String(left), String(right));
}

function sortButton(head, onSort) {
  const button = make("button", { type: "button", title: "Sort by this column" });
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const ascending = head.getAttribute("aria-sort") === "ascending";
    const numeric = head.classList.contains("n");
    const sorted = head.hasAttribute("aria-sort");
    const direction = sorted ? (ascending ? -1 : 1) : numeric ? -1 : 1;
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    onSort(direction);
  });
}

function makeSortable(table) {
  const body = table.tBodies[0];
  if (!body || body.rows.length < 3) return;
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    const numeric = head.classList.contains("n");
    const key = (row) => {
      const cell = row.cells[place];
      if (!numeric) return cell.textContent.trim();
      return cell.dataset.v === undefined ? null : Number(cell.dataset.v);
    };
    sortButton(head, (direction) => {
      const rows = [...body.rows].map((row) => [key(row), row]);
      rows.sort((a, b) => compare(a[0], b[0], direction));
      body.append(...rows.map((pair) => pair[1]));
    });
  });
}
