// The colours of maps: visits, the share of runs that have covered a cell, and differences from random.

/** Colours that follow the theme. `colour(value)` gives red, green and blue, or null where nothing is drawn. */
class Scale {
  constructor({ light, dark }) {
    const parsed = (stops) => stops.map((stop) => [1, 3, 5].map((i) => parseInt(stop.slice(i, i + 2), 16)));
    Object.assign(this, { light: parsed(light), dark: parsed(dark) });
  }

  /** The colour of a place on the scale, from 0 to 1. */
  at(share) {
    const stops = isDark() ? this.dark : this.light;
    const place = share * (stops.length - 1);
    const i = Math.min(stops.length - 2, Math.floor(place));
    return stops[i].map((from, c) => Math.round(from + (stops[i + 1][c] - from) * (place - i)));
  }

  colour(value) { return this.at(this.share(value)); }

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
    for (const number of this.numbers()) {
      if (!numbers.length || this.share(number) - this.share(numbers[numbers.length - 1]) > 34 / Math.max(120, canvas.clientWidth)) numbers.push(number);
    }
    labels.replaceChildren(...numbers.map((number) => {
      const label = make("span", {}, this.written(number));
      label.style.left = `${100 * this.share(number)}%`;
      return label;
    }));
    canvas.setAttribute("aria-label", `${caption}: ${this.described()}`);
  }
}

/** Visits: logarithmic, light to dark, and the other way round in the dark theme. */
class HeatScale extends Scale {
  constructor(stops) {
    super(stops);
    this.most = 1;
    this.least = 1;
  }

  /** Fit the scale to visits; of single runs, it begins at one visit. */
  fit(sources, whole) {
    let [least, most] = [Infinity, 0];
    for (const { visits } of sources) {
      for (const count of visits) {
        if (count > most) most = count;
        if (count > 0 && count < least) least = count;
      }
    }
    this.most = Math.max(2, most);
    this.least = whole ? 1 : Math.min(this.most, least);
  }

  colour(visits) { return visits > 0 ? super.colour(visits) : null; }

  share(visits) {
    if (!(this.most > this.least)) return 1;
    return Math.min(1, Math.max(0, Math.log(visits / this.least) / Math.log(this.most / this.least)));
  }

  numbers() { return logTicks(this.least, this.most, 6); }

  written(number) { return tick(number); }

  described() { return `from ${short(this.least)} to ${short(this.most)}, logarithmic`; }
}

/** The share of runs that have covered a cell, from none to all. */
class ShareScale extends Scale {
  share(value) { return Math.min(1, Math.max(0, value)); }

  numbers() { return [0, 0.5, 1]; }

  written(number) { return percent(number, 0); }

  described() { return "from 0 % to 100 %"; }
}

/** The share of runs minus that of random: two hues, and the colour of the paper for no difference. */
class DifferenceScale extends Scale {
  /** `most` is the largest difference in either direction; the scale ends at a round number beyond it. */
  constructor(stops, most) {
    super(stops);
    this.most = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1].find((end) => end >= most - 1e-9) ?? 1;
  }

  share(value) { return Math.min(1, Math.max(0, 0.5 + value / this.most / 2)); }

  numbers() { return [-1, -0.5, 0, 0.5, 1].map((end) => end * this.most); }

  written(number) { return signed(100 * number, (100 * this.most) % 2 ? 1 : 0); }

  described() { return `from ${signed(-100 * this.most)} to ${signed(100 * this.most)} percentage points`; }
}
