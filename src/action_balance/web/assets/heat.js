// A heat map of visits on a canvas: the world, the agent with its last steps, and the selected cell with its arrows.

/** Colours from few to many visits: light to dark, and the other way round in the dark theme. */
class HeatScale {
  constructor({ light, dark }) {
    const parsed = (stops) => stops.map((stop) => [1, 3, 5].map((i) => parseInt(stop.slice(i, i + 2), 16)));
    Object.assign(this, { light: parsed(light), dark: parsed(dark) });
    this.most = 1;
    this.least = 1;
  }

  /** The colour of a share of the scale, from 0 to 1. */
  at(share) {
    const stops = isDark() ? this.dark : this.light;
    const place = share * (stops.length - 1);
    const i = Math.min(stops.length - 2, Math.floor(place));
    return stops[i].map((from, c) => Math.round(from + (stops[i + 1][c] - from) * (place - i)));
  }

  share(visits) {
    if (!(this.most > this.least)) return 1;
    return Math.min(1, Math.max(0, Math.log(visits / this.least) / Math.log(this.most / this.least)));
  }

  /** The scale as a strip of colours with numbers. */
  legend(canvas, labels, caption) {
    canvas.width = 256;
    canvas.height = 1;
    const context = canvas.getContext("2d");
    for (let x = 0; x < 256; x += 1) {
      context.fillStyle = `rgb(${this.at(x / 255).join(" ")})`;
      context.fillRect(x, 0, 1, 1);
    }
    const numbers = [];
    for (const number of logTicks(this.least, this.most, 6)) {
      if (!numbers.length || this.share(number) - this.share(numbers[numbers.length - 1]) > 34 / Math.max(120, canvas.clientWidth)) numbers.push(number);
    }
    labels.replaceChildren(...numbers.map((number) => {
      const label = make("span", {}, tick(number));
      label.style.left = `${100 * this.share(number)}%`;
      return label;
    }));
    canvas.setAttribute("aria-label", `${caption}: from ${short(this.least)} to ${short(this.most)}, logarithmic`);
  }
}

class HeatMap {
  constructor(host, world, panel, { choose, label }) {
    Object.assign(this, { world, panel });
    this.canvas = make("canvas", { tabindex: 0, role: "application", "aria-roledescription": "heat map", "aria-label": label });
    this.canvas.style.aspectRatio = `${world.width} / ${world.height}`;
    host.append(this.canvas);
    this.image = make("canvas", { width: world.width, height: world.height });
    const pick = (event) => {
      const box = this.canvas.getBoundingClientRect();
      const x = Math.floor(((event.clientX - box.left) / box.width) * world.width);
      const y = world.height - 1 - Math.floor(((event.clientY - box.top) / box.height) * world.height);
      if (x >= 0 && y >= 0 && x < world.width && y < world.height) choose(y * world.width + x, event.type === "pointerdown");
    };
    this.canvas.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse") pick(event); });
    this.canvas.addEventListener("pointerdown", pick);
    this.canvas.addEventListener("pointerleave", () => choose(null, false));
    new ResizeObserver(() => this.again?.()).observe(this.canvas);
  }

  /** Draw the current step of a source. */
  draw(source, scale, chosen, playing) {
    this.again = () => this.draw(source, scale, chosen, playing);
    const { world, canvas } = this;
    const box = canvas.getBoundingClientRect();
    if (!box.width) return;
    const density = Math.min(3, window.devicePixelRatio || 1);
    const [width, height] = [Math.round(box.width * density), Math.round(box.height * density)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    this.#paint(source, scale);
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.clearRect(0, 0, width, height);
    context.drawImage(this.image, 0, 0, width, height);
    const side = width / world.width;
    const centre = (cell) => [(cell % world.width + 0.5) * side, (world.height - 0.5 - Math.floor(cell / world.width)) * side];
    this.#marks(context, centre, side, density);
    this.#trail(context, source, centre, side, density);
    if (chosen !== null && !world.wallSet.has(chosen)) this.#choice(context, source.cell(chosen), centre(chosen), side, density);
  }

  #paint(source, scale) {
    const { world, image } = this;
    const context = image.getContext("2d");
    const pixels = context.createImageData(world.width, world.height);
    const wall = colour("var(--wall)").match(/[\d.]+/g).map(Number);
    for (let cell = 0; cell < source.visits.length; cell += 1) {
      const row = world.height - 1 - Math.floor(cell / world.width);
      const place = 4 * (row * world.width + (cell % world.width));
      const visits = source.visits[cell];
      if (world.wallSet.has(cell)) pixels.data.set([...wall.slice(0, 3), 255], place);
      else if (visits > 0) pixels.data.set([...scale.at(scale.share(visits)), 255], place);
    }
    context.putImageData(pixels, 0, 0);
  }

