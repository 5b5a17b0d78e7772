// Plays runs: maps side by side, with one clock, one cursor in the curves and one selected cell for all.
//
// For scripts that drive a page, for example to record it: the player of a world is the element `#player-open`,
// `#player-corridor` or `#player-map`, with `data-ready` once it is drawn, and its property `player` is this object.
// `player.data.steps` is the last step, `player.seek(step)` and `player.choose(cell, true)` draw at once,
// `player.look("difference" | "visits" | "run")` changes the view, and `player.toggle()` plays and pauses. Inside of it
// are `.maps`, `.transport`, `.play` and `.curves`.

const SPEEDS = [0.25, 0.5, 1, 2, 4];

/** Milliseconds between two frames for readers who prefer reduced motion. */
const STILL_EVERY = 500;

/** Seconds that the mean of all runs, and a single run, take at speed 1, about. */
const SECONDS = { mean: 12, run: 40 };

class Player {
  constructor(host, data, palettes) {
    Object.assign(this, { host, data, palettes });
    this.world = { ...data, wallSet: new Set(data.walls) };
    this.step = Math.round(data.steps * data.begin);
    this.chosen = this.pinned = data.chosen;
    this.speed = 1;
    this.playing = false;
  }

  /** Unpack the data, once. */
  async #read() {
    this.views ??= await readViews(this.data, this.world, this.palettes);
  }

  async start() {
    await this.#read();
    [this.kind] = Object.keys(this.views); // the first says the most
    this.#build();
    themeChanged.addEventListener("change", () => this.show());
    this.seek(this.step);
  }

  get view() { return this.views[this.kind]; }

  get sources() { return this.view.sources; }

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
        label: `${panel.name}: map. Use the arrow keys to select a cell.`,
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
    this.legend = make("div", { class: "scales" });
    this.abouts = [...document.querySelectorAll("#watch [data-view]")];
    host.append(make("div", { class: "above" }, this.#choices()), ...(this.abouts.length ? [make("p", { class: "about" })] : []),
      this.#transport(), this.grid, make("div", { class: "below" }, this.legend, markKey(world, Boolean(this.views.run))), this.spoken);
    if (this.views.run || data.curves) {
      const place = make("div", { class: "curves" });
      host.append(place);
      this.curves = new CoverageCurves(place, data, this.views.run?.sources, (step) => { this.pause(); this.seek(Math.round(step)); });
    }
    document.addEventListener("keydown", (event) => { if (this.#listens(event)) this.#key(event); });
  }

  /** The choice between the views, if there are several. */
  #choices() {
    const names = Object.keys(this.views);
    if (names.length < 2) return null;
    this.options = Object.fromEntries(names.map((kind) => [kind, make("input", { type: "radio", name: `kind-${this.data.id}`, value: kind, checked: kind === this.kind, onchange: () => this.look(kind) })]));
    return make("fieldset", { class: "switch" }, make("legend", { class: "hidden" }, "What the maps show"),
      ...names.map((kind) => make("label", {}, this.options[kind], make("span", {}, this.views[kind].label))));
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

  /** Change the view. */
  look(kind) {
    this.kind = kind;
    if (this.options) this.options[kind].checked = true;
    this.seek(this.step);
  }

  /** Draw the current step. */
  show() {
    const { data, view, sources } = this;
    for (const source of sources) source.seek(this.step);
    view.fit();
    this.maps.forEach((map, i) => map.draw(sources[i], view.scales[i], this.chosen, this.playing));
    const place = this.#placeName();
    this.inspectors.forEach((inspector, i) => inspector.show(sources[i].cell(this.chosen), place));
    this.host.toggleAttribute("data-run", this.kind === "run");
    this.grid.toggleAttribute("data-plain", sources.every((source) => source.actions === 1)); // one number for each cell
    this.curves?.show(this.kind === "run");
    this.curves?.cursor(this.step);
    this.facts.forEach((fact, i) => { fact.textContent = this.#fact(i); });
    this.slider.value = this.step;
    this.slider.setAttribute("aria-valuetext", `step ${shown(this.step)} of ${shown(data.steps)}`);
    const episode = data.episodeSteps ? ` \u00b7 episode ${shown(Math.max(1, Math.ceil(this.step / data.episodeSteps)))}` : "";
    this.readout.textContent = `step ${shown(this.step)} of ${shown(data.steps)}${episode}`;
    this.button.textContent = this.playing ? "Pause" : "Play";
    this.#explain();
  }

  /** What the colours mean, in words and as strips. */
  #explain() {
    const { view } = this;
    const about = this.host.querySelector(".about");
    if (about) about.textContent = this.abouts.find((one) => one.dataset.view === this.kind)?.textContent ?? "";
    if (this.explained !== this.kind) {
      this.explained = this.kind;
      this.strips = view.legends.map(() => [make("canvas", { class: "strip", role: "img" }), make("div", { class: "marks", "aria-hidden": "true" })]);
      this.legend.replaceChildren(...view.legends.map(({ caption }, i) => make("div", { class: "scale" }, make("span", {}, caption), make("div", {}, ...this.strips[i]))));
    }
    view.legends.forEach(({ scale, caption }, i) => scale.legend(...this.strips[i], caption));
  }

  #placeName() {
    const { data, chosen } = this;
    const cell = `(${chosen % data.width}, ${Math.floor(chosen / data.width)})`;
    if (this.world.wallSet.has(chosen)) return `${cell}, a wall`;
    if (chosen === data.start) return `${cell}, the start`;
    return data.goals.includes(chosen) ? `${cell}, ${data.goalWord.replace(/ of .*/, "")}` : cell;
  }

  /** The number above a map: the cells that are covered, or how many more than by random. */
  #fact(i) {
    const source = this.sources[i];
    if (this.kind === "run") return `${shown(source.covered[this.step])} cells covered`;
    const cells = this.curves?.at(i, this.step) ?? NaN;
    if (this.kind === "difference") {
      const total = source.values.reduce((sum, value) => sum + value, 0);
      const known = source.reference ? cells - this.curves?.at(this.sources.findIndex((one) => !one.reference), this.step) : cells;
      const value = Number.isFinite(known) ? known : total;
      return source.reference ? `${shown(Math.abs(value), 1)} ${value < 0 ? "fewer" : "more"} than random` : `${shown(value, 1)} cells covered`;
    }
    if (Number.isFinite(cells)) return `${shown(cells, 1)} cells covered`;
    const covered = source.visits.reduce((sum, visits) => sum + (visits > 0), 0);
    return `${shown(covered)} cells covered${source.over > 1 ? `, any ${this.data.mean.only ? "seed" : "run"}` : ""}`;
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
    this.views.visits.sources[data.panels.indexOf(panel)].append(totals.subarray((first * totals.length) / moments.length), moments.slice(first));
    const atEnd = this.step === data.steps && !this.playing;
    data.steps = Math.max(...Object.values(data.mean.moments).map((all) => all[all.length - 1]));
    data.keyStep = Math.max(1, Math.floor(data.steps / 60));
    if (atEnd) this.step = data.steps;
    if (!this.slider) return; // not shown yet
    this.slider.max = data.steps;
    this.show();
  }

  /** Go to a step, or to the last moment before it for which there are data. */
  seek(step) {
    const inside = Math.min(this.data.steps, Math.max(0, step));
    const { moments } = this.view;
    this.step = moments ? (moments[placeOf(moments, inside)] ?? 0) : inside;
    this.show();
  }

  /** Go some steps or, where there are only moments, some moments forwards or backwards. */
  #move(direction, far) {
    const { data, view: { moments } } = this;
    this.pause();
    if (!moments) this.seek(this.step + direction * (far ? Math.ceil(data.steps / 20) : data.keyStep));
    else this.seek(moments[Math.min(moments.length - 1, placeOf(moments, this.step) + direction * (far ? Math.ceil(moments.length / 20) : 1))] ?? 0);
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
      if (before !== null) at += ((now - before) / 1000) * this.speed * (this.data.steps / SECONDS[this.view.moments ? "mean" : "run"]);
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

  /** Whether a key is for this player: the focus is in it, or a good part of its maps is on the screen. */
  #listens(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || this.host.hidden) return false;
    if (this.host.contains(event.target)) return true;
    const { top, bottom, height } = this.maps[0].canvas.getBoundingClientRect();
    return height > 0 && Math.min(bottom, innerHeight) - Math.max(top, 0) > 0.4 * height;
  }

  /** A key that the element in focus has no use for: play, step, or select a cell. */
  #key(event) {
    const { key, target } = event;
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key];
    if (usesKey(target, key)) return;
    if (key === " " && !event.shiftKey) this.toggle();
    else if (key === "Home") { this.pause(); this.seek(0); }
    else if (key === "End") { this.pause(); this.seek(this.data.steps); }
    else if (move && this.maps.some((map) => map.canvas === target)) this.#step(move);
    else if (move && move[0]) this.#move(move[0], event.shiftKey);
    else return;
    event.preventDefault();
  }

  /** Select another cell with the keyboard, and announce it. */
  #step([dx, dy]) {
    const { width, height } = this.data;
    const x = Math.min(width - 1, Math.max(0, (this.chosen % width) + dx));
    const y = Math.min(height - 1, Math.max(0, Math.floor(this.chosen / width) + dy));
    this.choose(y * width + x, true);
    const found = this.sources.map((source) => source.cell(this.chosen));
    const values = this.data.panels.map((panel, i) => `${panel.name} ${found[i].text ?? short(found[i].visits)}`);
    this.spoken.textContent = `Cell ${x}, ${y}. ${capital(found[0].what ?? "visits")}: ${values.join(", ")}.`;
  }
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Whether an element that has the focus needs a key itself: a button Space, a choice the arrows, text and films all. */
function usesKey(element, key) {
  if (element.type === "range") return key !== " " && !element.closest(".player"); // the player's own slider is its clock
  if (["SELECT", "TEXTAREA", "VIDEO"].includes(element.tagName) || ["text", "search", "number"].includes(element.type)) return true;
  if (["BUTTON", "SUMMARY"].includes(element.tagName) || element.type === "checkbox") return key === " ";
  if (element.type === "radio") return key.startsWith("Arrow") || (key === " " && !element.checked);
  return false;
}

/** What the marks on the maps mean. */
function markKey(world, withAgent) {
  const mark = (shape, text) => make("li", { class: `of-${shape.getAttribute("class")}` }, make("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" }, shape), text);
  const star = Array.from({ length: 10 }, (_, i) => [(i * Math.PI) / 5 - Math.PI / 2, i % 2 ? 3.2 : 7]).map(([angle, reach]) => `${(reach * Math.cos(angle)).toFixed(1)} ${(reach * Math.sin(angle)).toFixed(1)}`);
  return make("ul", { class: "key" },
    mark(make("circle", { r: 5, class: "line" }), "start"),
    world.goals.length ? mark(make("path", { d: `M${star.join("L")}Z`, class: "full" }), world.goalWord.replace(/^(a|the) /, "")) : null,
    mark(make("rect", { x: -5, y: -5, width: 10, height: 10, class: "line" }), "selected cell"),
    withAgent ? mark(make("rect", { x: -5, y: -5, width: 10, height: 10, class: "agent" }), "agent and its last 40 steps") : null,
    world.walls.length ? mark(make("rect", { x: -7, y: -7, width: 14, height: 14, class: "wall" }), "wall") : null);
}
