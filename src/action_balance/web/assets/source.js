// The counts of every state-action pair at a step and, for a recorded run, both policies.

/** Every step of one run of one method. */
class TraceSource {
  static async read(panel, world) {
    const [pairs, advantages] = await Promise.all([unpack(panel.pairs), unpack(panel.advantage)]);
    return new TraceSource(pairs, advantages, panel.actionCoef, world);
  }

  constructor(pairs, advantages, actionCoef, { width, height, actions, updateEvery }) {
    Object.assign(this, { pairs, advantages, actionCoef, updateEvery });
    this.actions = actions.length;
    this.cells = width * height;
    this.#restart();
    this.covered = this.#coverage();
  }

  #restart() {
    this.step = 0;
    this.visits = new Uint32Array(this.cells);
    this.counts = new Uint32Array(this.cells * this.actions);
    // The agent acts with its counts and advantages as of its last update.
    this.known = 0;
    this.knownCounts = new Uint32Array(this.cells * this.actions);
    this.advantage = new Float32Array(this.cells * this.actions);
  }

  /** Distinct cells after each step, starting at step 0. */
  #coverage() {
    const [seen, covered] = [new Uint8Array(this.cells), new Uint32Array(this.pairs.length + 1)];
    this.pairs.forEach((pair, i) => {
      const cell = Math.floor(pair / this.actions);
      covered[i + 1] = covered[i] + (seen[cell] ? 0 : 1);
      seen[cell] = 1;
    });
    return covered;
  }

  get length() { return this.pairs.length; }

  get values() { return this.visits; }

  /** Go to a step; counting starts over only when going back. */
  seek(step) {
    if (step < this.step) this.#restart();
    for (; this.step < step; this.step += 1) {
      const pair = this.pairs[this.step];
      this.counts[pair] += 1;
      this.visits[Math.floor(pair / this.actions)] += 1;
    }
    for (const end = step - (step % this.updateEvery); this.known < end; this.known += 1) {
      const pair = this.pairs[this.known];
      this.knownCounts[pair] += 1;
      this.advantage[pair] = this.advantages[this.known];
    }
  }

  /** The last cells of the agent, the current one last. */
  trail(length, episodeSteps) {
    const begin = Math.max(0, this.step - (this.step % episodeSteps || episodeSteps), this.step - length);
    return Array.from(this.pairs.subarray(begin, this.step), (pair) => Math.floor(pair / this.actions));
  }

  /** Everything about a cell. */
  cell(cell) {
    const begin = cell * this.actions;
    const part = (table) => Array.from(table.subarray(begin, begin + this.actions));
    const known = part(this.knownCounts);
    const root = Math.sqrt(known.reduce((sum, count) => sum + count, 0));
    const bonus = known.map((count) => root / (1 + count));
    const advantage = part(this.advantage);
    return {
      visits: this.visits[cell],
      counts: part(this.counts),
      bonus: lengthOne(bonus),
      pi: softmax(advantage),
      beta: softmax(advantage.map((value, a) => value + this.actionCoef * bonus[a])),
      balanced: this.actionCoef > 0,
    };
  }
}

/** Counts at some moments: the mean over runs, or a run of the neural agent. */
class SnapshotSource {
  static async read(packed, moments, world, actions, over) {
    return new SnapshotSource(await unpack(packed), moments, world.width * world.height, actions, over);
  }

  /** `increments` are whole numbers, (moments, cells, actions); their sum divided by `over` is shown. */
  constructor(increments, moments, cells, actions, over) {
    Object.assign(this, { increments, moments, cells, actions, over });
    this.covered = null;
    this.#restart();
  }

  #restart() {
    this.place = -1;
    this.visits = new Float64Array(this.cells);
    this.counts = new Float64Array(this.cells * this.actions);
  }

  get length() { return this.moments[this.moments.length - 1]; }

  get values() { return this.visits; }

  seek(step) {
    const place = placeOf(this.moments, step);
    if (place < this.place) this.#restart();
    while (this.place < place) {
      this.place += 1;
      const begin = this.place * this.counts.length;
      for (let pair = 0; pair < this.counts.length; pair += 1) {
        const more = this.increments[begin + pair] / this.over;
        this.counts[pair] += more;
        this.visits[Math.floor(pair / this.actions)] += more;
      }
    }
  }

  /** Add later moments; `totals` are the counts up to each of them. */
  append(totals, moments) {
    const size = this.counts.length;
    const last = new Float64Array(size);
    this.increments.forEach((count, i) => { last[i % size] += count; });
    const increments = new Uint32Array(this.increments.length + totals.length);
    increments.set(this.increments);
    totals.forEach((count, i) => { increments[this.increments.length + i] = count - (i < size ? last[i] : totals[i - size]); });
    this.increments = increments;
    this.moments.push(...moments);
  }

  trail() { return []; }

  cell(cell) {
    const counts = this.actions > 1 ? Array.from(this.counts.subarray(cell * this.actions, (cell + 1) * this.actions)) : null;
    return { visits: this.visits[cell], counts };
  }
}

/** The share of runs that have covered each cell, and how much that is above or below the reference's. */
class CoveredSource {
  /** `own` and `reference` count the runs that have covered each cell; the reference itself has none. */
  constructor(own, reference) {
    Object.assign(this, { own, reference, actions: 1 });
    this.values = own.visits;
  }

  seek(step) {
    this.own.seek(step);
    this.reference?.seek(step);
    const [share, random] = [this.own.visits, this.reference?.visits];
    this.values = random ? share.map((value, cell) => value - random[cell]) : share;
  }

  /** The largest difference at any moment. */
  most() {
    let most = 0;
    for (const moment of this.own.moments) {
      this.seek(moment);
      for (const value of this.values) most = Math.max(most, Math.abs(value));
    }
    return most;
  }

  trail() { return []; }

  cell(cell) {
    const share = percent(this.own.visits[cell], 1);
    const points = this.reference ? `, ${signed(100 * this.values[cell], 1)} points` : "";
    return { what: "runs that have covered", text: `${share}${points}`, counts: null };
  }
}

function softmax(logits) {
  const highest = Math.max(...logits);
  const weights = logits.map((logit) => Math.exp(logit - highest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** A vector divided by its length; zeros stay zeros. */
function lengthOne(vector) {
  const length = Math.hypot(...vector);
  return vector.map((value) => (length ? value / length : 0));
}
