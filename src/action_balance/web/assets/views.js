// What a player can show: the difference from random, the visits of all runs, or one run.

/**
 * A view has, for each panel, a source and a scale; `legends` are the scales that are explained, with their captions,
 * and `moments` the steps at which there is something to show, or null if every step is one.
 */
async function readViews(data, world, palettes) {
  const views = {};
  const { mean, panels } = data;
  if (mean?.covered) views.difference = await differenceView(data, world, palettes);
  if (mean) {
    const sources = await Promise.all(panels.map((panel) =>
      SnapshotSource.read(mean.counts[panel.key], mean.moments[panel.key], world, mean.actions, mean.over[panel.key])));
    const label = mean.only ? "Visits" : `Visits (mean of ${shown(mean.over[panels[0].key])} runs)`;
    views.visits = visitsView(label, data.meanWord, sources, palettes.heat, false, mean.only ? null : sources[0].moments);
  }
  if (panels[0].pairs) {
    const sources = await Promise.all(panels.map((panel) => TraceSource.read(panel, world)));
    views.run = visitsView("One run", "visits", sources, palettes.heat, true, null);
  }
  return views;
}

function visitsView(label, caption, sources, stops, whole, moments) {
  const scale = new HeatScale(stops);
  return {
    label, sources, moments, whole,
    scales: sources.map(() => scale),
    legends: [{ scale, caption }],
    fit: () => scale.fit(sources, whole),
  };
}

async function differenceView({ mean, panels }, world, { difference, share }) {
  const read = ({ key }) => SnapshotSource.read(mean.covered[key], mean.moments[key], world, 1, mean.over[key]);
  const reference = panels.find(({ key }) => key === mean.reference);
  const sources = await Promise.all(panels.map(async (panel) => new CoveredSource(await read(panel), panel === reference ? null : await read(reference))));
  const others = sources.filter((source) => source.reference);
  const [points, shares] = [new DifferenceScale(difference, Math.max(...others.map((source) => source.most()))), new ShareScale(share)];
  return {
    label: "Difference from random", sources, whole: false, moments: mean.moments[reference.key],
    scales: sources.map((source) => (source.reference ? points : shares)),
    legends: [
      { scale: shares, caption: `${reference.name}: share of runs that have covered a cell` },
      { scale: points, caption: "other methods: difference from random, in percentage points" },
    ],
    fit: () => {},
  };
}
