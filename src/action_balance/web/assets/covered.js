// The covered cells of a player's methods over time: compared with random, or as a share of the world.

class CoverageCurves {
  /** `runs` are the sources of single runs, if there are any; `scrub` is called with a step. */
  constructor(host, data, runs, scrub) {
    Object.assign(this, { data, runs });
    this.random = data.panels.findIndex((panel) => panel.method === "random");
    const compared = this.random >= 0 && data.panels.length > 1;
    const share = { title: "Share of the world covered", yFormat: percent, yTick: (value) => percent(value, 0) };
    const more = { title: "Cells covered, compared with random", yFormat: (value) => (Number.isFinite(value) ? `${signed(value, 1)} cells` : NONE), yTick: (value) => signed(value) };
    this.charts = (compared ? [more, share] : [share]).map((look) => {
      const place = make("div", { hidden: look !== (compared ? more : share) });
      return { place, relative: look === more, chart: new Chart(place, { ...look, xLabel: "step", scrub, from: 0 }) };
    });
    host.append(...(compared ? [this.#choice(data.id)] : []), ...this.charts.map(({ place }) => place));
  }

  #choice(id) {
    const option = (i, text) => make("label", {},
      make("input", { type: "radio", name: `unit-${id}`, value: i, checked: i === 0, onchange: () => this.charts.forEach(({ place }, k) => { place.hidden = k !== i; }) }), make("span", {}, text));
    return make("fieldset", { class: "switch" }, make("legend", { class: "hidden" }, "Unit of the curves"), option(0, "Compared with random"), option(1, "Share of the world"));
  }

  /** Show the mean over all runs, or one run. */
  show(ofRun) {
    if (ofRun === this.ofRun) return;
    this.ofRun = ofRun;
    this.cells = this.data.panels.map((panel, i) => (ofRun ? this.#run(i) : this.#mean(panel.key)));
    for (const { chart, relative } of this.charts) {
      chart.show(this.data.panels.map((panel, i) => ({
        name: panel.name, method: panel.method, dash: panel.method === "random" ? "5 3" : undefined,
        ...(relative ? this.#against(i) : this.#share(i)),
      })).filter((one) => one.x));
    }
  }

  cursor(step) { for (const { chart } of this.charts) chart.cursor(step); }

  /** The mean number of cells that a method has covered at a step, as the curves have it; nan if they do not. */
  at(i, step) {
    const { x, y } = this.cells[i] ?? {};
    const place = x ? placeOf(x, step) : -1;
    return place < 0 ? NaN : y[place];
  }

  #mean(key) {
    const curve = this.data.curves?.methods[key];
    if (!curve) return null;
    const scaled = (values) => [0, ...values.map((value) => (value === null ? NaN : value * this.data.reachable))];
    return { x: [0, ...this.data.curves.steps], y: scaled(curve.mean), low: scaled(curve.low), high: scaled(curve.high) };
  }

  /** The cells of a run at the steps at which it covers a new one. */
  #run(i) {
    const covered = this.runs[i].covered;
    const x = [...covered.keys()].filter((step) => step === 0 || step === covered.length - 1 || covered[step] !== covered[step - 1]);
    return { x, y: x.map((step) => covered[step]) };
  }

  #share(i) {
    if (!this.cells[i]) return {};
    const { x, ...parts } = this.cells[i];
    return { x, ...Object.fromEntries(Object.entries(parts).map(([part, values]) => [part, values.map((value) => value / this.data.reachable)])) };
  }

  /** Cells more than random, with the interval of the difference of two independent means. */
  #against(i) {
    const [own, random] = [this.cells[i], this.cells[this.random]];
    if (!own || !random) return {};
    const x = this.ofRun ? [...new Set([...own.x, ...random.x])].sort((a, b) => a - b) : own.x;
    const y = x.map((step) => this.at(i, step) - this.at(this.random, step));
    if (this.ofRun || i === this.random) return { x, y };
    const half = x.map((_, k) => Math.hypot(own.high[k] - own.y[k], random.high[k] - random.y[k]));
    return { x, y, low: y.map((value, k) => value - half[k]), high: y.map((value, k) => value + half[k]) };
  }
}
