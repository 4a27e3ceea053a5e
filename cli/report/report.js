"use strict";
// The page is whole without this. Here its tables get search, sort and their further rows, the moves are
// played, and the document can be saved. Texts become text nodes and nothing else.
(() => {
  const STEP = 50;
  const say = (id) => document.getElementById(id);

  // The counterpart of cli/report/embedded.py.
  const unpacked = (data, keys) => {
    if (Array.isArray(data)) return data.map((item) => unpacked(item, keys));
    if (data === null || typeof data !== "object") return data;
    if ("@keys" in data) {
      const names = keys[data["@keys"]], runs = data["@runs"], found = {};
      for (let at = 0, place = 0; at < runs.length; at += 2)
        for (let n = 0; n < runs[at]; n += 1) found[names[place++]] = runs[at + 1];
      return found;
    }
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key.replace(/^@/, ""), unpacked(value, keys)]));
  };

  const read = async (id) => {
    const element = say(id);
    if (element.type === "application/json") return JSON.parse(element.textContent);
    const bytes = Uint8Array.from(atob(element.textContent), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const whole = JSON.parse(await new Response(stream).text());
    return unpacked(whole.data, whole.keys);
  };

  const cellOf = (cell, numeric) => {
    const made = document.createElement("td");
    const [text, kind] = typeof cell === "string" ? [cell, ""] : cell;
    made.textContent = text;
    made.className = numeric ? `numeric ${kind}`.trim() : kind;
    return made;
  };

  // While nothing else is to be done.
  const later = (work) => (window.requestIdleCallback ? requestIdleCallback(work) : setTimeout(work, 50));

  const textOf = (cell) => (typeof cell === "string" ? cell : cell[0]);

  class Rows {
    constructor(box, rows) {
      this.box = box;
      this.rows = rows;
      this.order = rows.map((_, place) => place);
      this.found = this.order;
      this.shown = box.querySelectorAll("tbody tr").length;
      this.texts = null;
      this.words = "";
      this.body = box.querySelector("tbody");
      this.heads = [...box.querySelectorAll("thead tr.heads th")];
      this.numeric = this.heads.map((head) => head.classList.contains("numeric"));
      this.count = box.querySelector(".count");
      this.more = box.querySelector(".more");
      this.heads.forEach((head, place) => this.sortable(head, place));
      this.more.addEventListener("click", () => this.append(STEP));
      const search = box.querySelector("input[type=search]");
      search.addEventListener("input", () => this.search(search.value));
      const tools = box.querySelector(".tools");
      tools.hidden = "small" in tools.dataset;
      this.say();
    }

    sortable(head, place) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === (this.numeric[place] ? "descending" : "ascending");
        const up = this.numeric[place] ? down : !down;
        this.heads.forEach((other) => other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        this.sort(place, up);
      });
    }

    sort(place, up) {
      const keys = this.rows.map((row) => textOf(row[place]));
      const values = this.numeric[place] ? keys.map((key) => parseFloat(key)) : keys;
      const sign = up ? 1 : -1;
      this.order = this.rows.map((_, row) => row);
      this.order.sort((a, b) => (values[a] < values[b] ? -sign : values[a] > values[b] ? sign : a - b));
      this.filter();
      this.draw(STEP);
    }

    search(words) {
      this.words = words.trim().toLowerCase();
      this.prepare();
      this.filter();
      this.draw(STEP);
    }

    prepare() {
      this.texts ??= this.rows.map((row) => row.map(textOf).join(" ").toLowerCase());
    }

    filter() {
      const parts = this.words.split(/\s+/).filter(Boolean);
      this.found = parts.length
        ? this.order.filter((row) => parts.every((part) => this.texts[row].includes(part)))
        : this.order;
    }

    draw(most) {
      this.body.replaceChildren();
      this.shown = 0;
      this.append(most);
    }

    append(number) {
      const lines = this.found.slice(this.shown, this.shown + number).map((place) => {
        const line = document.createElement("tr");
        line.append(...this.rows[place].map((cell, column) => cellOf(cell, this.numeric[column])));
        return line;
      });
      this.body.append(...lines);
      this.shown += lines.length;
      this.say();
    }

    say() {
      const all = this.rows.length, found = this.found.length;
      this.count.textContent = `${this.shown} of ${found} rows` + (found === all ? "" : `, ${all} in all`);
      this.more.hidden = this.shown >= found;
    }
  }

  class Play {
    constructor(box, play) {
      this.box = box;
      this.play = play;
      this.at = 0;
      this.counts = play.rows.map((row) => [...row.before]);
      this.range = say("play-range");
      this.buttons = { first: 0, back: -1, next: 1, wave: 2, last: 3 };
      for (const name of Object.keys(this.buttons))
        say(`play-${name}`).addEventListener("click", () => this.go(this.target(name)));
      this.range.addEventListener("input", () => this.go(Number(this.range.value)));
      box.hidden = false;
      this.draw([]);
    }

    target(name) {
      const last = this.play.steps.length;
      if (name === "first") return 0;
      if (name === "last") return last;
      if (name === "back") return Math.max(this.at - 1, 0);
      if (name === "next") return Math.min(this.at + 1, last);
      const wave = this.at < last ? this.play.steps[this.at].wave : 0;
      let place = this.at;
      while (place < last && this.play.steps[place].wave === wave) place += 1;
      return place;
    }

    go(target) {
      let changed = [];
      while (this.at !== target) {
        const forward = this.at < target;
        const step = this.play.steps[forward ? this.at : this.at - 1];
        for (const [row, column, amount] of step.changes) this.counts[row][column] += forward ? amount : -amount;
        this.at += forward ? 1 : -1;
        if (Math.abs(target - this.at) < 1) changed = step.changes;
      }
      this.draw(changed);
    }

    draw(changed) {
      const { rows, steps } = this.play;
      const marks = new Set(changed.map(([row, column]) => `${row} ${column}`));
      this.box.querySelectorAll("tbody tr").forEach((line, row) => {
        const most = rows[row].most;
        [...line.querySelectorAll("td.place")].forEach((cell, column) => {
          const pods = this.counts[row][column];
          cell.textContent = pods;
          const shade = most ? Math.ceil((8 * pods) / most) : 0;
          cell.className = `place numeric h${Math.min(shade, 8)}${marks.has(`${row} ${column}`) ? " changed" : ""}`;
        });
        line.querySelector("td.skew").textContent =
          Math.max(...this.counts[row]) - Math.min(...this.counts[row]);
      });
      this.range.value = this.at;
      const step = steps[this.at - 1];
      say("play-status").textContent = step
        ? `Step ${this.at} of ${steps.length}${step.wave ? `, wave ${step.wave}` : ""}: ${step.text}`
        : `Before the first of ${steps.length} steps`;
      for (const name of ["first", "back"]) say(`play-${name}`).disabled = this.at === 0;
      for (const name of ["next", "wave", "last"]) say(`play-${name}`).disabled = this.at === steps.length;
    }
  }

  const save = async () => {
    const text = JSON.stringify(await read("document"), null, 2);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "planner.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  const start = async () => {
    const data = await read("tables");
    const boxes = [...document.querySelectorAll("[data-table]")];
    const all = boxes.map((box) => new Rows(box, data.tables[box.dataset.table]));
    all.forEach((rows) => later(() => rows.prepare()));
    const play = say("play");
    if (play && data.play) new Play(play, data.play);
    const button = say("save");
    button.hidden = false;
    button.addEventListener("click", save);
    document.documentElement.dataset.ready = "yes";
  };
  start();
})();
