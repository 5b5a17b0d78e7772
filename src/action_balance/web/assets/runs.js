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

/** All charts of one environment. */
class RunCharts {
  constructor(host, environment, curves, { charts, first }) {
    Object.assign(this, { host, curves });
    this.charts = new Map();
    const used = {};
    for (const curve of curves) curve.dash = DASHES[(used[curve.method] = (used[curve.method] ?? -1) + 1) % DASHES.length];
    this.first = first;
    [this.main, this.more] = [make("div", { class: "charts" }), make("div", { class: "charts" })];
    for (const [name, title] of Object.entries(charts)) this.add(name, title);
    host.append(this.main, make("details", {}, make("summary", {}, "All metrics"), this.more));
    this.show();
  }

  /** Add the chart of a metric; only the first ones are not collapsed. */
  add(name, title) {
    const isFirst = this.charts.size < this.first;
    const place = make("div", {});
    (isFirst ? this.main : this.more).append(place);
    this.charts.set(name, new Chart(place, { title, xLabel: "steps", yFormat: short, height: isFirst ? 220 : 180, from: 0 }));
  }

  show() {
    if (this.curves.some((curve) => curve.steps.length)) this.host.parentElement.querySelector(".waiting")?.remove();
    const known = this.curves.flatMap((curve) => Object.keys(curve.metrics));
    for (const name of known) if (!this.charts.has(name)) this.add(name, name);
    for (const [name, chart] of this.charts) {
      const series = this.curves.filter((curve) => curve.metrics[name]).map((curve) => {
        const { mean, low, high } = curve.metrics[name];
        const gaps = (values) => values?.map((value) => (value === null ? NaN : value));
        return { name: curve.label, method: curve.method, dash: curve.dash, x: curve.steps, y: gaps(mean), low: gaps(low), high: gaps(high) };
      });
      chart.host.hidden = !series.length;
      if (series.length) chart.show(series);
    }
  }
}

/** Append new points to a curve, with gaps where a metric starts later. */
function extend(curve, fresh) {
  if (fresh.restarted) Object.assign(curve, { steps: [], metrics: {} });
  const before = curve.steps.length;
  curve.steps.push(...fresh.steps);
  for (const name of new Set([...Object.keys(curve.metrics), ...Object.keys(fresh.metrics)])) {
    const metric = (curve.metrics[name] ??= { mean: [], ...(curve.seeds > 1 ? { low: [], high: [] } : {}) });
    for (const part of Object.keys(metric)) {
      while (metric[part].length < before) metric[part].push(null);
      metric[part].push(...(fresh.metrics[name]?.[part] ?? fresh.steps.map(() => null)));
    }
  }
  curve.place = fresh.place;
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
    if (updates) parts.push(`update ${shown(update)} of ${shown(updates)}`, `${shown(steps)} steps`);
    if (rate && ["running", "silent"].includes(status)) parts.push(`${shown(rate)} steps/s`);
    if (left !== null && left !== undefined && status === "running") parts.push(`${duration(left)} left`);
    row.text.textContent = parts.join(" \u00b7 ");
    row.text.dataset.status = status;
    if (this.before[number] !== undefined && this.before[number] !== status) this.spoken.textContent = `${name}: ${parts[0]}`;
    this.before[number] = status;
  }
}

async function startRuns(data, players) {
  const all = new Map();
  for (const [i, environment] of data.environments.entries()) {
    const curves = data.curves.filter((curve) => curve.environment === environment);
    all.set(environment, new RunCharts(document.getElementById(`charts-${i}`), environment, curves, data));
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
    throw error instanceof Refused ? error : new Refused("The server does not answer: is the command still running?");
  }
}

/** Ask for news until every run has ended. */
async function follow(data, all, bars, players) {
  const state = document.getElementById("connection");
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
        data.progress[number] = fresh.progress;
        bars.show(number, fresh.progress);
        if (curve && (fresh.restarted || fresh.steps.length)) {
          extend(curve, fresh);
          all.get(curve.environment).show();
        } else if (curve) curve.place = fresh.place;
      }
      state.textContent = over() ? "All runs have ended." : "Following.";
      if (over()) wait = ASK_AGAIN; // an interrupted run may be resumed
    } catch (error) {
      state.textContent = error instanceof Refused ? `${error.message} Trying again.` : "This page failed: reload it.";
      if (!(error instanceof Refused)) throw error;
      wait = ASK_AGAIN;
    }
    await new Promise((resolve) => { setTimeout(resolve, wait); });
  }
}
