"use strict";
// The page is whole without this. Here its tables get search, sort and their other rows, the moves are
// played, and the document can be saved. Texts become text nodes and nothing else.
(() => {
  const STEP = 50, PIECE = 4000, SLICE = 8;
  const say = (id) => document.getElementById(id);

  // These are the counterpart of cli/output/report/embedded.py: a packed map, and what is embedded as a whole.
  const entries = (data, keys) => {
    const names = keys[data["@keys"]], runs = data["@runs"], found = [];
    for (let at = 0; at < runs.length; at += 2)
      for (let n = 0; n < runs[at]; n += 1) found.push([names[found.length], runs[at + 1]]);
    return found;
  };

  const nameOf = (key) => key.replace(/^@/, "");

  const unpacked = (data, keys) => {
    if (Array.isArray(data)) return data.map((item) => unpacked(item, keys));
    if (data === null || typeof data !== "object") return data;
    if ("@keys" in data) return Object.fromEntries(entries(data, keys));
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [nameOf(key), unpacked(value, keys)]));
  };

  // Where nothing is packed `keys` is null: then no key has a sign before it either.
  const packed = async (id) => {
    const element = say(id);
    if (element.type === "application/json") return { data: JSON.parse(element.textContent), keys: null };
    const signs = atob(element.textContent), bytes = new Uint8Array(signs.length);
    for (let at = 0; at < signs.length; at += 1) bytes[at] = signs.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  };

  const read = async (id) => {
    const { data, keys } = await packed(id);
    return keys === null ? data : unpacked(data, keys);
  };

  // The same as JSON text with an indent, piece by piece.
  function* written(data, keys, indent) {
    const inner = `${indent}  `;
    const map = data !== null && typeof data === "object" && !Array.isArray(data);
    if (map && keys !== null && "@keys" in data) {
      const lines = entries(data, keys).map(([key, value]) => `${inner}${JSON.stringify(key)}: ${value}`);
      yield `{\n${lines.join(",\n")}\n${indent}}`;
    } else if (data === null || typeof data !== "object" || !Object.keys(data).length) {
      yield JSON.stringify(data);
    } else {
      let before = map ? "{\n" : "[\n";
      for (const [key, value] of Object.entries(data)) {
        yield before + inner + (map ? `${JSON.stringify(keys === null ? key : nameOf(key))}: ` : "");
        yield* written(value, keys, inner);
        before = ",\n";
      }
      yield `\n${indent}${map ? "}" : "]"}`;
    }
  }

  const cellOf = (cell, numeric) => {
    const made = document.createElement("td");
    const [text, kind] = typeof cell === "string" ? [cell, ""] : cell;
    made.textContent = text;
    made.className = numeric ? `numeric ${kind}`.trim() : kind;
    return made;
  };

  const later = (work) => (window.requestIdleCallback ? requestIdleCallback(work) : setTimeout(work, 50));

  // What makes later answers quick is done in slices, while nothing else is to be done.
  const meanwhile = (pieces) => {
    const slice = () => {
      const since = performance.now();
      do if (pieces.next().done) return;
      while (performance.now() - since < SLICE);
      later(slice);
    };
    later(slice);
  };

  const merged = (one, other) => {
    const found = [];
    let at = 0, there = 0;
    while (at < one.length && there < other.length) found.push(one[at] < other[there] ? one[at++] : other[there++]);
    return [...found, ...one.slice(at), ...other.slice(there)];
  };

  // The values of a column in their order, and the place of every row's value among them, in small pieces.
  function* ranked(texts, numeric) {
    const keys = numeric ? texts.map((text) => parseFloat(text)) : texts;
    const different = [...new Set(keys)];
    yield;
    let runs = [];
    for (let at = 0; at < different.length; at += PIECE) {
      const run = different.slice(at, at + PIECE);
      runs.push(numeric ? run.sort((a, b) => a - b) : run.sort());
      yield;
    }
    while (runs.length > 1) {
      const longer = [];
      for (let at = 0; at < runs.length; at += 2) {
        longer.push(at + 1 < runs.length ? merged(runs[at], runs[at + 1]) : runs[at]);
        yield;
      }
      runs = longer;
    }
    const rankOf = new Map();
    for (const value of runs[0] ?? []) rankOf.set(value, rankOf.size);
    yield;
    return { places: Uint32Array.from(keys, (key) => rankOf.get(key)), number: rankOf.size };
  }

  // The rows by rank, those of the same rank as they come: counted, not compared.
  const inOrder = ({ places, number }, up) => {
    const rank = (row) => (up ? places[row] : number - 1 - places[row]);
    const starts = new Uint32Array(number + 1);
    for (let row = 0; row < places.length; row += 1) starts[rank(row) + 1] += 1;
    for (let place = 0; place < number; place += 1) starts[place + 1] += starts[place];
    const order = new Array(places.length);
    for (let row = 0; row < places.length; row += 1) order[starts[rank(row)]++] = row;
    return order;
  };

  const textOf = (cell) => (typeof cell === "string" ? cell : cell[0]);

  class Rows {
    constructor(box, rows) {
      this.box = box;
      this.rows = rows;
      this.order = rows.map((_, place) => place);
      this.found = this.order;
      this.first = 0;
      this.texts = [];
      this.ranks = [];
      this.words = "";
      this.body = box.querySelector("tbody");
      this.heads = [...box.querySelectorAll("thead tr.heads th")];
      this.numeric = this.heads.map((head) => head.classList.contains("numeric"));
      this.count = box.querySelector(".count");
      this.rest = box.querySelector(".rest");
      this.turns = { back: box.querySelector(".back"), on: box.querySelector(".on") };
      this.heads.forEach((head, place) => this.sortable(head, place));
      this.turns.back.addEventListener("click", () => this.turn(this.first - STEP));
      this.turns.on.addEventListener("click", () => this.turn(this.first + STEP));
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
      [...this.rank(place)];
      this.order = inOrder(this.ranks[place], up);
      this.filter();
      this.draw(0);
    }

    search(words) {
      this.words = words.trim().toLowerCase();
      this.filter();
      this.draw(0);
    }

    *rank(place) {
      if (this.ranks[place]) return;
      this.ranks[place] = yield* ranked(this.rows.map((row) => textOf(row[place])), this.numeric[place]);
    }

    // The texts to search in, as far as so many rows.
    read(rows) {
      for (let row = this.texts.length; row < Math.min(rows, this.rows.length); row += 1)
        this.texts.push(this.rows[row].map(textOf).join(" ").toLowerCase());
    }

    *prepare() {
      while (this.texts.length < this.rows.length) yield this.read(this.texts.length + PIECE);
      for (let place = 0; place < this.heads.length; place += 1) yield* this.rank(place);
    }

    filter() {
      const parts = this.words.split(/\s+/).filter(Boolean);
      if (parts.length) this.read(this.rows.length);
      this.found = parts.length
        ? this.order.filter((row) => parts.every((part) => this.texts[row].includes(part)))
        : this.order;
    }

    turn(first) {
      this.draw(first);
      this.box.scrollIntoView();
    }

    // A page of the table: what is on the screen is never much, whatever has been looked at before.
    draw(first) {
      this.first = first;
      const lines = this.found.slice(first, first + STEP).map((place) => {
        const line = document.createElement("tr");
        line.append(...this.rows[place].map((cell, column) => cellOf(cell, this.numeric[column])));
        return line;
      });
      this.body.replaceChildren(...lines);
      this.say();
    }

    say() {
      const all = this.rows.length, found = this.found.length, last = Math.min(this.first + STEP, found);
      const shown = found > STEP ? `rows ${this.first + 1} to ${last} of ${found}` : `${found} rows`;
      this.count.textContent = shown + (found === all ? "" : `, ${all} in all`);
      // For paper: the screen has buttons instead.
      if (this.rest) this.rest.textContent = `${all - last + this.first} of ${all} rows are not shown.`;
      this.turns.back.hidden = this.turns.on.hidden = found <= STEP;
      this.turns.back.disabled = this.first === 0;
      this.turns.on.disabled = last === found;
    }
  }

  class Play {
    constructor(box, play) {
      this.box = box;
      this.play = play;
      this.at = 0;
      this.counts = play.rows.map((row) => [...row.before]);
      this.lines = [...box.querySelectorAll("tbody tr")].map((line) => ({
        places: [...line.querySelectorAll("td.place")],
        skew: line.querySelector("td.skew"),
      }));
      this.marked = [];
      this.range = say("play-range");
      this.buttons = { first: 0, back: -1, next: 1, wave: 2, last: 3 };
      for (const name of Object.keys(this.buttons))
        say(`play-${name}`).addEventListener("click", () => this.go(this.target(name)));
      this.range.addEventListener("input", () => this.go(Number(this.range.value)));
      this.draw(play.rows.keys(), []);
      box.hidden = false;
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
      const touched = new Set();
      let changed = [];
      while (this.at !== target) {
        const forward = this.at < target;
        changed = this.play.steps[forward ? this.at : this.at - 1].changes;
        for (const [row, column, amount] of changed) {
          this.counts[row][column] += forward ? amount : -amount;
          touched.add(row);
        }
        this.at += forward ? 1 : -1;
      }
      this.draw(touched, changed);
    }

    // Only what is no longer so is written: a page has hundreds of these rows.
    draw(touched, changed) {
      const { rows, steps } = this.play;
      for (const row of touched) this.line(this.lines[row], this.counts[row], rows[row].most);
      for (const cell of this.marked) cell.classList.remove("changed");
      this.marked = changed.map(([row, column]) => this.lines[row].places[column]);
      for (const cell of this.marked) cell.classList.add("changed");
      if (this.marked.length) this.show(this.marked[0]);
      this.range.value = this.at;
      const step = steps[this.at - 1];
      say("play-status").textContent = step
        ? `Step ${this.at} of ${steps.length}${step.wave ? `, wave ${step.wave}` : ""}: ${step.text}`
        : `Before the first of ${steps.length} steps`;
      for (const name of ["first", "back"]) say(`play-${name}`).disabled = this.at === 0;
      for (const name of ["next", "wave", "last"]) say(`play-${name}`).disabled = this.at === steps.length;
    }

    // Within its table alone: the buttons stay where they are.
    show(cell) {
      const box = cell.closest(".scroll"), frame = box.getBoundingClientRect(), at = cell.getBoundingClientRect();
      if (at.top - at.height < frame.top || at.bottom > frame.bottom)
        box.scrollTop += at.top - frame.top - frame.height / 2;
    }

    line({ places, skew }, counts, most) {
      places.forEach((cell, column) => {
        const shade = most ? Math.ceil((8 * counts[column]) / most) : 0;
        cell.textContent = counts[column];
        cell.className = `place numeric h${Math.min(shade, 8)}`;
      });
      skew.textContent = Math.max(...counts) - Math.min(...counts);
    }
  }

  // Written in slices, so that the page goes on answering.
  const save = async ({ currentTarget: button }) => {
    button.disabled = true;
    const { data, keys } = await packed("document"), pieces = [];
    let since = performance.now();
    for (const piece of written(data, keys, "")) {
      pieces.push(piece);
      if (performance.now() - since < SLICE) continue;
      await new Promise((done) => setTimeout(done, 0));
      since = performance.now();
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(pieces, { type: "application/json" }));
    link.download = "planner.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    button.disabled = false;
  };

  const start = async () => {
    const data = await read("tables");
    const boxes = [...document.querySelectorAll("[data-table]")];
    const all = boxes.map((box) => new Rows(box, data.tables[box.dataset.table]));
    all.forEach((rows) => meanwhile(rows.prepare()));
    const play = say("play");
    if (play && data.play) new Play(play, data.play);
    const button = say("save");
    button.hidden = false;
    button.addEventListener("click", save);
    document.documentElement.dataset.ready = "yes";
  };
  start();
})();
