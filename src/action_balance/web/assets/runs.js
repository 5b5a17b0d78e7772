// Training runs: curves of their metrics, and news of runs that are still training.

/** Milliseconds until the next request after the server did not answer, or when all runs have ended. */
const ASK_AGAIN = 4000;

/** Curves of one method in one chart differ in their dashes. */
const DASHES = [undefined, "7 3", "2 3", "9 3 2 3", "4 2 1 2 1 2"];

const STATES = {
  waiting: "not started yet",
  running: "training",
  finished: "finished",
  interrupted: "interrupted",
  failed: "stopped by an error",
  silent: "no updates",
};

/** What is the same for all charts of the page: smoothing, lines of seeds, the axis of steps, and the filter. */
class ChartTools {
  constructor(place, curves, charts, count) {
    this.charts = charts;
    this.options = { smoothing: 0, perSeed: false };
    this.logX = false;
    const change = (act) => (event) => { act(event.target); this.apply(); };
    const several = curves.some((curve) => curve.seeds > 1 && curve.numbers);
    this.seeds = several;
    this.amount = make("output", {}, "off");
    this.found = make("output", {});
    this.found.setAttribute("aria-live", "polite");
    this.note = make("p", { class: "hint" });
    const slider = make("input", { type: "range", min: 0, max: 0.99, step: 0.01, value: 0, name: "smoothing", oninput: change((one) => {
      this.options.smoothing = Number(one.value);
      this.amount.textContent = this.options.smoothing ? one.value : "off";
    }) });
    const filter = make("input", { type: "search", name: "filter", placeholder: "for example entropy", oninput: (event) => this.filter(event.target.value) });
    place.classList.add("tools");
    place.append(...[
      count > 3 ? make("label", { class: "find" }, make("span", {}, "Filter metrics"), filter, this.found) : null,
      make("label", {}, make("span", {}, "Smoothing"), slider, this.amount),
      several ? make("label", {}, make("input", { type: "checkbox", name: "seeds", onchange: change((one) => { this.options.perSeed = one.checked; }) }), make("span", {}, "One line per seed")) : null,
      make("label", {}, make("input", { type: "checkbox", name: "log-steps", onchange: change((one) => { this.logX = one.checked; }) }), make("span", {}, "Logarithmic step axis")),
    ].filter(Boolean));
    place.after(this.note);
    this.describe();
  }

  /** What lines and bands mean, as far as they are drawn. */
  describe() {
    const { smoothing, perSeed } = this.options;
    const parts = [];
    if (this.seeds) parts.push(perSeed ? "Thick lines are means over seeds; each thin line is one seed." : "Lines are means over seeds; the bands range from the lowest seed to the highest.");
    if (smoothing) parts.push(`All lines are exponential moving averages${this.seeds && perSeed ? "." : "; faint lines are the means without smoothing."}`);
    parts.push("Hover over a chart, tap it, or focus it and use the arrow keys to read its values.");
    this.note.textContent = parts.join(" ");
  }

  apply() {
    this.describe();
    for (const one of this.charts()) one.show();
  }

  filter(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const counts = this.charts().map((one) => one.filter(words));
    const sum = (part) => counts.reduce((total, one) => total + one[part], 0);
    this.found.textContent = words.length ? `${sum("matching")} of ${sum("all")} charts` : "";
  }
}

