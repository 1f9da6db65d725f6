"use strict";
/* A long table: only the rows in sight are in the document; each row has a view. */

/* Rem that a column takes: what its kind needs, and room for the longest word of its head. */
function columnWidth(column, place) {
  const longest = Math.max(...column.title.split(/\s+/).map((word) => word.length));
  if (NARROW.matches) return Math.max(NARROW_WIDTHS[column.kind], Math.min(11, 0.5 * longest + 1.9));
  const least = place === 0 && column.kind === "wide" ? 24 : WIDTHS[column.kind];
  return Math.max(least, Math.min(18, 0.58 * longest + 2));
}

function cellClass(column) {
  const names = [isNumeric(column) ? "n" : { wide: "w", id: "id" }[column.kind] ?? "", column.minor ? "minor" : ""];
  return names.filter(Boolean).join(" ") || null;
}

class Records {
  constructor(root, table) {
    this.root = root;
    this.name = root.dataset.name;
    this.table = table;
    this.n = table.columns[0].values.length;
    this.order = Array.from({ length: this.n }, (_, row) => row);
    this.sort = null;
    this.cache = new Map();
    this.texts = null;
    this.rowHeight = 36;
    this.drawn = [-1, -1];
    this.places = this.sequence();
    // Empty columns take no room on paper.
    for (const column of table.columns) column.minor ||= column.values.every((value) => value === "" || value === null);
  }

  draw() {
    this.root.replaceChildren(this.tools(), this.count(), this.viewport());
    this.update();
    this.measure();
  }

  measure() {
    this.rowHeight = this.body.querySelector("tr[data-row]")?.getBoundingClientRect().height || 36;
    this.render(true);
  }

  /* Places of the columns in the order in which they stand. On a narrow screen the first number
     comes right behind the row's name, and words that are the same in every row are left to the
     line above the table. */
  sequence() {
    const { columns } = this.table;
    const all = columns.map((column, place) => place);
    this.same = [];
    if (!NARROW.matches) return all;
    this.same = all.filter((place) => place > 0 && this.n > 1 && !isNumeric(columns[place])
      && columns[place].values.every((value) => value === columns[place].values[0]));
    const kept = all.filter((place) => !this.same.includes(place));
    const first = kept.find((place) => place > 0 && columns[place].kind === "number");
    return first === undefined ? kept : [0, first, ...kept.filter((place) => place > 0 && place !== first)];
  }

  /* Lays the columns out anew when the screen has become narrow, or no longer is. */
  lay() {
    this.places = this.sequence();
    const before = this.port;
    before.replaceWith(this.viewport());
    this.tellSame();
    this.render(true);
    this.measure();
  }

