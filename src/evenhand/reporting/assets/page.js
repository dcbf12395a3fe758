"use strict";
/* Makes the figures and long tables of a page interactive; without it the figures are there all the same. No text from
   the data is ever taken for markup or code: texts are set as text. */
(() => {
  const data = JSON.parse(document.getElementById("evenhand-data").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const readout = document.getElementById("readout");
  const FIRST = 20; // rows of a long table that are drawn at once
  const MORE = 50; // and at every asking for more
  const phone = () => window.innerWidth < 600;

  /* ---- elements ---- */

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value != null) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };

  /* ---- packed columns ---- */

  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
  const doubles = (blob) => new Float64Array(bytes(data.blobs[blob]));
  const places = (blob) => new Uint32Array(bytes(data.blobs[blob]));

  const opened = new Map();
  const table = (number) => {
    if (opened.has(number)) return opened.get(number);
    const packed = data.tables[number];
    const columns = packed.columns.map((column) => {
      if (column.kind === "t") return { kind: "t", v: places(column.v) };
      if (column.kind === "w") return { kind: "n", whole: true, v: places(column.v) };
      const limits = { kind: column.kind, v: doubles(column.v), unit: column.u };
      if (column.l != null) limits.l = doubles(column.l);
      if (column.h != null) limits.h = doubles(column.h);
      if (column.r != null) limits.r = places(column.r);
      return limits;
    });
    const found = { ...packed, columns, muted: new Set(packed.muted) };
    opened.set(number, found);
    return found;
  };

  /* ---- numbers, rounded by their uncertainty ---- */

  /* A number that lies exactly between two goes to the even one, as everywhere else in evenhand. */
  const rounded = (value, digits) => {
    const scaled = Math.abs(value) * 10 ** digits;
    const lower = Math.floor(scaled);
    if (scaled - lower !== 0.5 || !Number.isInteger(value * 2 ** (digits + 1))) return value;
    return (Math.sign(value) * (lower % 2 === 0 ? lower : lower + 1)) / 10 ** digits;
  };
  const fixed = (value, digits) => {
    if (!Number.isFinite(value) || Math.abs(value) >= 1000) return number(value);
    const text = rounded(value, digits).toFixed(digits);
    return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
  };
  const number = (value, digits = 3) => {
    if (Number.isNaN(value)) return "–";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    if (Math.abs(value) >= 1000) return rounded(value, 0).toLocaleString("en-US", { maximumFractionDigits: 0 });
    if (value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits) {
      const [digit, power] = value.toExponential(1).split("e");
      const two = String(Math.abs(Number(power))).padStart(2, "0");
      return digit.replace("-", "−") + "e" + (Number(power) < 0 ? "-" : "+") + two;
    }
    return fixed(value, digits);
  };
  const decimals = (value, low, high) => {
    if (!Number.isFinite(value)) return 3;
    const places = Math.abs(value) < 10 ? 3 : Math.abs(value) < 100 ? 2 : 1;
    if (!(Number.isFinite(low) && Number.isFinite(high)) || high <= low) return places;
    return Math.min(Math.max(Math.ceil(-Math.log10(high - low)) + 1, places), 6);
  };
  const sharePlaces = (...parts) => {
    const size = Math.max(...parts.filter(Number.isFinite).map(Math.abs));
    return size >= 0.1 || size === 0 ? 1 : Math.min(1 - Math.floor(Math.log10(size)), 6);
  };
  const cellText = (column, row) => {
    if (column.kind === "t") return data.texts[column.v[row]];
    const value = column.v[row];
    if (column.kind === "n") return column.whole && !Number.isNaN(value) ? value.toLocaleString("en-US") : number(value);
    if (Number.isNaN(value)) return "–";
    const times = column.unit ? 100 : 1;
    const unit = column.unit ? ` ${column.unit}` : "";
    const [own, low, high] = [value, column.l ? column.l[row] : NaN, column.h ? column.h[row] : NaN].map((part) => times * part);
    const digits = column.unit ? sharePlaces(own, low, high) : decimals(own, low, high);
    if (Number.isNaN(low) || Number.isNaN(high)) return number(own, digits) + unit;
    return `${fixed(own, digits)}${unit} [${fixed(low, digits)}, ${fixed(high, digits)}]`;
  };
  const exact = (column, row) => {
    if (column.kind === "t") return "";
    const value = column.v[row];
    if (Number.isNaN(value)) return column.r ? data.texts[column.r[row]] : "";
    const limits = column.l && !Number.isNaN(column.l[row]) ? ` [${column.l[row]}, ${column.h[row]}]` : "";
    return column.kind === "n" && column.whole ? "" : `${value}${limits}`;
  };

  /* ---- files to keep ---- */

  const save = (content, type, name) => {
    const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const link = make("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    window.setTimeout(() => URL.revokeObjectURL(address), 10000);
  };
  const stem = (name) => name.replace(/[^\w.@+-]+/g, "-").replace(/^[-.]+|-+$/g, "").slice(0, 80) || "figure";
  const csv = (found) => {
    const quoted = (value) => {
      let text = String(value);
      if (/^[=+@\t\r]/.test(text)) text = "'" + text; // a spreadsheet would take it for a formula
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const written = (value) => (Number.isNaN(value) ? "" : String(value));
    const names = [];
    found.columns.forEach((column, at) => {
      names.push(found.names[at]);
      if (column.kind === "i") names.push(`${found.names[at]} low`, `${found.names[at]} high`);
    });
    const lines = [names.map(quoted).join(",")];
    for (let row = 0; row < found.rows; row++) {
      const cells = [];
      for (const column of found.columns) {
        if (column.kind === "t") cells.push(quoted(data.texts[column.v[row]]));
        else cells.push(written(column.v[row]));
        if (column.kind === "i") cells.push(column.l ? written(column.l[row]) : "", column.h ? written(column.h[row]) : "");
      }
      lines.push(cells.join(","));
    }
    return lines.join("\n") + "\n";
  };

  /* ---- long tables ---- */

  const VERDICTS = new Set(["large", "different", "equivalent", "undecided"]);

  const drawLong = (place) => {
    if (place.dataset.drawn) return;
    place.dataset.drawn = "yes";
    const found = table(Number(place.dataset.table));
    let order = Array.from({ length: found.rows }, (_, row) => row);
    let shown = order;
    let drawn = 0;
    let sorted = { column: -1, down: false };
    const body = make("tbody");
    const said = make("p", { class: "small", role: "status" });
    const more = make("button", { type: "button", onclick: () => draw() }, "Show more rows");
    const filter = make("input", { class: "filter", type: "search", placeholder: "Filter rows", "aria-label": `Filter ${found.title}` });
    const keep = make("button", { type: "button", onclick: () => save(csv(found), "text/csv", stem(found.title) + ".csv") }, "CSV");

    const draw = () => {
      const next = drawn + (drawn ? MORE : FIRST);
      for (const row of shown.slice(drawn, next)) {
        const line = make("tr", found.muted.has(row) ? { class: "muted" } : {});
        found.columns.forEach((column, at) => {
          const text = cellText(column, row);
          const full = exact(column, row);
          if (at === 0 && column.kind === "t") line.append(make("th", { scope: "row" }, text));
          else if (VERDICTS.has(text)) line.append(make("td", {}, make("span", { class: `verdict ${text}` }, text)));
          else line.append(make("td", { class: column.kind === "t" ? null : "number", title: full || null }, text));
        });
        body.append(line);
      }
      drawn = Math.min(next, shown.length);
      more.hidden = drawn >= shown.length;
      const of = shown.length === found.rows ? "" : ` that match, of ${found.rows.toLocaleString("en-US")}`;
      said.textContent = `${drawn.toLocaleString("en-US")} of ${shown.length.toLocaleString("en-US")} rows${of}`;
    };
    const again = () => {
      const wanted = filter.value.trim().toLowerCase();
      shown = wanted
        ? order.filter((row) => found.columns.some((c) => c.kind === "t" && data.texts[c.v[row]].toLowerCase().includes(wanted)))
        : order;
      body.replaceChildren();
      drawn = 0;
      draw();
    };
    const sortBy = (at) => {
      const column = found.columns[at];
      sorted = { column: at, down: sorted.column === at ? !sorted.down : column.kind !== "t" };
      const sign = sorted.down ? -1 : 1;
      const key = column.kind === "t" ? (row) => data.texts[column.v[row]] : (row) => column.v[row];
      order = Array.from({ length: found.rows }, (_, row) => row).sort((a, b) => {
        const [first, second] = [key(a), key(b)];
        if (Number.isNaN(first) || Number.isNaN(second)) return Number.isNaN(first) - Number.isNaN(second) || a - b;
        return (first < second ? -sign : first > second ? sign : 0) || a - b;
      });
      heads.forEach((head, other) => head.setAttribute("aria-sort", other !== at ? "none" : sorted.down ? "descending" : "ascending"));
      again();
    };
    const heads = found.columns.map((column, at) => {
      const button = make("button", { type: "button", onclick: () => sortBy(at) }, found.names[at]);
      return make("th", { scope: "col", "aria-sort": "none", class: column.kind === "t" ? null : "number" }, button);
    });
    let waiting = 0;
    filter.addEventListener("input", () => {
      window.clearTimeout(waiting);
      waiting = window.setTimeout(again, 120);
    });
    place.querySelector(".waiting")?.remove();
    const grid = make("table", {}, make("caption", { class: "unseen" }, found.title), make("thead", {}, make("tr", {}, ...heads)), body);
    place.append(
      make("div", { class: "bar" }, filter, said, keep),
      make("div", { class: "wide", role: "region", tabindex: "0", "aria-label": found.title }, grid),
      more,
    );
    draw();
  };

  /* ---- what the pointer is on ---- */

  const show = (event, rows, title) => {
    const lines = rows.map(([name, value, stroke]) => {
      const swatch = stroke ? [strokeSwatch(stroke, null), " "] : [];
      return make("tr", {}, make("td", {}, ...swatch, name), make("td", {}, value));
    });
    readout.replaceChildren(...(title ? [make("b", {}, title)] : []), make("table", {}, make("tbody", {}, ...lines)));
    readout.hidden = false;
    const width = readout.offsetWidth;
    const left = Math.min(event.pageX + 14, window.scrollX + document.documentElement.clientWidth - width - 8);
    readout.style.left = `${Math.max(window.scrollX + 4, left)}px`;
    readout.style.top = `${event.pageY + 16}px`;
  };
  const hide = () => { readout.hidden = true; };
  const strokeSwatch = (stroke, dash) => {
    const svg = element("svg", { width: 20, height: 8, "aria-hidden": "true" });
    svg.append(element("line", { x1: 0, y1: 4, x2: 20, y2: 4, stroke, "stroke-width": 3, "stroke-dasharray": dash }));
    return svg;
  };

  /* ---- figures: drawn in the file; curves are drawn again when their axes change ---- */

  const { light, dashes } = data.lines;
  const colour = (place, colours = dark.matches ? data.lines.dark : light) => colours[place % colours.length];
  const dashOf = (place) => dashes[Math.floor(place / light.length) % dashes.length] || null;
  const NS = "http://www.w3.org/2000/svg";
  const element = (tag, attributes, text) => {
    const made = document.createElementNS(NS, tag);
    for (const [name, value] of Object.entries(attributes)) if (value != null) made.setAttribute(name, value);
    if (text != null) made.textContent = text;
    return made;
  };
  const tickText = (value) => {
    if (value && !(Math.abs(value) >= 1e-4 && Math.abs(value) < 1e5)) {
      const [digits, power] = value.toExponential(2).split("e");
      return `${Number(digits)}e${Number(power)}`.replace(/^-/, "−");
    }
    return String(Number(value.toPrecision(6))).replace("-", "−");
  };
  const linearTicks = (low, high, most) => {
    const rough = (high - low) / most;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((part) => part * power).find((part) => part >= rough * 0.999);
    const ticks = [];
    for (let at = Math.ceil(low / step - 1e-9); at <= Math.floor(high / step + 1e-9); at++) ticks.push(Number((at * step).toPrecision(12)));
    return ticks;
  };
  const logTicks = (low, high) => {
    const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
    const inside = (value) => value >= low * 0.999 && value <= high * 1.001;
    const powers = Array.from({ length: last - first + 1 }, (_, at) => first + at);
    const tens = powers.map((power) => 10 ** power).filter(inside);
    if (tens.length >= 3) return tens.filter((_, at) => at % Math.max(Math.floor(tens.length / 7), 1) === 0);
    return powers.flatMap((power) => [1, 2, 5].map((part) => part * 10 ** power)).filter(inside);
  };

  class Chart {
    constructor(figure) {
      this.element = figure;
      this.about = data.figures[Number(figure.dataset.figure)];
      this.place = figure.querySelector(".drawing");
      this.tools = figure.querySelector(".tools");
      this.hidden = new Set();
      if (this.about.lines) this.prepare();
      this.addTools();
      this.place.dataset.ready = "yes";
    }

    prepare() {
      const all = table(this.about.table);
      const [, x, y] = this.about.lines.columns;
      this.titles = [all.names[x], all.names[y]];
      const [names, across, up] = this.about.lines.columns.map((at) => all.columns[at]);
      const usable = (value) => (Number.isFinite(value) ? value : null);
      this.rows = Array.from({ length: all.rows }, (_, place) => ({ place, x: usable(across.v[place]), y: usable(up.v[place]) }));
      this.lines = new Map();
      for (const row of this.rows) {
        if (row.x == null || row.y == null) continue;
        const name = cellText(names, row.place);
        if (!this.lines.has(name)) this.lines.set(name, []);
        this.lines.get(name).push(row);
      }
      this.names = [...this.lines.keys()];
      this.sorted = new Map([...this.lines].map(([name, line]) => [name, [...line].sort((a, b) => a.x - b.x || a.place - b.place)]));
      const [x0, x1, y0, y1] = this.about.lines.domain;
      this.first = { x0, x1, y0, y1 };
      this.log = { x: this.about.lines.log_x, y: this.about.lines.log_y };
      this.firstLog = { ...this.log };
      this.zoomed = null;
      this.listen();
    }

    view4() { return this.zoomed ?? this.whole(); }

    whole() {
      const limits = {};
      for (const channel of ["x", "y"]) {
        if (this.log[channel] === this.firstLog[channel]) {
          limits[channel + "0"] = this.first[channel + "0"];
          limits[channel + "1"] = this.first[channel + "1"];
          continue;
        }
        let [low, high] = [Infinity, -Infinity];
        for (const row of this.rows) {
          const value = row[channel];
          if (value == null || (this.log[channel] && value <= 0)) continue;
          low = Math.min(low, value);
          high = Math.max(high, value);
        }
        if (low > high) [low, high] = [0.001, 1];
        if (low === high) [low, high] = this.log[channel] ? [low / 10, high] : [low - 0.5, high + 0.5];
        if (this.log[channel]) low = Math.max(low, high * 1e-8);
        else if (channel === "x" || high <= 1) low = Math.min(low, 0);
        limits[channel + "0"] = low;
        limits[channel + "1"] = channel === "y" && !this.log.y && high <= 1 ? 1 : high;
      }
      return limits;
    }

    toScale(channel, value) { return this.log[channel] ? Math.log(value) : value; }
    fromScale(channel, value) { return this.log[channel] ? Math.exp(value) : value; }

    share(channel, value, now) {
      const [low, high] = [this.toScale(channel, now[channel + "0"]), this.toScale(channel, now[channel + "1"])];
      return (this.toScale(channel, value) - low) / (high - low);
    }

    /* The curves in an SVG of a size; the file has drawn them once, for paper and for readers without scripts. */
    drawn(width, height, paper) {
      const box = { left: 56, top: 10, right: width - 14, bottom: height - 44 };
      const now = this.view4();
      const svg = element("svg", { xmlns: NS, width, height, viewBox: `0 0 ${width} ${height}`, class: "plot", "font-size": 12, "font-family": "sans-serif", "aria-hidden": "true" });
      const [ink, soft, rule] = paper === "file" ? ["#1d2429", "#55616a", "#dfe4e8"] : [null, null, null];
      if (paper === "file") svg.append(element("rect", { width, height, fill: "#ffffff" }));
      const ticks = (channel, most) => (this.log[channel] ? logTicks(now[channel + "0"], now[channel + "1"]) : linearTicks(now[channel + "0"], now[channel + "1"], most));
      for (const value of ticks("x", Math.max(Math.floor((box.right - box.left) / 70), 2))) {
        const x = box.left + this.share("x", value, now) * (box.right - box.left);
        svg.append(element("line", { class: "grid", x1: x, x2: x, y1: box.top, y2: box.bottom, stroke: rule }));
        svg.append(element("text", { class: "tick", x, y: box.bottom + 17, "text-anchor": x > box.right - 12 ? "end" : "middle", fill: soft }, tickText(value)));
      }
      for (const value of ticks("y", 5)) {
        const y = box.bottom - this.share("y", value, now) * (box.bottom - box.top);
        svg.append(element("line", { class: "grid", x1: box.left, x2: box.right, y1: y, y2: y, stroke: rule }));
        svg.append(element("text", { class: "tick", x: box.left - 7, y: y + 4, "text-anchor": "end", fill: soft }, tickText(value)));
      }
      const middle = (box.top + box.bottom) / 2;
      svg.append(element("text", { class: "axis", x: (box.left + box.right) / 2, y: box.bottom + 36, "text-anchor": "middle", fill: ink }, this.titles[0]));
      svg.append(element("text", { class: "axis", x: 13, y: middle, "text-anchor": "middle", fill: ink, transform: `rotate(-90 13 ${middle})` }, this.titles[1]));
      const inner = element("svg", { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top, overflow: "hidden" });
      this.names.forEach((name, place) => {
        if (this.hidden.has(name)) return;
        const steps = [];
        let last = null;
        for (const row of this.lines.get(name)) {
          if ((this.log.x && row.x <= 0) || (this.log.y && row.y <= 0)) continue;
          const x = (this.share("x", row.x, now) * (box.right - box.left)).toFixed(1);
          const y = ((1 - this.share("y", row.y, now)) * (box.bottom - box.top)).toFixed(1);
          if (last !== null && this.about.lines.steps) steps.push(`${x} ${last}`);
          steps.push(`${x} ${y}`);
          last = y;
        }
        if (!steps.length) return;
        const stroke = paper === "file" ? colour(place, light) : null;
        inner.append(element("path", { class: `line${place % light.length}`, d: "M" + steps.join("L"), fill: "none", "stroke-width": 2, stroke, "stroke-dasharray": dashOf(place), "data-line": place }));
      });
      svg.append(inner);
      return svg;
    }

    draw() {
      const svg = this.drawn(Math.round(this.place.clientWidth), phone() ? 300 : 360, "page");
      this.place.querySelectorAll("svg.plot").forEach((old) => old.remove());
      this.place.prepend(svg);
    }

    zoom(factor, at = { x: 0.5, y: 0.5 }) { this.turn((channel, low, high) => {
      const middle = low + (high - low) * at[channel];
      return [middle - (middle - low) * factor, middle + (high - middle) * factor];
    }); }

    move(x, y) { this.turn((channel, low, high) => {
      const by = (high - low) * (channel === "x" ? x : y);
      return [low + by, high + by];
    }); }

    turn(limits) {
      const now = this.view4();
      const next = {};
      for (const channel of ["x", "y"]) {
        const [low, high] = limits(channel, this.toScale(channel, now[channel + "0"]), this.toScale(channel, now[channel + "1"]));
        next[channel + "0"] = this.fromScale(channel, low);
        next[channel + "1"] = this.fromScale(channel, high);
      }
      this.look(next);
    }

    look(next) {
      this.zoomed = next;
      this.reset.disabled = !next;
      this.element.dataset.zoomed = next ? "yes" : "";
      this.draw();
    }

    switchLog(channel, button) {
      this.log[channel] = !this.log[channel];
      button.setAttribute("aria-pressed", String(this.log[channel]));
      this.look(null);
    }

    spot(event) {
      const svg = this.place.querySelector("svg.plot");
      const box = svg.getBoundingClientRect();
      const shrunk = box.width / svg.viewBox.baseVal.width;
      const [width, height] = [(svg.viewBox.baseVal.width - 70) * shrunk, (svg.viewBox.baseVal.height - 54) * shrunk];
      const [left, top] = [56 * shrunk, 10 * shrunk];
      return { x: (event.clientX - box.left - left) / width, y: 1 - (event.clientY - box.top - top) / height, left, top, width, height };
    }

    read(event) {
      const at = this.spot(event);
      if (at.x < 0 || at.x > 1 || at.y < 0 || at.y > 1) return this.unread();
      const now = this.view4();
      const low = this.toScale("x", now.x0);
      const x = this.fromScale("x", low + (this.toScale("x", now.x1) - low) * at.x);
      const distance = (row) => Math.abs(this.toScale("x", Math.max(row.x, 1e-300)) - this.toScale("x", Math.max(x, 1e-300)));
      const rows = [];
      this.names.forEach((name, place) => {
        if (this.hidden.has(name)) return;
        const line = this.sorted.get(name);
        let [from, to] = [0, line.length - 1];
        while (from < to) {
          const middle = (from + to) >> 1;
          if (line[middle].x < x) from = middle + 1;
          else to = middle;
        }
        const before = line[Math.max(0, from - 1)];
        const near = distance(before) < distance(line[from]) ? before : line[from];
        rows.push([name, near.y, colour(place), near.x]);
      });
      rows.sort((a, b) => b[1] - a[1]);
      const shown = rows.slice(0, 12).map(([name, y, stroke, own]) => [name, `${short(y)} at ${short(own)}`, stroke]);
      if (rows.length > 12) shown.push([`and ${rows.length - 12} more`, "", null]);
      show(event, shown, `${this.titles[0]} ${short(x)}`);
      this.rule ??= make("div", { class: "rule" });
      if (!this.rule.isConnected) this.place.append(this.rule);
      this.rule.hidden = false;
      this.rule.style.left = `${at.left + at.x * at.width}px`;
      this.rule.style.top = `${at.top}px`;
      this.rule.style.height = `${at.height}px`;
    }

    unread() {
      hide();
      if (this.rule) this.rule.hidden = true;
    }

    listen() {
      const place = this.place;
      let from = null;
      place.addEventListener("pointermove", (event) => {
        if (!from) return this.read(event);
        const at = this.spot(event);
        this.move(from.x - at.x, from.y - at.y);
        from = at;
      });
      place.addEventListener("pointerleave", () => this.unread());
      place.addEventListener("pointerdown", (event) => {
        if (event.pointerType === "touch" || !this.zoomed) return;
        from = this.spot(event);
        place.setPointerCapture(event.pointerId);
        this.unread();
      });
      place.addEventListener("pointerup", () => { from = null; });
      place.addEventListener("dblclick", () => this.look(null));
      place.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.shiftKey) return;
        event.preventDefault();
        this.zoom((event.deltaY || event.deltaX) < 0 ? 0.8 : 1.25, this.spot(event));
      }, { passive: false });
    }

    addTools() {
      const button = (text, label, act, pressed) => {
        const made = make("button", { type: "button", "aria-label": label, title: label, "aria-pressed": pressed }, text);
        made.addEventListener("click", () => act(made));
        return made;
      };
      const group = (name, ...parts) => make("div", { class: "group", role: "group", "aria-label": name }, ...parts);
      if (this.about.lines) {
        this.reset = button("Reset", "Show the whole figure again", () => this.look(null));
        this.reset.disabled = true;
        const zoom = group("Zoom", button("+", "Zoom in", () => this.zoom(0.6)), button("−", "Zoom out", () => this.zoom(1 / 0.6)), this.reset);
        const axes = group(
          "Axes",
          button("log x", "Logarithmic horizontal axis", (b) => this.switchLog("x", b), String(this.log.x)),
          button("log y", "Logarithmic vertical axis", (b) => this.switchLog("y", b), String(this.log.y)),
        );
        this.tools.append(zoom, axes);
        this.place.tabIndex = 0;
        this.place.setAttribute("aria-description", "Arrow keys move, plus and minus zoom, 0 resets.");
        this.place.addEventListener("keydown", (event) => this.key(event));
        if (this.names.length > 1) this.place.before(this.switches());
        this.draw();
      }
      this.tools.append(group(
        "Download",
        button("SVG", "Save this figure as SVG", () => this.save("svg")),
        button("PNG", "Save this figure as PNG", () => this.save("png")),
        button("CSV", "Save the numbers of this figure as CSV", () => save(csv(table(this.about.table)), "text/csv", stem(this.about.name) + ".csv")),
      ));
      this.tools.hidden = false;
    }

    key(event) {
      if (event.target !== this.place || event.ctrlKey || event.metaKey || event.altKey) return;
      const moves = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
      if (event.key === "+" || event.key === "=") this.zoom(0.6);
      else if (event.key === "-") this.zoom(1 / 0.6);
      else if (event.key === "0") this.look(null);
      else if (moves[event.key] && this.zoomed) this.move(...moves[event.key]);
      else return;
      event.preventDefault();
    }

    switches() {
      const boxes = this.names.map((name, place) => {
        const box = make("input", { type: "checkbox", checked: true, onchange: () => {
          if (box.checked) this.hidden.delete(name);
          else this.hidden.add(name);
          this.draw();
        } });
        return make("label", {}, box, strokeSwatch(colour(place), dashOf(place)), name);
      });
      const every = (checked) => {
        this.hidden = new Set(checked ? [] : this.names.slice(1));
        boxes.forEach((label, place) => { label.firstChild.checked = checked || place === 0; });
        this.draw();
      };
      const both = this.names.length > 3
        ? [make("button", { type: "button", onclick: () => every(true) }, "All"), make("button", { type: "button", onclick: () => every(false) }, "Only the first")]
        : [];
      return make("div", { class: "lines", role: "group", "aria-label": `Lines of ${this.about.title}`, tabindex: boxes.length > 12 ? "0" : null }, ...both, ...boxes);
    }

    /* The figure as a file: the static drawing on white paper; curves as they are seen, with their names. */
    file() {
      if (!this.about.lines) {
        const svg = this.place.querySelector("svg.plot").cloneNode(true);
        svg.setAttribute("xmlns", NS);
        svg.removeAttribute("display");
        svg.prepend(element("rect", { width: "100%", height: "100%", fill: "#ffffff" }));
        return svg;
      }
      const shown = this.names.filter((name) => !this.hidden.has(name));
      const svg = this.drawn(760, 360, "file");
      shown.forEach((name, at) => {
        const place = this.names.indexOf(name);
        svg.append(element("line", { x1: 56, x2: 76, y1: 372 + 18 * at, y2: 372 + 18 * at, stroke: colour(place, light), "stroke-width": 3, "stroke-dasharray": dashOf(place) }));
        svg.append(element("text", { x: 82, y: 376 + 18 * at, fill: "#1d2429" }, name));
      });
      const height = 370 + 18 * shown.length;
      svg.setAttribute("height", height);
      svg.setAttribute("viewBox", `0 0 760 ${height}`);
      svg.firstChild.setAttribute("height", height);
      return svg;
    }

    async save(form) {
      const svg = this.file();
      const text = new XMLSerializer().serializeToString(svg);
      if (form === "svg") return save(text, "image/svg+xml", stem(this.about.name) + ".svg");
      const picture = new Image();
      const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
      await new Promise((done, failed) => { picture.onload = done; picture.onerror = failed; picture.src = address; });
      const [width, height] = [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height];
      const canvas = make("canvas", { width: 2 * width, height: 2 * height });
      const context = canvas.getContext("2d");
      context.drawImage(picture, 0, 0, 2 * width, 2 * height);
      URL.revokeObjectURL(address);
      await new Promise((done) => canvas.toBlob((blob) => { save(blob, "image/png", stem(this.about.name) + ".png"); done(); }));
    }
  }

  const short = (value) => (value === 0 ? "0" : Math.abs(value) >= 0.001 && Math.abs(value) < 1e6 ? String(Number(value.toPrecision(4))) : value.toExponential(2));

  /* What the pointer is on, in forest plots and matrices: each mark has a title. */
  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest?.(".drawing svg.plot *");
    const title = mark?.querySelector?.(":scope > title")?.textContent;
    if (!title || mark.closest("[data-lines]")) return mark?.closest("[data-lines]") ? undefined : hide();
    show(event, [[title, ""]]);
  });

  /* ---- when to draw ---- */

  const charts = new Map();
  const draw = (figure) => {
    if (!charts.has(figure)) charts.set(figure, new Chart(figure));
  };

  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      if (entry.target.matches(".packed")) drawLong(entry.target);
      else draw(entry.target);
    }
  }, { rootMargin: "600px 0px" });
  document.querySelectorAll("figure[data-figure], .packed").forEach((part) => near.observe(part));

  const again = () => charts.forEach((chart) => {
    chart.element.querySelectorAll(".lines line").forEach((line, place) => line.setAttribute("stroke", colour(place)));
    if (chart.about.lines) chart.draw();
  });
  dark.addEventListener("change", again);

  let width = window.innerWidth;
  let waiting = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    window.clearTimeout(waiting);
    waiting = window.setTimeout(again, 200);
  });
  const unfold = (part) => { for (let around = part; around; around = around.parentElement) if (around.matches("details")) around.open = true; };
  const unfoldAll = () => document.querySelectorAll("details.rest").forEach((part) => { part.open = true; });
  const wanted = () => {
    const part = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    if (!part) return;
    unfold(part);
    part.querySelector(":scope > details")?.setAttribute("open", "");
  };
  window.addEventListener("hashchange", wanted);
  wanted();
  window.addEventListener("beforeprint", () => {
    unfoldAll();
    document.querySelectorAll("figure[data-figure]").forEach(draw);
  });
  document.addEventListener("scroll", hide, { passive: true });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  /* ---- contents ---- */

  const contents = document.querySelector(".contents details");
  if (contents && window.innerWidth < 992) contents.open = false;
  const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  links.forEach((_, id) => { const part = document.getElementById(id); if (part) seen.observe(part); });

  /* For whoever drives the page: draws everything that waits for being scrolled to. */
  window.evenhand = { drawAll: async () => {
    unfoldAll();
    document.querySelectorAll(".packed").forEach(drawLong);
    document.querySelectorAll("figure[data-figure]").forEach(draw);
    return charts.size;
  } };
})();