/** All charts of one environment. The first one takes the whole width. */
class RunCharts {
  constructor(host, environment, curves, { charts: titles, first }) {
    Object.assign(this, { host, environment, curves, titles, first });
    this.charts = new Map();
    this.words = [];
    const used = {};
    for (const curve of curves) curve.dash = DASHES[(used[curve.method] = (used[curve.method] ?? -1) + 1) % DASHES.length];
    [this.main, this.more] = [make("div", { class: "charts" }), make("div", { class: "charts" })];
    this.summary = make("summary", {});
    this.details = make("details", {}, this.summary, this.more);
    host.append(this.main, this.details);
    // Collapsed charts are drawn when they come near the screen, so that many seeds and metrics cost little.
    this.near = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const one = this.charts.get(target.dataset.metric);
        one.isNear = isIntersecting;
        if (isIntersecting) this.#draw(one);
      }
    }, { rootMargin: "300px" });
    addEventListener("beforeprint", () => { for (const one of this.charts.values()) this.#draw(one); });
  }

  /** Add the chart of a metric. */
  #add(name) {
    const place = make("div", { "data-metric": name });
    const title = this.titles[name] ?? name;
    const chart = new Chart(place, { title, xLabel: "steps per seed", yFormat: short, yTick: valueTick, height: 220, from: 0 });
    const one = { name, title, chart, place, isNear: false, isStale: true };
    const file = (end) => `${[slug(this.environment), slug(name)].filter(Boolean).join("_")}.${end}`;
    const button = (text, label, act, more = {}) => make("button", { type: "button", "aria-label": `${text}, ${label}: ${title}`, title: label, onclick: act, ...more }, text);
    const toggle = (text, label, act) => button(text, label, ({ currentTarget }) => {
      const pressed = currentTarget.getAttribute("aria-pressed") !== "true";
      currentTarget.setAttribute("aria-pressed", pressed);
      act(pressed);
      chart.draw();
    }, { "aria-pressed": "false" });
    const enlarge = toggle("Enlarge", "use the full width", (large) => {
      place.classList.toggle("large", large);
      chart.height = large ? 400 : 220;
    });
    enlarge.classList.add("enlarge");
    chart.heading.title = name;
    chart.heading.after(make("div", { class: "chart-tools" },
      toggle("Log", "logarithmic value axis", (on) => { chart.logY = on; }), enlarge,
      button("PNG", "save as an image", () => savePng(chart, `${title} \u2013 ${this.environment}`, file("png"))),
      button("CSV", "save the values as a table", () => save(file("csv"), csvOf(this.curves, name, this.tools.options), "text/csv"))));
    this.charts.set(name, one);
    this.near.observe(place);
    return one;
  }

  #draw(one) {
    if (!one.isStale) return;
    one.isStale = false;
    one.chart.log = this.tools.logX;
    one.chart.show(seriesOf(this.curves, one.name, this.tools.options));
  }

  /** Show the curves as they are now. */
  show() {
    const known = new Set(this.curves.flatMap((curve) => (curve.steps.length ? Object.keys(curve.metrics) : [])));
    if (known.size) this.host.parentElement.querySelector(".waiting")?.remove();
    const order = [...Object.keys(this.titles), ...known].filter((name, i, all) => known.has(name) && all.indexOf(name) === i);
    for (const name of order) if (!this.charts.has(name)) this.#add(name);
    for (const [i, name] of order.entries()) this.#place(this.charts.get(name), i);
    for (const one of this.charts.values()) {
      one.isKnown = known.has(one.name);
      one.isStale = true;
      if (one.isNear || one.place.parentElement === this.main) this.#draw(one);
    }
    this.filter(this.words);
  }

  /** Put a chart at its place: the first across the page, some beside each other, the rest collapsed. */
  #place(one, i) {
    const host = i < this.first ? this.main : this.more;
    if (one.place.parentElement !== host) host.append(one.place);
    one.place.classList.toggle("first", i === 0);
    if (i === 0) one.chart.height = 340;
  }

  /** Show the charts whose title or name has all words. */
  filter(words) {
    this.words = words;
    const known = [...this.charts.values()].filter((one) => one.isKnown);
    const fits = (one) => words.every((word) => `${one.title} ${one.name}`.toLowerCase().includes(word));
    for (const one of this.charts.values()) one.place.hidden = !one.isKnown || !fits(one);
    const inside = known.filter((one) => one.place.parentElement === this.more);
    this.summary.textContent = `${inside.length} more ${inside.length === 1 ? "metric" : "metrics"}`;
    this.details.hidden = !inside.some(fits);
    if (words.length) this.details.open = true;
    return { matching: known.filter(fits).length, all: known.length };
  }
}

/** The progress of the runs. */
class Progress {
  constructor(host, count) {
    this.spoken = make("p", { class: "hidden", "aria-live": "polite" });
    this.rows = Array.from({ length: count }, () => {
      const row = { name: make("strong", {}), bar: make("progress", { max: 1, value: 0 }), text: make("output", {}) };
      host.append(make("div", { class: "progress" }, row.name, row.bar, row.text));
      return row;
    });
    host.append(this.spoken);
    this.before = [];
  }

  show(number, progress) {
    const { name, status, update = 0, updates = 0, steps, rate, left, silent } = progress;
    const row = this.rows[number];
    row.name.textContent = name;
    row.bar.value = updates ? update / updates : 0;
    row.bar.setAttribute("aria-label", `Progress of ${name}`);
    const parts = [STATES[status] ?? status];
    if (status === "silent") parts[0] = `no updates for ${duration(silent)}: it may have been killed`;
    if (updates) parts.push(`update ${shown(update)} of ${shown(updates)}`, `${shown(steps)} steps per seed`);
    if (rate && ["running", "silent"].includes(status)) parts.push(`${shown(rate)} steps/s`);
    if (left !== null && left !== undefined && status === "running") parts.push(`${duration(left)} left`);
    row.text.textContent = parts.join(" \u00b7 ");
    row.text.dataset.status = status;
    if (this.before[number] !== undefined && this.before[number] !== status) this.spoken.textContent = `${name}: ${parts[0]}`;
    this.before[number] = status;
  }
}