  tools() {
    const { columns, filters, view, beside } = this.table;
    const bar = make("form", { class: "records-tools", role: "search", "aria-label": visible(this.table.label).textContent });
    bar.addEventListener("submit", (event) => event.preventDefault());
    this.query = make("input", { type: "search", autocomplete: "off", spellcheck: "false" });
    bar.append(make("label", {}, "search", this.query));
    if ((view && this.table.kept.texts) || beside?.hasTexts) {
      this.inTexts = make("input", { type: "checkbox" });
      bar.append(make("label", { class: "check" }, this.inTexts, "in the texts too"));
      this.inTexts.addEventListener("change", () => this.loadTexts());
    }
    this.choices = filters.map((place) => {
      const select = make("select", {}, make("option", { value: "" }, "all"));
      const values = new Map();
      for (const value of columns[place].values) values.set(value, (values.get(value) || 0) + 1);
      const listed = [...values.keys()].sort((a, b) => collator.compare(String(a), String(b)));
      listed.slice(0, 500).forEach((value, at) => {
        const name = value === "" || value === null ? "(none)" : visible(value, { most: 60 }).textContent;
        select.append(make("option", { value: at }, `${name} (${values.get(value)})`));
      });
      bar.append(make("label", {}, visible(columns[place].title), select));
      select.addEventListener("change", () => this.update());
      return [place, select, listed];
    });
    const numeric = columns.map((column, place) => [column, place]).filter(([column]) => isNumeric(column));
    if (numeric.length) {
      this.range = {
        column: make("select", {}, ...numeric.map(([column, place]) => make("option", { value: place }, visible(column.title, { most: 60 }).textContent))),
        low: make("input", { type: "number", step: "any" }),
        high: make("input", { type: "number", step: "any" }),
      };
      const set = make("fieldset", {}, make("label", {}, "number", this.range.column),
        make("label", {}, "from", this.range.low), make("label", {}, "to", this.range.high));
      const preferred = numeric.find(([column]) => column.kind === "number");
      if (preferred) this.range.column.value = String(preferred[1]);
      for (const option of this.range.column.options) option.defaultSelected = option.selected;
      set.addEventListener("input", () => this.later());
      bar.append(set);
    }
    const reset = make("button", { type: "reset", class: "button" }, "show all");
    bar.append(reset);
    bar.addEventListener("reset", () => setTimeout(() => this.update()));
    this.query.addEventListener("input", () => this.later());
    return bar;
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.update(), 120);
  }

  count() {
    this.status = make("p", { class: "records-count", role: "status" });
    this.printed = make("p", { class: "print-only" });
    this.constant = make("p", { class: "quiet" });
    this.tellSame();
    const lines = document.createDocumentFragment();
    lines.append(this.status, this.printed, this.constant);
    return lines;
  }

  tellSame() {
    const { columns } = this.table;
    const said = this.same.filter((place) => columns[place].values[0])
      .flatMap((place, at) => [at ? "; " : "In every row: ", visible(columns[place].title), " ", visible(columns[place].values[0], { most: 80 })]);
    this.constant.replaceChildren(...said, ...(said.length ? ["."] : []));
    this.constant.hidden = !said.length;
  }

  viewport() {
    const { columns } = this.table;
    const label = visible(this.table.label).textContent;
    const head = make("tr");
    this.places.forEach((place) => {
      const column = columns[place];
      const cell = make("th", { scope: "col", class: cellClass(column) }, visible(column.title));
      if (this.sort?.place === place) cell.setAttribute("aria-sort", this.sort.direction > 0 ? "ascending" : "descending");
      cell.style.width = `${columnWidth(column, place)}rem`;
      sortButton(cell, (direction) => {
        this.sort = { place, direction };
        this.update();
      });
      head.append(cell);
    });
    this.body = make("tbody");
    const table = make("table", { "aria-label": label, "aria-rowcount": this.n + 1 }, make("thead", {}, head), this.body);
    table.style.width = `${this.places.reduce((sum, place) => sum + columnWidth(columns[place], place), 0)}rem`;
    this.port = make("div", { class: "records-view", role: "region", tabindex: "0", "aria-label": label }, table);
    announceMore(this.port);
    this.port.addEventListener("scroll", () => {
      if (this.frame) return;
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.render(false);
      });
    });
    return this.port;
  }

  async loadTexts() {
    if (this.inTexts.checked && this.texts === null) {
      this.status.textContent = "Unpacking the texts \u2026";
      this.texts = await this.allTexts();
    }
    this.update();
  }

  /* The texts of every row in small letters, to search in; of answers side by side, all of them. */
  async allTexts() {
    const { beside, starts } = this.table;
    if (beside) {
      const other = all.get(beside.records);
      const texts = other ? await other.allTexts() : [];
      return beside.rows.map((rows) => rows.map((row) => texts[row] ?? "").join("\n"));
    }
    const texts = [];
    for (let place = 0; place < starts.texts.length; place += 1) {
      const chunk = await this.chunk("texts", place);
      for (const item of chunk) texts.push(item.filter((text) => text !== null).join("\n").toLowerCase());
    }
    return texts;
  }

  haystack(row) {
    if (!this.hay) this.hay = new Array(this.n);
    if (this.hay[row] === undefined) {
      this.hay[row] = this.table.columns.filter((column) => !isNumeric(column))
        .map((column) => column.values[row] ?? "").join("\n").toLowerCase();
    }
    return this.hay[row];
  }

  update() {
    const { columns } = this.table;
    const words = this.query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = this.choices.filter(([, select]) => select.value !== "")
      .map(([place, select, listed]) => [columns[place].values, listed[select.value]]);
    const limit = (input) => (input.value === "" ? null : Number(input.value));
    const low = this.range ? limit(this.range.low) : null;
    const high = this.range ? limit(this.range.high) : null;
    const ranged = this.range ? columns[this.range.column.value].values : null;
    const texts = this.inTexts?.checked ? this.texts : null;
    const rows = [];
    for (let row = 0; row < this.n; row += 1) {
      if (wanted.some(([values, value]) => values[row] !== value)) continue;
      if (low !== null && !(ranged[row] !== null && ranged[row] >= low)) continue;
      if (high !== null && !(ranged[row] !== null && ranged[row] <= high)) continue;
      if (words.length) {
        const hay = texts && row < texts.length ? `${this.haystack(row)}\n${texts[row]}` : this.haystack(row);
        if (!words.every((word) => hay.includes(word))) continue;
      }
      rows.push(row);
    }
    if (this.sort) {
      const { place, direction } = this.sort;
      const values = columns[place].values;
      rows.sort((a, b) => compare(values[a], values[b], direction) || a - b);
    }
    this.order = rows;
    const count = { kind: "count" };
    const total = numberText(this.n, count);
    const noun = this.n === 1 ? "row" : "rows";
    const chosen = rows.length === this.n ? `${total} rows` : `${numberText(rows.length, count)} rows chosen of ${total}`;
    this.printed.textContent = rows.length > MOST_PRINTED
      ? `Printed here: the first ${MOST_PRINTED} of ${chosen}. All are in ${this.table.file}.`
      : rows.length < this.n ? `Printed here: ${chosen}. All are in ${this.table.file}.` : "";
    this.status.textContent = rows.length === this.n ? `${total} ${noun}` : `${numberText(rows.length, count)} of ${total} ${noun}`;
    this.port.scrollTop = 0;
    this.render(true);
  }

  render(isForced, all = 0) {
    const height = this.rowHeight;
    const room = Math.ceil(this.port.clientHeight / height);
    let first = Math.max(0, Math.floor(this.port.scrollTop / height) - 12);
    let last = Math.min(this.order.length, first + room + 24);
    if (all) [first, last] = [0, Math.min(all, this.order.length)];
    if (!isForced && first === this.drawn[0] && last === this.drawn[1]) return;
    const focused = document.activeElement?.closest?.("tr[data-row]")?.dataset.row;
    const rows = [];
    for (let place = first; place < last; place += 1) rows.push(this.row(place));
    const gap = (size) => {
      const cell = make("td", { colspan: this.places.length });
      cell.style.height = `${size}px`;
      return make("tr", { class: "gap", "aria-hidden": "true" }, cell);
    };
    this.body.replaceChildren(gap(first * height), ...rows, gap((this.order.length - last) * height));
    this.drawn = [first, last];
    if (focused !== undefined && this.body.contains(document.activeElement) === false) {
      this.body.querySelector(`tr[data-row="${focused}"] a`)?.focus({ preventScroll: true });
    }
  }

  row(place) {
    const row = this.order[place];
    const line = make("tr", { "data-row": row, "aria-rowindex": place + 2, class: place % 2 ? "odd" : null });
    this.places.forEach((at) => {
      const column = this.table.columns[at];
      const value = column.values[row];
      const cell = make(at ? "td" : "th", { scope: at ? null : "row", class: cellClass(column) });
      const most = NARROW.matches && at === 0 ? NARROW_NAMES[column.kind] ?? 160 : 160;
      const shown = content(value, column, { most });
      cell.append(at === 0 ? make("a", { href: `#${this.name}/${row}` }, shown) : shown);
      line.append(cell);
    });
    return line;
  }

  chunk(stream, place) {
    const id = `${this.name}-${stream}-${place}`;
    if (!this.cache.has(id)) this.cache.set(id, unpack(id));
    return this.cache.get(id);
  }

  async item(stream, row) {
    if (!this.table.view || row >= (this.table.kept[stream] || 0)) return null;
    const starts = this.table.starts[stream];
    let place = starts.length - 1;
    while (starts[place] > row) place -= 1;
    return (await this.chunk(stream, place))[row - starts[place]];
  }

  async open(row) {
    const { columns, view, beside } = this.table;
    const [scores, texts, reasons] = await Promise.all(["scores", "texts", "rationales"].map((s) => this.item(s, row)));
    const title = make("h2", { id: "record-title", tabindex: "-1" }, visible(columns[this.table.title].values[row], { most: 200 }));
    const place = this.order.indexOf(row);
    const step = (by, label) => {
      const next = place < 0 ? undefined : this.order[place + by];
      const button = make("button", { type: "button", class: "button", disabled: next === undefined }, label);
      button.addEventListener("click", () => { location.hash = `#${this.name}/${next}`; });
      return button;
    };
    const close = make("button", { type: "button", class: "button" }, "close");
    close.addEventListener("click", () => dialog.close());
    const facts = make("dl", { class: "facts" });
    columns.forEach((column, at) => {
      const value = column.values[row];
      if (at === 0 || at === this.table.title || value === "" || value === null) return;
      facts.append(make("div", {}, make("dt", {}, visible(column.title)), make("dd", {}, content(value, column))));
    });
    const parts = [make("div", { class: "record-bar" }, title, step(-1, "previous"), step(1, "next"), close), facts];
    if (beside) {
      parts.push(...await besideParts(all.get(beside.records), beside.rows[row], beside));
      dialog.classList.add("beside");
    } else {
      dialog.classList.remove("beside");
      const link = besideLink(this.name, row);
      if (link) parts.push(link);
    }
    if (view && texts) {
      view.texts.forEach((name, at) => {
        if (texts[at] === null) return;
        const text = texts[at] === "" ? make("p", { class: "quiet" }, "(empty)") : visible(texts[at], { isProse: true });
        parts.push(make("section", {}, make("h3", {}, visible(name)), make("div", { class: "prose" }, text)));
      });
    } else if (view) {
      parts.push(make("p", { class: "quiet" }, "Its texts are not in this page."));
    }
    if (view?.judges.length && scores) parts.push(this.matrix(view, scores, reasons || {}));
    if (reasons === null && this.table.cut.includes("rationales")) {
      parts.push(make("p", { class: "quiet" }, "The rationales of this response are not in this page, which would be too large with all of them; judgments.parquet holds them."));
    }
    dialog.replaceChildren(...parts);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    title.focus();
  }

  matrix(view, [numbers, remarks], reasons) {
    // On a narrow screen who judged stands in one cell, so that the scores are in sight.
    const fold = (names) => names.slice(1).map((name) => make("small", { class: "narrow-only" }, visible(name, { isName: true })));
    const heads = [...view.judgeColumns.map((name, at) => make("th", { scope: "col", class: at ? "wide-only" : null }, visible(name),
      ...(at ? [] : fold([name, view.judgeColumns.slice(1).join(" \u00b7 ")].filter(Boolean))))),
      ...view.scores.map((name) => make("th", { scope: "col", class: "n" }, visible(name))),
      make("th", { scope: "col" }, "status")];
    const width = view.scores.length;
    const [low, high] = view.scale;
    const lines = view.judges.map((labels, judge) => {
      const line = make("tr");
      labels.forEach((label, at) => line.append(make(at ? "td" : "th", { scope: at ? null : "row", class: at ? "wide-only" : null },
        visible(label, { isName: true }), ...(at ? [] : fold(labels)))));
      for (let at = 0; at < width; at += 1) {
        const value = numbers[judge * width + at];
        const shade = value === null ? null : Math.min(7, Math.max(0, Math.floor((8 * (value - low)) / (high - low))));
        const isWhole = Number.isInteger(value);
        const cell = make("td", { class: shade === null ? "n" : `n s${shade}` }, numberText(value, { kind: "number", digits: isWhole ? 0 : 2 }));
        if (value !== null) cell.dataset.v = value;
        line.append(cell);
      }
      line.append(make("td", {}, remarks[judge] === undefined ? "scored" : visible(remarks[judge], { most: 400 })));
      return line;
    });
    const table = make("table", { class: "sortable shaded" },
      make("caption", {}, make("span", {}, "Every judge's scores on this response; abstained ones enter no mean.")),
      make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...lines));
    makeSortable(table);
    const scroll = make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Judgments" }, table);
    announceMore(scroll);
    const given = view.judges.flatMap((labels, judge) => (reasons[judge] === undefined ? [] : [
      make("dt", {}, visible(labels.join(", "))),
      make("dd", { class: "prose reason" }, visible(reasons[judge], { isProse: true })),
    ]));
    return make("section", {}, make("h3", {}, "Judgments"),
      scroll,
      ...(given.length ? [make("h3", {}, "Rationales"), make("dl", {}, ...given)] : []));
  }
}
