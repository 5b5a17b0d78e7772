// First-reach distributions: the share of runs that have reached a goal after each step.

function startReach(host, data) {
  const select = make("select", { "aria-label": "Goal" }, ...data.groups.map((group, i) => make("option", { value: i }, group.label)));
  if (data.groups.length > 1) host.append(make("label", { class: "pick" }, "Goal ", select));
  const body = make("div", {});
  host.append(body);
  const chart = new Chart(body, {
    title: data.title, xLabel: "steps (logarithmic)", yFormat: (value) => percent(value || 0, 0), yTick: (value) => percent(value, 0), log: true, steps: true, height: 240,
  });
  const note = host.appendChild(make("p", { class: "hint" }));
  const draw = () => {
    const group = data.groups[Number(select.value || 0)];
    const known = group.methods.filter((one) => one.steps.length);
    const end = Math.max(...known.map((one) => one.steps[one.steps.length - 1]));
    chart.show(known.map((one) => ({
      name: one.name,
      method: one.method,
      dash: one.method === "random" ? "5 3" : undefined,
      x: [one.steps[0], ...one.steps, end],
      y: [0, ...one.shares, one.shares[one.shares.length - 1]],
    })));
    note.textContent = `Median steps: ${group.methods.map((one) => `${one.name} ${shown(one.median)}`).join(", ")}. The further left a curve, the sooner the goal is reached.`;
  };
  select.addEventListener("change", draw);
  draw();
}
