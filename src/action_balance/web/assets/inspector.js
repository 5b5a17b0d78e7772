// The details of the selected cell for one method: visits, and for each action its count, both policies and the bonus.

class Inspector {
  constructor(host, world) {
    this.world = world;
    this.visits = make("output", {});
    this.place = make("span", { class: "place" });
    const flat = world.actions.every((action) => DIRECTIONS[action]?.[1] === 0);
    this.rose = make("svg", { class: "rose", viewBox: flat ? "-60 -14 120 28" : "-60 -60 120 120", role: "img", "aria-label": "Both policies as arrows" });
    this.head = make("tr", {});
    this.rows = make("tbody", {});
    this.note = make("p", { class: "note" });
    host.append(
      make("p", { class: "visits" }, this.place, this.visits),
      this.rose,
      make("table", { class: "actions" }, make("thead", {}, this.head), this.rows),
      this.note,
    );
  }

  show(found, place) {
    const { visits, counts, pi, beta, bonus, balanced } = found;
    this.place.textContent = `${found.what ?? "visits of"} ${place}`;
    this.visits.textContent = found.text ?? (Number.isInteger(visits) ? shown(visits) : short(visits));
    this.rose.toggleAttribute("hidden", !counts);
    if (!counts) {
      this.head.replaceChildren();
      this.rows.replaceChildren();
      this.note.textContent = "";
      return;
    }
    const column = (text, about) => make("th", { scope: "col", title: about }, text);
    const policies = pi ? [column("\u03c0", "policy without the action bonus"), column("\u03b2", "behaviour policy, which chooses the actions"), column("bonus", "action bonus, divided by its norm")] : [column("share")];
    this.head.replaceChildren(make("th", { scope: "col" }, make("span", { class: "hidden" }, "action")), column("N"), ...policies);
    const total = counts.reduce((sum, count) => sum + count, 0);
    this.rows.replaceChildren(...this.world.actions.map((action, a) => make("tr", { "data-action": action },
      make("th", { scope: "row" }, make("span", { "aria-hidden": "true" }, ARROWS[action] ?? action), make("span", { class: "hidden" }, action)),
      make("td", {}, Number.isInteger(counts[a]) ? shown(counts[a]) : short(counts[a])),
      ...(pi ? [make("td", {}, shown(pi[a], 2)), make("td", {}, shown(beta[a], 2)), this.#bar(bonus[a], balanced)]
        : [make("td", {}, total ? shown(counts[a] / total, 2) : NONE)]))));
    this.note.textContent = pi && !balanced ? "This method does not use the bonus." : "";
    this.#arrows(pi, beta ?? counts.map((count) => (total ? count / total : 0)));
  }

  #bar(bonus, used) {
    const bar = make("i", {});
    bar.style.width = `${100 * bonus}%`;
    return make("td", { class: used ? "bonus" : "bonus unused" }, shown(bonus, 2), make("span", { class: "bar" }, bar));
  }

  /** Arrows from the centre, the longest as long as there is room: beta filled, pi as a line across it. */
  #arrows(pi, beta) {
    const parts = [make("rect", { x: -7, y: -7, width: 14, height: 14, class: "here" })];
    const reach = 48 / Math.max(0.4, ...beta, ...(pi ?? []));
    this.world.actions.forEach((action, a) => {
      const [dx, dy] = DIRECTIONS[action] ?? [0, 0];
      const angle = (Math.atan2(-dy, dx) * 180) / Math.PI;
      const arrow = make("g", { transform: `rotate(${angle})` }, make("line", { x1: 9, x2: 57, y1: 0, y2: 0, class: "track" }));
      const length = beta[a] * reach;
      if (length > 0.5) {
        const head = Math.min(length, 7);
        arrow.append(make("path", { class: "beta", d: `M9 -3H${9 + length - head}V-6.5L${9 + length} 0L${9 + length - head} 6.5V3H9Z` }));
      }
      if (pi) arrow.append(make("line", { class: "pi", x1: 9 + pi[a] * reach, x2: 9 + pi[a] * reach, y1: -8, y2: 8 }));
      parts.push(arrow);
    });
    this.rose.replaceChildren(...parts);
  }
}
