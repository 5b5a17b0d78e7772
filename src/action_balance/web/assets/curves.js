// Curves of training runs: from the values of all seeds to what a chart draws, and to the rows of a CSV file.

/** Unpack the values of a curve, by metric: those of all seeds, or a mean with both ends of its band. */
async function unpackCurve(curve) {
  if (!curve.values) { // a comparison has no values of seeds
    for (const parts of Object.values(curve.metrics)) {
      for (const [part, values] of Object.entries(parts)) parts[part] = values.map((value) => value ?? NaN);
    }
    return;
  }
  const values = await unpack(curve.values);
  const size = curve.steps.length * curve.seeds;
  const bySeed = (number) => Array.from({ length: curve.seeds }, (_, seed) =>
    curve.steps.map((_, point) => values[number * size + point * curve.seeds + seed]));
  curve.metrics = Object.fromEntries(curve.metrics.map((name, number) => [name, { seeds: bySeed(number) }]));
  delete curve.values;
}

/** Append new points to a curve, with gaps where a metric starts later. */
function extend(curve, fresh) {
  if (fresh.restarted) Object.assign(curve, { steps: [], metrics: {} });
  const before = curve.steps.length;
  curve.steps.push(...fresh.steps);
  for (const name of new Set([...Object.keys(curve.metrics), ...Object.keys(fresh.metrics)])) {
    const metric = (curve.metrics[name] ??= { seeds: Array.from({ length: curve.seeds }, () => Array(before).fill(NaN)) });
    metric.seeds.forEach((values, seed) => values.push(...(fresh.metrics[name]?.seeds[seed] ?? fresh.steps.map(() => NaN))));
  }
}

/**
 * Exponential moving average: each earlier value counts `weight` times less than the next one. Weights add up to 1 from
 * the first point on; unknown values stay unknown and are left out.
 */
function smooth(values, weight) {
  if (!weight) return values;
  let [sum, total] = [0, 0];
  return values.map((value) => {
    if (!Number.isFinite(value)) return NaN;
    sum = weight * sum + value;
    total = weight * total + 1;
    return sum / total;
  });
}

/** The mean of the known values at each point. */
function meanOf(lines) {
  return lines[0].map((_, i) => {
    const known = lines.map((values) => values[i]).filter(Number.isFinite);
    return known.length ? known.reduce((a, b) => a + b, 0) / known.length : NaN;
  });
}

/** The lowest or highest of the known values at each point. */
function extremeOf(lines, pick) {
  return lines[0].map((_, i) => {
    const known = lines.map((values) => values[i]).filter(Number.isFinite);
    return known.length ? known.reduce((a, b) => pick(a, b)) : NaN;
  });
}

/**
 * What a chart shows of one metric of a curve: `mean`, `low` and `high` where several seeds form a band, `raw` where
 * the mean is smoothed, and `lines`, one for each seed, in place of the band.
 */
function drawn(curve, metric, { smoothing, perSeed }) {
  const { seeds, mean, low, high } = curve.metrics[metric];
  if (!seeds) return { mean: smooth(mean, smoothing), low: smooth(low, smoothing), high: smooth(high, smoothing), raw: smoothing ? mean : null, lines: [] };
  const lines = seeds.map((values) => smooth(values, smoothing));
  const several = lines.length > 1;
  const spread = several && !perSeed;
  return {
    mean: several ? meanOf(lines) : lines[0],
    low: spread ? extremeOf(lines, Math.min) : null,
    high: spread ? extremeOf(lines, Math.max) : null,
    raw: smoothing && !(several && perSeed) ? meanOf(seeds) : null,
    lines: several && perSeed ? lines : [],
  };
}

/** The series of a chart of one metric. */
function seriesOf(curves, metric, options) {
  const found = [];
  for (const curve of curves.filter((one) => one.metrics[metric])) {
    const { mean, low, high, raw, lines } = drawn(curve, metric, options);
    const look = { method: curve.method, dash: curve.dash, x: curve.steps };
    if (raw) found.push({ ...look, name: "", y: raw, thin: true, faint: true });
    for (const values of lines) found.push({ ...look, name: "", y: values, thin: true });
    found.push({ ...look, name: curve.label, y: mean, ...(low ? { low, high } : {}) });
  }
  return found;
}

/** A field of a CSV file; one that a spreadsheet would take for a formula becomes text. */
function csvField(value) {
  if (typeof value === "number") return Number.isFinite(value) ? String(Number(value.toPrecision(7))) : "";
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The columns of a curve's seeds; a seed that two runs share has a second one. */
function seedColumns(curve, end) {
  return curve.numbers.map((number, i) => {
    const earlier = curve.numbers.slice(0, i).filter((one) => one === number).length;
    return `seed_${number}${earlier ? `_${earlier + 1}` : ""}${end}`;
  });
}

/** What a chart shows as CSV: a row for each point of each curve. */
function csvOf(curves, metric, options) {
  const all = curves.filter((one) => one.metrics[metric]).map((curve) => ({ curve, parts: drawn(curve, metric, options) }));
  const end = options.smoothing ? "_smoothed" : "";
  const has = (part) => all.some(({ parts }) => parts[part]);
  const seeds = new Set(all.filter(({ parts }) => parts.lines.length).flatMap(({ curve }) => seedColumns(curve, end)));
  const columns = [
    ["curve", ({ curve }) => curve.label],
    ["steps_per_seed", ({ curve }, i) => curve.steps[i]],
    [`mean${end}`, ({ parts }, i) => parts.mean[i]],
    ...(has("low") ? [[`low${end}`, ({ parts }, i) => parts.low?.[i] ?? NaN], [`high${end}`, ({ parts }, i) => parts.high?.[i] ?? NaN]] : []),
    ...(has("raw") ? [["mean", ({ parts }, i) => parts.raw?.[i] ?? NaN]] : []),
    ...[...seeds].map((name) => [name, ({ curve, parts }, i) => parts.lines[seedColumns(curve, end).indexOf(name)]?.[i] ?? NaN]),
  ];
  const rows = all.flatMap((one) => one.curve.steps.map((_, i) => columns.map(([, value]) => csvField(value(one, i)))));
  return [columns.map(([name]) => name), ...rows].map((row) => `${row.join(",")}\n`).join("");
}