  /** The start is a ring, goals are diamonds. */
  #marks(context, centre, side, density) {
    const size = Math.min(Math.max(0.42 * side, 3.2 * density), 8 * density);
    const outline = (width, stroke) => { context.lineWidth = width * density; context.strokeStyle = stroke; context.stroke(); };
    for (const [cells, shape] of [[[this.world.start], "ring"], [this.world.goals, "diamond"]]) {
      for (const cell of cells) {
        const [x, y] = centre(cell);
        context.beginPath();
        if (shape === "ring") context.arc(x, y, size, 0, 2 * Math.PI);
        else for (const [dx, dy] of [[0, -1], [1, 0], [0, 1], [-1, 0], [0, -1]]) context.lineTo(x + dx * 1.25 * size, y + dy * 1.25 * size);
        outline(3.2, colour("var(--paper)"));
        outline(1.4, colour("var(--ink)"));
      }
    }
  }

  #trail(context, source, centre, side, density) {
    const cells = source.trail(40, this.world.episodeSteps);
    if (!cells.length) return;
    const own = colour(`var(--${CSS.escape(this.panel.method)}, var(--muted))`);
    context.lineCap = context.lineJoin = "round";
    const paper = colour("var(--paper)");
    for (const [stroke, width] of [[paper, 4], [own, 2]]) {
      for (let i = 1; i < cells.length; i += 1) {
        context.globalAlpha = i / cells.length;
        context.beginPath();
        context.moveTo(...centre(cells[i - 1]));
        context.lineTo(...centre(cells[i]));
        context.lineWidth = Math.max(width * density, 0.11 * width * side);
        context.strokeStyle = stroke;
        context.stroke();
      }
    }
    context.globalAlpha = 1;
    context.beginPath();
    context.arc(...centre(cells[cells.length - 1]), Math.min(Math.max(0.5 * side, 4 * density), 9 * density), 0, 2 * Math.PI);
    context.fillStyle = own;
    context.fill();
    context.lineWidth = 1.6 * density;
    context.strokeStyle = paper;
    context.stroke();
  }

  /** The selected cell: a frame, and arrows whose length is beta (or, without policies, the share of each action). */
  #choice(context, { counts, beta }, [x, y], side, density) {
    const paper = colour("var(--paper)");
    const ink = colour("var(--ink)");
    const half = side / 2 + density;
    for (const [width, stroke] of [[3.4, paper], [1.6, ink]]) {
      context.lineWidth = width * density;
      context.strokeStyle = stroke;
      context.strokeRect(x - half, y - half, 2 * half, 2 * half);
    }
    const total = counts?.reduce((sum, count) => sum + count, 0);
    const shares = beta ?? (total ? counts.map((count) => count / total) : null);
    if (!shares) return;
    this.world.actions.forEach((action, a) => {
      const [dx, dy] = DIRECTIONS[action] ?? [0, 0];
      const length = shares[a] * Math.max(Math.min(4 * side, 70 * density), 34 * density);
      if (length < density) return;
      const [fromX, fromY] = [x + dx * half, y - dy * half];
      const [toX, toY] = [fromX + dx * length, fromY - dy * length];
      const head = Math.min(length, 5 * density);
      for (const [width, stroke] of [[4.2, paper], [2, ink]]) {
        context.beginPath();
        context.moveTo(fromX, fromY);
        context.lineTo(toX, toY);
        context.moveTo(toX - dx * head + dy * head * 0.7, toY + dy * head + dx * head * 0.7);
        context.lineTo(toX, toY);
        context.lineTo(toX - dx * head - dy * head * 0.7, toY + dy * head - dx * head * 0.7);
        context.lineWidth = width * density;
        context.strokeStyle = stroke;
        context.stroke();
      }
    });
  }
}

/** Where actions lead on the map, with y upwards. In the deep sea, every step sinks. */
const DIRECTIONS = { left: [-1, 0], right: [1, 0], up: [0, 1], down: [0, -1] };
const ARROWS = { left: "\u2190", right: "\u2192", up: "\u2191", down: "\u2193" };
