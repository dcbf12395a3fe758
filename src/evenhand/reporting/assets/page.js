"use strict";
/* Draws the figures and long tables of a page from its data. No text from the data is ever taken for markup
   or code: texts are set as text, figures are read by Vega's expression interpreter. */
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
      const limits = { kind: column.kind, v: doubles(column.v) };
      if (column.l != null) limits.l = doubles(column.l);
      if (column.h != null) limits.h = doubles(column.h);
      if (column.r != null) limits.r = places(column.r);
      return limits;
    });
    const found = { ...packed, columns, muted: new Set(packed.muted) };
    opened.set(number, found);
    return found;
  };

  const rowsOf = (found) => {
    const rows = [];
    const usable = (value) => (Number.isFinite(value) ? value : null);
    for (let row = 0; row < found.rows; row++) {
      const datum = { place: row, muted: found.muted.has(row) };
      found.columns.forEach((column, at) => {
        datum["c" + at] = column.kind === "t" ? data.texts[column.v[row]] : usable(column.v[row]);
        if (column.kind === "i") {
          datum["c" + at + "_low"] = column.l ? usable(column.l[row]) : null;
          datum["c" + at + "_high"] = column.h ? usable(column.h[row]) : null;
        }
      });
      rows.push(datum);
    }
    return rows;
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
  const decimals = (low, high) => {
    if (!(Number.isFinite(low) && Number.isFinite(high)) || high <= low) return 3;
    return Math.min(Math.max(Math.ceil(-Math.log10(high - low)) + 1, 2), 6);
  };
  const told = (column, row) => {
    if (column.kind === "t") return data.texts[column.v[row]];
    const value = column.v[row];
    if (column.kind === "n") return column.whole && !Number.isNaN(value) ? value.toLocaleString("en-US") : number(value);
    if (Number.isNaN(value)) return "–";
    const low = column.l ? column.l[row] : NaN;
    const high = column.h ? column.h[row] : NaN;
    const digits = decimals(low, high);
    if (Number.isNaN(low) || Number.isNaN(high)) return number(value, digits);
    return `${fixed(value, digits)} [${fixed(low, digits)}, ${fixed(high, digits)}]`;
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
          const text = told(column, row);
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
    const lines = rows.map(([name, value, colour]) => {
      const swatch = colour ? [strokeSwatch(colour, []), " "] : [];
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
  const tooltip = (handler, event, item, value) => {
    if (value == null || value === "") return hide();
    show(event, typeof value === "object" ? Object.entries(value).map(([k, v]) => [k, String(v)]) : [[String(value), ""]]);
  };

  const strokeSwatch = (colour, dash) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [name, value] of [["width", 20], ["height", 8], ["aria-hidden", "true"]]) svg.setAttribute(name, value);
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const drawn = { x1: 0, y1: 4, x2: 20, y2: 4, stroke: colour, "stroke-width": 3, "stroke-dasharray": dash.join(" ") };
    for (const [name, value] of Object.entries(drawn)) line.setAttribute(name, value);
    svg.append(line);
    return svg;
  };

  /* ---- figures ---- */

  const theme = (isDark) => (isDark ? data.dark : data.light);
  const copy = (value) => JSON.parse(JSON.stringify(value));

  class Drawn {
    constructor(element) {
      this.element = element;
      this.about = data.figures[Number(element.dataset.figure)];
      this.place = element.querySelector(".drawing");
      this.tools = element.querySelector(".tools");
      this.rows = this.about.from_table ? rowsOf(table(this.about.table)) : null;
      this.hidden = new Set();
      this.place.dataset.kind = this.about.kind;
      if (this.isCurves) this.prepareCurves();
      this.addTools();
    }

    get isCurves() { return this.about.kind === "curves"; }

    spec(forFile = false) {
      const spec = copy(this.about.spec);
      if (this.rows) spec.data = { name: "table", values: this.usable() };
      if (!forFile) {
        const fixedWidth = typeof spec.width === "number";
        spec.width = "container";
        spec.autosize = { type: "fit-x", contains: "padding" };
        if (fixedWidth && typeof spec.height === "number" && phone()) spec.height = Math.min(spec.height, 300);
        const limit = Math.max(90, Math.round(this.place.clientWidth * (phone() ? 0.42 : 0.46)));
        spec.config = { ...spec.config, axisY: { labelLimit: limit, ...(phone() ? { labelFontSize: 11 } : {}) } };
      } else if (spec.width === "container") spec.width = 640;
      if (this.isCurves) {
        spec.encoding.x.scale.type = this.log.x ? "log" : "linear";
        spec.encoding.y.scale.type = this.log.y ? "log" : "linear";
        spec.params.forEach((param) => { param.value = this.view4()[param.name]; });
        if (!forFile) {
          spec.encoding.color.legend = null;
          spec.encoding.strokeDash.legend = null;
        } else {
          const kept = spec.encoding.color.scale.domain.filter((name) => !this.hidden.has(name));
          for (const channel of ["color", "strokeDash"]) spec.encoding[channel].legend = { ...spec.encoding[channel].legend, values: kept };
        }
      }
      return spec;
    }

    usable() {
      if (!this.isCurves) return this.rows;
      return this.rows.filter((row) => !this.hidden.has(row.c0) && (!this.log.x || row.c1 > 0) && (!this.log.y || row.c2 > 0));
    }

    async draw() {
      const options = { ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip, logLevel: 1, mode: "vega-lite", config: theme(dark.matches) };
      const paper = dark.matches ? "dark" : "light";
      this.view?.finalize();
      const made = await window.vegaEmbed(this.place, this.spec(), options);
      this.view = made.view;
      this.place.querySelector("svg")?.setAttribute("aria-hidden", "true");
      this.place.dataset.drawn = "yes";
      this.place.dataset.paper = paper;
      if (this.isCurves) this.listen();
    }

    /* -- curves: lines, axes, zoom, reading -- */

    prepareCurves() {
      const spec = this.about.spec;
      this.names = spec.encoding.color.scale.domain;
      this.dashes = spec.encoding.strokeDash.scale.range;
      this.log = { x: spec.encoding.x.scale.type === "log", y: spec.encoding.y.scale.type === "log" };
      this.first = Object.fromEntries(spec.params.map((param) => [param.name, param.value]));
      this.firstLog = { ...this.log };
      this.zoomed = null;
      this.lines = new Map();
      for (const row of this.rows) {
        if (!this.lines.has(row.c0)) this.lines.set(row.c0, []);
        this.lines.get(row.c0).push(row);
      }
      for (const line of this.lines.values()) line.sort((a, b) => a.c1 - b.c1 || a.place - b.place);
    }

    view4() { return this.zoomed ?? this.whole(); }

    whole() {
      const found = {};
      for (const [channel, field] of [["x", "c1"], ["y", "c2"]]) {
        if (this.log[channel] === this.firstLog[channel]) {
          found[channel + "0"] = this.first[channel + "0"];
          found[channel + "1"] = this.first[channel + "1"];
          continue;
        }
        let [low, high] = [Infinity, -Infinity];
        for (const row of this.rows) {
          const value = row[field];
          if (value == null || (this.log[channel] && value <= 0)) continue;
          low = Math.min(low, value);
          high = Math.max(high, value);
        }
        if (low > high) [low, high] = [0.001, 1];
        if (low === high) [low, high] = this.log[channel] ? [low / 10, high] : [low - 0.5, high + 0.5];
        if (this.log[channel]) low = Math.max(low, high * 1e-8);
        else if (channel === "x" || high <= 1) low = Math.min(low, 0);
        found[channel + "0"] = low;
        found[channel + "1"] = channel === "y" && !this.log.y && high <= 1 ? 1 : high;
      }
      return found;
    }

    toScale(channel, value) { return this.log[channel] ? Math.log(value) : value; }
    fromScale(channel, value) { return this.log[channel] ? Math.exp(value) : value; }

    zoom(factor, at = { x: 0.5, y: 0.5 }) {
      const now = this.view4();
      const next = {};
      for (const channel of ["x", "y"]) {
        const low = this.toScale(channel, now[channel + "0"]);
        const high = this.toScale(channel, now[channel + "1"]);
        const middle = low + (high - low) * at[channel];
        next[channel + "0"] = this.fromScale(channel, middle - (middle - low) * factor);
        next[channel + "1"] = this.fromScale(channel, middle + (high - middle) * factor);
      }
      this.look(next);
    }

    move(x, y) {
      const now = this.view4();
      const next = {};
      for (const [channel, share] of [["x", x], ["y", y]]) {
        const low = this.toScale(channel, now[channel + "0"]);
        const high = this.toScale(channel, now[channel + "1"]);
        next[channel + "0"] = this.fromScale(channel, low + (high - low) * share);
        next[channel + "1"] = this.fromScale(channel, high + (high - low) * share);
      }
      this.look(next);
    }

    look(next) {
      this.zoomed = next;
      this.reset.disabled = !next;
      for (const [name, value] of Object.entries(this.view4())) this.view.signal(name, value);
      this.view.runAsync();
      this.element.dataset.zoomed = next ? "yes" : "";
    }

    switchLog(channel, button) {
      this.log[channel] = !this.log[channel];
      this.zoomed = null;
      this.reset.disabled = true;
      button.setAttribute("aria-pressed", String(this.log[channel]));
      this.draw();
    }

    refresh() {
      this.view.data("table", this.usable());
      this.view.runAsync();
    }

    spot(event) {
      const box = this.place.querySelector("svg").getBoundingClientRect();
      const around = this.view.padding();
      const edge = typeof around === "number" ? { left: around, top: around } : around;
      const left = this.view.origin()[0] + edge.left;
      const top = this.view.origin()[1] + edge.top;
      const [width, height] = [this.view.width(), this.view.height()];
      const shrunk = box.width / (this.place.querySelector("svg").viewBox.baseVal.width || box.width);
      return {
        x: ((event.clientX - box.left) / shrunk - left) / width,
        y: 1 - ((event.clientY - box.top) / shrunk - top) / height,
        left: left * shrunk, top: top * shrunk, width: width * shrunk, height: height * shrunk,
      };
    }

    read(event) {
      const at = this.spot(event);
      if (at.x < 0 || at.x > 1 || at.y < 0 || at.y > 1) return this.unread();
      const now = this.view4();
      const low = this.toScale("x", now.x0);
      const high = this.toScale("x", now.x1);
      const x = this.fromScale("x", low + (high - low) * at.x);
      const rows = [];
      const colours = theme(dark.matches).range.category;
      this.names.forEach((name, place) => {
        if (this.hidden.has(name) || !this.lines.has(name)) return;
        const line = this.lines.get(name);
        let [from, to] = [0, line.length - 1];
        while (from < to) {
          const middle = (from + to) >> 1;
          if (line[middle].c1 < x) from = middle + 1;
          else to = middle;
        }
        const after = line[from];
        const before = line[Math.max(0, from - 1)];
        const near = Math.abs(this.toScale("x", Math.max(before.c1, 1e-300)) - this.toScale("x", x)) < Math.abs(this.toScale("x", Math.max(after.c1, 1e-300)) - this.toScale("x", x)) ? before : after;
        rows.push([name, near.c2, colours[place % colours.length], near.c1]);
      });
      rows.sort((a, b) => b[1] - a[1]);
      const told = rows.slice(0, 12).map(([name, y, colour, own]) => [name, `${short(y)} at ${short(own)}`, colour]);
      if (rows.length > 12) told.push([`and ${rows.length - 12} more`, "", null]);
      show(event, told, `${table(this.about.table).names[1]} ${short(x)}`);
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
      const svg = this.place.querySelector("svg");
      let from = null;
      svg.addEventListener("pointermove", (event) => {
        if (!from) return this.read(event);
        const at = this.spot(event);
        this.move(from.x - at.x, from.y - at.y);
        from = at;
      });
      svg.addEventListener("pointerleave", () => this.unread());
      svg.addEventListener("pointerdown", (event) => {
        if (event.pointerType === "touch" || !this.zoomed) return;
        from = this.spot(event);
        svg.setPointerCapture(event.pointerId);
        this.unread();
      });
      svg.addEventListener("pointerup", () => { from = null; });
      svg.addEventListener("dblclick", () => this.look(null));
      svg.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.shiftKey) return;
        event.preventDefault();
        const turned = event.deltaY || event.deltaX;
        this.zoom(turned < 0 ? 0.8 : 1.25, this.spot(event));
      }, { passive: false });
    }

    /* -- buttons -- */

    addTools() {
      const button = (text, label, act, pressed) => {
        const made = make("button", { type: "button", "aria-label": label, title: label, "aria-pressed": pressed }, text);
        made.addEventListener("click", () => act(made));
        return made;
      };
      const group = (name, ...parts) => make("div", { class: "group", role: "group", "aria-label": name }, ...parts);
      if (this.isCurves) {
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
      }
      this.tools.append(group(
        "Keep",
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
      const colours = theme(dark.matches).range.category;
      const boxes = this.names.map((name, place) => {
        const box = make("input", { type: "checkbox", checked: true, onchange: () => {
          if (box.checked) this.hidden.delete(name);
          else this.hidden.add(name);
          this.refresh();
        } });
        return make("label", {}, box, strokeSwatch(colours[place % colours.length], this.dashes[place]), name);
      });
      const every = (checked) => {
        this.hidden = new Set(checked ? [] : this.names.slice(1));
        boxes.forEach((label, place) => { label.firstChild.checked = checked || place === 0; });
        this.refresh();
      };
      const both = this.names.length > 3
        ? [make("button", { type: "button", onclick: () => every(true) }, "All"), make("button", { type: "button", onclick: () => every(false) }, "Only the first")]
        : [];
      return make("div", { class: "lines", role: "group", "aria-label": `Lines of ${this.about.title}`, tabindex: boxes.length > 12 ? "0" : null }, ...both, ...boxes);
    }

    async save(form) {
      const holder = make("div", { class: "unseen" });
      document.body.append(holder);
      const config = { ...data.light, background: "white" };
      const options = { ast: true, actions: false, renderer: form === "svg" ? "svg" : "none", tooltip: false, defaultStyle: false, logLevel: 1, mode: "vega-lite", config };
      const made = await window.vegaEmbed(holder, this.spec(true), options);
      if (form === "svg") save(new XMLSerializer().serializeToString(holder.querySelector("svg")), "image/svg+xml", stem(this.about.name) + ".svg");
      else {
        const canvas = await made.view.toCanvas(2);
        await new Promise((done) => canvas.toBlob((blob) => { save(blob, "image/png", stem(this.about.name) + ".png"); done(); }));
      }
      made.view.finalize();
      holder.remove();
    }
  }

  const short = (value) => (value === 0 ? "0" : Math.abs(value) >= 0.001 && Math.abs(value) < 1e6 ? String(Number(value.toPrecision(4))) : value.toExponential(2));

  /* ---- when to draw ---- */

  const figures = new Map();
  const draw = (element) => {
    if (!figures.has(element)) {
      const made = new Drawn(element);
      figures.set(element, made);
      made.ready = made.draw().catch((error) => {
        made.place.textContent = "This figure could not be drawn; its table says the same.";
        console.error(`${made.about.title}: ${error}`);
      });
    }
    return figures.get(element).ready;
  };

  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      if (entry.target.matches(".packed")) drawLong(entry.target);
      else draw(entry.target);
    }
  }, { rootMargin: "600px 0px" });
  document.querySelectorAll("figure[data-figure], .packed").forEach((element) => near.observe(element));

  const again = () => figures.forEach((made) => {
    const colours = theme(dark.matches).range.category;
    made.element.querySelectorAll(".lines line").forEach((line, place) => line.setAttribute("stroke", colours[place % colours.length]));
    made.draw();
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
  const wanted = () => unfold(document.getElementById(decodeURIComponent(window.location.hash.slice(1))));
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
    for (const element of document.querySelectorAll("figure[data-figure]")) await draw(element);
    return figures.size;
  } };
})();