async function startRuns(data, players) {
  await Promise.all(data.curves.map((curve) => unpackCurve(curve)));
  const all = new Map();
  for (const [i, environment] of data.environments.entries()) {
    const curves = data.curves.filter((curve) => curve.environment === environment);
    all.set(environment, new RunCharts(document.getElementById(`charts-${i}`), environment, curves, data));
  }
  if (all.size) {
    const first = document.getElementById("charts-0");
    const place = document.getElementById("chart-tools") ?? first.parentElement.insertBefore(make("div", {}), first);
    const metrics = new Set(data.curves.flatMap((curve) => Object.keys(curve.metrics))).size;
    const tools = new ChartTools(place, data.curves, () => [...all.values()], data.live ? Infinity : metrics);
    for (const one of all.values()) {
      one.tools = tools;
      one.show();
    }
  }
  const host = document.getElementById("progress");
  if (!host) return;
  const bars = new Progress(host, data.progress.length);
  data.progress.forEach((one, i) => bars.show(i, one));
  if (data.live) follow(data, all, bars, players);
}

/** A request that failed, with the reason that the server gives. */
class Refused extends Error {}

async function news(places) {
  try {
    const answer = await fetch(`news?${new URLSearchParams(places)}`);
    if (answer.ok) return await answer.json();
    throw new Refused(`${(await answer.text()).trim()}.`);
  } catch (error) {
    throw error instanceof Refused ? error : new Refused("Connection lost: the server is not responding. Is the command still running?");
  }
}

/** Request the scores anew: not often, because the server reads all metrics for them. */
class LiveScores {
  constructor(every) {
    Object.assign(this, { host: document.getElementById("scores"), pause: 3000 * every, next: 0, isStale: false });
  }

  async update() {
    if (!this.host || !this.isStale || performance.now() < this.next) return;
    const begin = performance.now();
    const { scores } = await news({ scores: 1 });
    const fresh = new DOMParser().parseFromString(scores, "text/html");
    this.host.replaceChildren(...fresh.body.childNodes);
    this.isStale = false;
    this.next = performance.now() + Math.max(this.pause, 20 * (performance.now() - begin));
  }
}

/** Ask for news until every run has ended. */
async function follow(data, all, bars, players) {
  const state = document.getElementById("connection");
  const scores = new LiveScores(data.every);
  const over = () => data.progress.every((one) => ["finished", "interrupted", "failed"].includes(one.status));
  const runs = data.progress.map((one, number) => ({
    number,
    began: one.began,
    curve: data.curves.find((curve) => curve.key === one.curve),
    map: players.flatMap((player) => player.data.panels.map((panel) => ({ player, panel }))).find(({ panel }) => panel.number === number),
  }));
  for (;;) {
    let wait = 1000 * data.every;
    try {
      for (const { curve, map, number, began } of runs) {
        const fresh = await news({ run: number, place: curve?.place ?? "", visits: map?.panel.place ?? "" });
        // A run that starts, starts again or is resumed, and its first map, need places that this page lacks.
        const other = curve ? fresh.progress.began !== began : fresh.place !== undefined;
        if (other || (fresh.visits && (!map || fresh.visits.restarted))) { location.reload(); return; }
        if (fresh.visits) await map.player.extend(map.panel, fresh.visits);
        if (data.progress[number].status !== fresh.progress.status) scores.isStale = true;
        data.progress[number] = fresh.progress;
        bars.show(number, fresh.progress);
        if (!curve) continue;
        curve.place = fresh.place;
        if (!fresh.restarted && !fresh.steps.length) continue;
        await unpackCurve(Object.assign(fresh, { seeds: curve.seeds }));
        extend(curve, fresh);
        all.get(curve.environment).show();
        scores.isStale = true;
      }
      await scores.update();
      state.textContent = over() ? "All runs have ended. If one is resumed, this page follows it again." : "Connected. The page updates itself.";
      if (over()) wait = ASK_AGAIN; // an interrupted run may be resumed
    } catch (error) {
      state.textContent = error instanceof Refused ? `${error.message} Trying again.` : "This page has stopped working: reload it.";
      if (!(error instanceof Refused)) throw error;
      wait = ASK_AGAIN;
    }
    await new Promise((resolve) => { setTimeout(resolve, wait); });
  }
}
