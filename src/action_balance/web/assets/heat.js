// A map on a canvas: the world with its colours and marks, the agent with its last steps, and the selected cell.

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
    for (let cell = 0; cell < source.values.length; cell += 1) {
      const row = world.height - 1 - Math.floor(cell / world.width);
      const place = 4 * (row * world.width + (cell % world.width));
      const painted = world.wallSet.has(cell) ? wall.slice(0, 3) : scale.colour(source.values[cell]);
      if (painted) pixels.data.set([...painted, 255], place);
    }
    context.putImageData(pixels, 0, 0);
  }

  /** The start is a ring, goals are stars: the same marks as in the figures. */
  #marks(context, centre, side, density) {
    const size = Math.min(Math.max(0.42 * side, 3.2 * density), 8 * density);
    const [paper, ink] = [colour("var(--paper)"), colour("var(--ink)")];
    context.lineJoin = "round";
    for (const [cells, shape] of [[[this.world.start], "ring"], [this.world.goals, "star"]]) {
      for (const cell of cells) {
        const [x, y] = centre(cell);
        context.beginPath();
        if (shape === "ring") context.arc(x, y, size, 0, 2 * Math.PI);
        else starPath(context, x, y, 1.5 * size);
        Object.assign(context, { lineWidth: 3.2 * density, strokeStyle: paper, fillStyle: ink });
        context.stroke();
        Object.assign(context, { lineWidth: 1.4 * density, strokeStyle: ink });
        if (shape === "ring") context.stroke();
        else context.fill();
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
    const [x, y] = centre(cells[cells.length - 1]);
    const half = Math.min(Math.max(0.45 * side, 3.5 * density), 8 * density);
    Object.assign(context, { fillStyle: own, lineWidth: 1.6 * density, strokeStyle: paper });
    context.fillRect(x - half, y - half, 2 * half, 2 * half);
    context.strokeRect(x - half, y - half, 2 * half, 2 * half);
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

/** A star with five points around a centre. */
function starPath(context, x, y, radius) {
  for (let i = 0; i <= 10; i += 1) {
    const [angle, reach] = [(i * Math.PI) / 5 - Math.PI / 2, i % 2 ? 0.45 * radius : radius];
    context.lineTo(x + reach * Math.cos(angle), y + reach * Math.sin(angle));
  }
}

/** Where actions lead on the map, with y upwards. In the deep sea, every step sinks. */
const DIRECTIONS = { left: [-1, 0], right: [1, 0], up: [0, 1], down: [0, -1] };
const ARROWS = { left: "\u2190", right: "\u2192", up: "\u2191", down: "\u2193" };
