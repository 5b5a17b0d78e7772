// Curves with bands, a cursor, and a legend with the values at the cursor.

/** Round numbers between two ends, about this many. */
function ticks(low, high, count) {
  if (!(high > low)) return [low];
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= raw);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) found.push(i * step + 0);
  return found;
}

/** 1, 2 and 5 times each power of ten between two ends; fewer where there is no room. */
function logTicks(low, high, count) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
    for (const factor of [1, 2, 5]) {
      const value = factor * 10 ** power;
      if (value >= low && value <= high) found.push(value);
    }
  }
  return found.length <= count ? found : found.filter((value) => Number.isInteger(Math.round(1e6 * Math.log10(value)) / 1e6));
}

/** A number on an axis of values, short enough to fit beside it. */
function valueTick(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${tick(value / 1e6)} M`;
  return size && size < 1e-3 ? Number(value.toPrecision(6)).toExponential().replaceAll("-", MINUS) : tick(value);
}

/** Ticks of a logarithmic axis of values: at least two, also where it spans less than a power of ten. */
function valueTicks(low, high) {
  const found = logTicks(low, high, 8);
  return found.length > 1 ? found.filter((_, i) => i % Math.ceil(found.length / 8) === 0) : ticks(low, high, 4).filter((value) => value > 0);
}

/** The index of the last x that is not beyond a value; -1 before the first. */
function placeOf(xs, value) {
  let [low, high] = [0, xs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The index of the x nearest to a value. */
function nearest(xs, value) {
  const place = Math.max(0, placeOf(xs, value));
  return place + 1 < xs.length && xs[place + 1] - value < value - xs[place] ? place + 1 : place;
}

/**
 * A line chart. A series has name, method (its colour), x, y and optionally low, high, dash, thin and faint; one
 * without a name is not in the legend. `log` is for the x axis, `logY` for the y axis, which stays linear where no
 * value is positive. With `scrub`, the cursor is controlled from outside: dragging calls it, and `cursor(x)` moves it.
 */
class Chart {
  constructor(host, { title, xLabel, yFormat, yTick = tick, log = false, logY = false, steps = false, height = 260, scrub = null, from = null }) {
    Object.assign(this, { host, title, xLabel, yFormat, yTick, log, logY, steps, height, scrub, from });
    this.series = [];
    this.at = null;
    this.legend = make("ul", { class: "legend" });
    const reads = { tabindex: 0, role: "application", "aria-roledescription": "chart", "aria-label": `${title}. Use the arrow keys to read its values.` };
    this.drawing = make("svg", { class: "scrubbed", ...(scrub ? { role: "img", "aria-label": title } : reads) });
    this.spoken = make("p", { class: "hidden", "aria-live": "polite" });
    host.classList.add("chart");
    this.heading = make("h3", {}, title);
    host.append(this.heading, this.legend, this.drawing);
    this.drawing.addEventListener("pointermove", (event) => this.#point(event));
    this.drawing.addEventListener("pointerdown", (event) => {
      if (this.scrub) this.drawing.setPointerCapture(event.pointerId);
      this.#point(event, true);
    });
    if (!scrub) {
      host.append(this.spoken);
      // A point chosen by touch or keyboard stays.
      this.drawing.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") this.cursor(null); });
      this.drawing.addEventListener("keydown", (event) => this.#key(event));
      this.drawing.addEventListener("blur", () => this.cursor(null));
    }
    new ResizeObserver(() => this.draw()).observe(this.drawing);
  }

  show(series) {
    this.series = series.filter((one) => one.x.length);
    this.items = this.series.map((one) => make("output", {}, ""));
    this.legend.replaceChildren(...this.series.filter((one) => one.name).map((one) => make("li", {},
      swatch(one), one.name, this.items[this.series.indexOf(one)])));
    this.draw();
  }

  /** Move the cursor; null for none. */
  cursor(x) {
    this.at = x;
    this.#place();
  }

  #point(event, pressed = false) {
    if (!this.scale) return;
    const box = this.drawing.getBoundingClientRect();
    const x = this.scale.back(event.clientX - box.left);
    if (!this.scrub) this.cursor(this.#snapped(x));
    else if (pressed || event.buttons) this.scrub(x);
  }

  /** The point of a curve that is nearest; curves of steps have a value everywhere. */
  #snapped(x) {
    if (this.steps) return x;
    const near = this.series.map((one) => one.x[nearest(one.x, x)]);
    return near.reduce((best, one) => (Math.abs(one - x) < Math.abs(best - x) ? one : best), near[0]);
  }

  /** Move to the next value with the keyboard, and announce it. */
  #key(event) {
    const far = event.shiftKey ? 10 : 1;
    const move = { ArrowLeft: -far, ArrowRight: far, Home: -Infinity, End: Infinity }[event.key];
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey || !this.series.length) return;
    event.preventDefault();
    const xs = [...new Set(this.series.flatMap((one) => one.x))].sort((a, b) => a - b);
    const from = this.at === null ? xs.length - (move < 0 ? 0 : 1) : placeOf(xs, this.at);
    this.cursor(xs[Math.min(xs.length - 1, Math.max(0, from + move))]);
    const values = this.series.map((one, i) => `${one.name} ${this.items[i].textContent}`).filter((_, i) => this.series[i].name);
    this.spoken.textContent = `${shown(this.at)} ${this.xLabel}: ${values.join(", ")}`;
  }

  #limits() {
    const xs = this.series.flatMap((one) => [one.x[0], one.x[one.x.length - 1]]);
    let [left, right] = [this.log ? Math.max(1, Math.min(...xs)) : this.from ?? Math.min(0, ...xs), Math.max(...xs)];
    if (!(right > left)) right = left + 1;
    let [low, high, least] = [Infinity, -Infinity, Infinity];
    for (const one of this.series) {
      for (const values of [one.y, one.low, one.high]) {
        for (const value of values ?? []) {
          if (!Number.isFinite(value)) continue;
          low = Math.min(low, value);
          high = Math.max(high, value);
          if (value > 0) least = Math.min(least, value);
        }
      }
    }
    if (low > high) [low, high] = [0, 1];
    const logarithmic = this.logY && least <= high;
    if (logarithmic) return { left, right, low: least === high ? least / 2 : least, high: least === high ? 2 * high : high * (high / least) ** 0.03, logarithmic };
    if (low >= 0 && low < 0.6 * high) low = 0;
    if (low === high) { low -= Math.abs(low) / 10 || 0.5; high += Math.abs(high) / 10 || 0.5; }
    return { left, right, low, high: high + 0.03 * (high - low), logarithmic };
  }

  draw() {
    const width = this.drawing.clientWidth;
    if (!width || !this.series.length) { this.scale = null; this.drawing.replaceChildren(); return; }
    const { left, right, low, high, logarithmic } = this.#limits();
    const [height, top, bottom, end] = [this.height, 8, 40, 14];
    const values = logarithmic ? valueTicks(low, high) : ticks(low, high, Math.max(4, Math.round(height / 45)));
    const labels = values.map((y) => make("text", { "text-anchor": "end" }, this.yTick(y)));
    this.drawing.replaceChildren(...labels); // numbers with many digits are wider than the usual margin
    const margin = Math.ceil(Math.max(52, ...labels.map((label) => label.getComputedTextLength() + 12)));
    const fx = this.log ? Math.log : (value) => value;
    const [a, b] = [fx(left), fx(right)];
    const px = (x) => margin + ((fx(Math.max(x, left)) - a) / (b - a)) * (width - margin - end);
    const fy = logarithmic ? (value) => Math.log(Math.max(value, low)) : (value) => value;
    const py = (y) => height - bottom - ((fy(y) - fy(low)) / (fy(high) - fy(low))) * (height - top - bottom);
    const inverse = (pixel) => a + ((pixel - margin) / (width - margin - end)) * (b - a);
    this.scale = { px, py, logarithmic, back: (pixel) => Math.min(right, Math.max(left, this.log ? Math.exp(inverse(pixel)) : inverse(pixel))) };
    const parts = [];
    for (const [i, y] of values.entries()) {
      labels[i].setAttribute("x", margin - 8);
      labels[i].setAttribute("y", py(y) + 4);
      parts.push(make("line", { class: "grid", x1: margin, x2: width - end, y1: py(y), y2: py(y) }), labels[i]);
    }
    const room = Math.max(2, Math.floor((width - margin) / 90));
    for (const x of this.log ? logTicks(left, right, room) : ticks(left, right, room)) {
      parts.push(make("line", { class: "tick", x1: px(x), x2: px(x), y1: height - bottom, y2: height - bottom + 4 }),
        make("text", { x: px(x), y: height - bottom + 17, "text-anchor": px(x) > width - 30 ? "end" : "middle" }, tick(x)));
    }
    parts.push(make("line", { class: "axis", x1: margin, x2: width - end, y1: height - bottom, y2: height - bottom }),
      make("text", { class: "label", x: width - end, y: height - 4, "text-anchor": "end" }, this.xLabel));
    for (const one of this.series) if (one.low && !one.thin) parts.push(make("path", { d: band(one, px, py), fill: tint(one), opacity: 0.14 }));
    for (const one of this.series) {
      const known = [...one.x.keys()].filter((i) => Number.isFinite(one.y[i]) && !(logarithmic && one.y[i] <= 0));
      if (known.length === 1) parts.push(make("circle", { cx: px(one.x[known[0]]), cy: py(one.y[known[0]]), r: 4, fill: tint(one) }));
      parts.push(make("path", { d: line(one, px, py, this.steps, known), class: `curve${one.thin ? " thin" : ""}${one.faint ? " faint" : ""}`, stroke: tint(one), "stroke-dasharray": one.dash }));
    }
    this.rule = make("line", { class: "cursor", y1: top, y2: height - bottom });
    this.dots = this.series.map((one) => make("circle", { r: one.thin ? 3 : 4.5, fill: tint(one), class: "dot" }));
    this.where = make("text", { class: "where", y: top + 10 });
    this.width = width;
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.drawing.style.height = `${height}px`;
    this.drawing.replaceChildren(...parts, this.rule, ...this.dots, this.where);
    this.#place();
  }

  #place() {
    if (!this.scale || !this.rule) return;
    const { px, py, logarithmic } = this.scale;
    const hidden = this.at === null;
    this.rule.toggleAttribute("hidden", hidden);
    this.where.toggleAttribute("hidden", hidden || Boolean(this.scrub));
    if (!hidden) {
      for (const end of ["x1", "x2"]) this.rule.setAttribute(end, px(this.at));
      const right = px(this.at) < this.width / 2;
      this.where.setAttribute("x", px(this.at) + (right ? 6 : -6));
      this.where.setAttribute("text-anchor", right ? "start" : "end");
      this.where.textContent = `${shown(this.at)} ${this.xLabel}`;
    }
    this.series.forEach((one, number) => {
      const place = hidden ? one.x.length - 1 : placeOf(one.x, this.at);
      const value = place < 0 ? NaN : one.y[place];
      this.items[number].textContent = this.yFormat(value);
      const gone = hidden || !Number.isFinite(value) || (logarithmic && value <= 0) || (one.thin && !this.scrub);
      this.dots[number].toggleAttribute("hidden", gone);
      if (!gone) {
        this.dots[number].setAttribute("cx", px(this.at));
        this.dots[number].setAttribute("cy", py(value));
      }
    });
  }
}

/** A method's colour; grey for an unknown method. */
const tint = (one) => `var(--${CSS.escape(one.method)}, var(--muted))`;

function swatch(one) {
  return make("svg", { class: "swatch", viewBox: "0 0 22 8", "aria-hidden": "true" },
    make("line", { x1: 0, x2: 22, y1: 4, y2: 4, stroke: tint(one), "stroke-width": one.thin ? 1.5 : 3, "stroke-dasharray": one.dash }));
}

/** The path of a line through the points that are known. */
function line(one, px, py, steps, known) {
  let path = "";
  for (const i of known) {
    const [x, y] = [px(one.x[i]).toFixed(1), py(one.y[i]).toFixed(1)];
    if (!path) path = `M${x} ${y}`;
    else path += steps ? `H${x}V${y}` : `L${x} ${y}`;
  }
  return path;
}

function band(one, px, py) {
  const there = [...one.x.keys()].filter((i) => Number.isFinite(one.low[i]) && Number.isFinite(one.high[i]));
  const edge = (values) => there.map((i) => `${px(one.x[i]).toFixed(1)} ${py(values[i]).toFixed(1)}`);
  return there.length ? `M${[...edge(one.high), ...edge(one.low).reverse()].join("L")}Z` : "";
}
