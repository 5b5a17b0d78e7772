// Plays runs: heat maps side by side, with one clock, one cursor in the curves and one selected cell for all.

const SPEEDS = [0.25, 0.5, 1, 2, 4];

/** Milliseconds between two frames for readers who prefer reduced motion. */
const STILL_EVERY = 500;

/** Seconds that a run takes at speed 1, about. */
const SECONDS = 40;

class Player {
  constructor(host, data, stops) {
    this.data = data;
    this.host = host;
    this.scale = new HeatScale(stops);
    this.world = { ...data, wallSet: new Set(data.walls) };
    this.step = Math.round(data.steps * data.begin);
    this.chosen = this.pinned = data.chosen;
    this.speed = 1;
    this.playing = false;
  }

  /** Unpack the data, once. */
  async #read() {
    const { data, world } = this;
    if (this.kinds) return;
    this.kinds = {};
    if (data.panels[0].pairs) this.kinds.run = await Promise.all(data.panels.map((panel) => TraceSource.read(panel, world)));
    if (data.mean) {
      this.kinds.mean = await Promise.all(data.panels.map((panel) =>
        SnapshotSource.read(data.mean.counts[panel.key], data.mean.moments[panel.key], world, data.mean.actions, data.mean.over[panel.key])));
    }
  }

  async start() {
    await this.#read();
    this.kind = this.kinds.mean ? "mean" : "run"; // a single run says little
    this.#build();
    themeChanged.addEventListener("change", () => this.show());
    this.show();
  }

  #build() {
    const { data, host, world } = this;
    this.maps = [];
    this.inspectors = [];
    this.facts = [];
    const cards = data.panels.map((panel) => {
      const frame = make("div", { class: "frame" });
      const titled = () => [make("span", { class: "dot" }), make("span", { class: "name" }, panel.name)];
      const details = make("div", { class: "details" }, make("p", { class: "whose", "aria-hidden": "true" }, ...titled()));
      this.maps.push(new HeatMap(frame, world, panel, {
        choose: (cell, pressed) => this.choose(cell, pressed),
        label: `${panel.name}: visits of each cell. The arrow keys select a cell.`,
      }));
      this.inspectors.push(new Inspector(details, world));
      const fact = make("output", { class: "fact" });
      this.facts.push(fact);
      return make("article", { class: "panel", "data-method": panel.method },
        make("div", { class: "map" }, make("h3", {}, ...titled(), fact), frame), details);
    });
    cards.forEach((card, i) => card.style.setProperty("--own", tint(data.panels[i])));
    this.spoken = make("p", { class: "hidden", "aria-live": "polite" });
    this.grid = make("div", { class: "maps", "data-panels": data.panels.length }, ...cards);
    host.append(make("div", { class: "above" }, this.#choices(), this.more ?? null, this.#legend()), this.grid, this.#transport(), this.spoken);
    if (this.kinds.run || data.curves) this.#chart();
    host.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("keydown", (event) => { if (event.target === document.body && this.#inSight()) this.#key(event); });
  }

  /** The choice between one run and the mean of all, if both exist. */
  #choices() {
    if (Object.keys(this.kinds).length < 2) return null;
    const name = `kind-${this.data.id}`;
    this.more = make("span", { class: "hint" }, "One run also shows actions and policies.");
    const option = (kind, text) => make("label", {},
      make("input", { type: "radio", name, value: kind, checked: kind === this.kind, onchange: () => { this.kind = kind; this.show(); } }), make("span", {}, text));
    return make("fieldset", { class: "switch" }, make("legend", { class: "hidden" }, "What to play"),
      option("mean", `Mean of ${shown(this.data.mean.over[this.data.panels[0].key])} runs`), option("run", "One run"));
  }

  #transport() {
    this.button = make("button", { type: "button", class: "play", onclick: () => this.toggle() });
    this.slider = make("input", { type: "range", min: 0, max: this.data.steps, step: 1, "aria-label": "Step",
      oninput: () => { this.pause(); this.seek(Number(this.slider.value)); } });
    this.readout = make("output", { class: "readout" });
    const select = make("select", { "aria-label": "Speed", onchange: () => { this.speed = Number(select.value); } },
      ...SPEEDS.map((speed) => make("option", { value: speed, selected: speed === 1 }, `${speed}\u00d7`)));
    return make("div", { class: "transport", role: "group", "aria-label": "Playback" }, this.button, this.slider, this.readout, select);
  }

  #legend() {
    this.strip = make("canvas", { role: "img" });
    this.strip.className = "strip";
    this.numbers = make("div", { class: "marks", "aria-hidden": "true" });
    this.caption = make("span", {});
    return make("div", { class: "scale" }, this.caption, make("div", {}, this.strip, this.numbers));
  }

  #chart() {
    const { data } = this;
    const host = make("div", {});
    this.host.append(host);
    this.chart = new Chart(host, {
      title: "Share of the world covered", xLabel: "step", yFormat: percent, yTick: (value) => percent(value, 0),
      scrub: (step) => { this.pause(); this.seek(Math.round(step)); }, from: 0,
    });
    const series = [];
    for (const [i, panel] of data.panels.entries()) {
      const mean = data.curves?.methods[panel.key];
      const dash = panel.method === "random" ? "5 3" : undefined;
      if (mean) series.push({ name: panel.name, method: panel.method, dash, x: data.curves.steps, y: mean.mean, low: mean.low, high: mean.high });
      if (!this.kinds.run) continue;
      const covered = this.kinds.run[i].covered;
      const every = Math.max(1, Math.floor(data.steps / 400));
      const x = Array.from({ length: Math.floor(data.steps / every) + 1 }, (_, k) => k * every);
      series.push({ name: mean ? "" : panel.name, method: panel.method, thin: Boolean(mean), dash: mean ? undefined : dash, x, y: x.map((step) => covered[step] / data.reachable) });
    }
    this.chart.show(series);
    host.append(make("p", { class: "hint" }, data.curves
      ? `Thick: mean over all runs with its 95 % interval. Thin: the run being played, ${data.run}. The legend shows the means at the cursor.`
      : `The run being played, ${data.run}. The legend shows the values at the cursor.`));
  }

  get sources() { return this.kinds[this.kind]; }

  /** Draw the current step. */
  show() {
    const { data } = this;
    for (const source of this.sources) source.seek(this.step);
    let [least, most] = [Infinity, 0];
    for (const { visits } of this.sources) {
      for (const count of visits) {
        if (count > most) most = count;
        if (count > 0 && count < least) least = count;
      }
    }
    this.scale.most = Math.max(2, most);
    this.scale.least = this.kind === "mean" ? Math.min(this.scale.most, least) : 1;
    this.maps.forEach((map, i) => map.draw(this.sources[i], this.scale, this.chosen, this.playing));
    const place = this.#placeName();
    this.inspectors.forEach((inspector, i) => inspector.show(this.sources[i].cell(this.chosen), place));
    this.grid.toggleAttribute("data-plain", this.sources.every((source) => source.actions === 1)); // only visits are known
    this.more?.toggleAttribute("hidden", this.kind === "run");
    this.facts.forEach((fact, i) => { fact.textContent = this.#fact(i); });
    this.slider.value = this.step;
    this.slider.setAttribute("aria-valuetext", `step ${shown(this.step)} of ${shown(data.steps)}`);
    const episode = data.episodeSteps ? ` \u00b7 episode ${shown(Math.max(1, Math.ceil(this.step / data.episodeSteps)))}` : "";
    this.readout.textContent = `step ${shown(this.step)} of ${shown(data.steps)}${episode}`;
    this.button.textContent = this.playing ? "Pause" : "Play";
    this.chart?.cursor(this.step);
    this.caption.textContent = this.kind === "run" && !data.mean?.only ? "visits" : data.meanWord;
    this.scale.legend(this.strip, this.numbers, this.caption.textContent);
  }

  #placeName() {
    const { data, chosen } = this;
    const cell = `(${chosen % data.width}, ${Math.floor(chosen / data.width)})`;
    if (this.world.wallSet.has(chosen)) return `${cell}, a wall`;
    if (chosen === data.start) return `${cell}, the start`;
    return data.goals.includes(chosen) ? `${cell}, ${data.goalWord}` : cell;
  }

  #fact(i) {
    const source = this.sources[i];
    if (this.kind === "run") return `${shown(source.covered[this.step])} cells`;
    const mean = this.data.curves?.methods[this.data.panels[i].key];
    const place = mean ? placeOf(this.data.curves.steps, this.step) : -1;
    if (place >= 0) return `${shown(mean.mean[place] * this.data.reachable, 1)} cells`;
    const covered = source.visits.reduce((sum, visits) => sum + (visits > 0), 0);
    return `${shown(covered)} cells${source.over > 1 ? `, any ${this.data.mean.only ? "seed" : "run"}` : ""}`;
  }

  /** Add the visits of a run that is still training; a reader at the end stays at the end. */
  async extend(panel, { place, moments, counts }) {
    const { data } = this;
    const known = data.mean.moments[panel.key];
    const first = moments.findIndex((moment) => moment > (known[known.length - 1] ?? 0));
    panel.place = place;
    if (first < 0) return;
    const totals = await unpack(counts);
    await this.#read();
    this.kinds.mean[data.panels.indexOf(panel)].append(totals.subarray((first * totals.length) / moments.length), moments.slice(first));
    const atEnd = this.step === data.steps && !this.playing;
    data.steps = Math.max(...Object.values(data.mean.moments).map((all) => all[all.length - 1]));
    data.keyStep = Math.max(1, Math.floor(data.steps / 60));
    if (atEnd) this.step = data.steps;
    if (!this.slider) return; // not shown yet
    this.slider.max = data.steps;
    this.show();
  }

  seek(step) {
    this.step = Math.min(this.data.steps, Math.max(0, step));
    this.show();
  }

  toggle() { if (this.playing) this.pause(); else this.play(); }

  pause() {
    this.playing = false;
    this.button.textContent = "Play";
  }

  play() {
    if (this.step >= this.data.steps) this.step = 0;
    this.playing = true;
    let [before, at, drawn] = [null, this.step, -Infinity];
    const turn = {};
    this.turn = turn; // pausing and playing again at once does not play twice
    const tick = (now) => {
      if (!this.playing || this.turn !== turn) return;
      if (before !== null) at += ((now - before) / 1000) * this.speed * (this.data.steps / SECONDS);
      before = now;
      if (at >= this.data.steps) this.pause();
      if (!still.matches || !this.playing || now - drawn >= STILL_EVERY) {
        drawn = now;
        this.seek(Math.floor(at));
      }
      // Scrubbing pauses, so `at` is never out of date.
      if (this.playing) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    this.show();
  }

  /** Select a cell in all maps; a press keeps it selected when the pointer leaves. */
  choose(cell, pressed) {
    if (pressed) this.pinned = cell;
    const chosen = cell ?? this.pinned;
    if (chosen === this.chosen) return;
    this.chosen = chosen;
    if (!this.playing) this.show();
  }

  /** Whether a good part of the maps is on the screen: then they get the keys that nothing else handles. */
  #inSight() {
    const { top, bottom, height } = this.maps[0].canvas.getBoundingClientRect();
    return height > 0 && Math.min(bottom, innerHeight) - Math.max(top, 0) > 0.4 * height;
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || ["SELECT", "TEXTAREA"].includes(event.target.tagName)) return;
    if (event.target.type === "radio") return;
    const { data } = this;
    const onMap = event.target.tagName === "CANVAS";
    const step = event.shiftKey ? Math.ceil(data.steps / 20) : data.keyStep;
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (event.key === " " && event.target !== this.button) this.toggle();
    else if (event.key === "Home") { this.pause(); this.seek(0); }
    else if (event.key === "End") { this.pause(); this.seek(data.steps); }
    else if (move && onMap) this.#step(move);
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") { this.pause(); this.seek(this.step + move[0] * step); }
    else return;
    event.preventDefault();
  }

  /** Select another cell with the keyboard, and announce it. */
  #step([dx, dy]) {
    const { width, height } = this.data;
    const x = Math.min(width - 1, Math.max(0, (this.chosen % width) + dx));
    const y = Math.min(height - 1, Math.max(0, Math.floor(this.chosen / width) + dy));
    this.choose(y * width + x, true);
    const visits = this.data.panels.map((panel, i) => `${panel.name} ${short(this.sources[i].cell(this.chosen).visits)}`);
    this.spoken.textContent = `Cell ${x}, ${y}. Visits: ${visits.join(", ")}.`;
  }
}
