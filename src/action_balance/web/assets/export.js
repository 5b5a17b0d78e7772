// Charts as files: pictures and tables are made in the page and saved by the browser.

/** Have the browser save text or bytes under a name. */
function save(name, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = make("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Text as a part of a file name. */
const slug = (text) => text.toLowerCase().replaceAll("\u00d7", "x").replace(/[^a-z0-9.]+/g, "-").replace(/^[-.]+|[-.]+$/g, "");

/** Properties that a picture takes over from the styles of the page. */
const DRAWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "opacity", "font-family", "font-size", "font-weight"];

/** A chart as a drawing of its own, with its title and legend, in the colours of the page. */
function pictureOf(chart, title) {
  const source = chart.drawing;
  const [width, height] = [source.clientWidth, chart.height];
  const copy = source.cloneNode(true);
  const from = [...source.querySelectorAll("*")];
  [...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(from[i]);
    for (const name of DRAWN) element.setAttribute(name, style.getPropertyValue(name));
    element.removeAttribute("class");
  });
  copy.querySelectorAll("[hidden]").forEach((element) => element.remove());
  const [ink, paper, font] = [colour("var(--ink)"), colour("var(--paper)"), getComputedStyle(source).fontFamily];
  const text = { "font-family": font, fill: ink };
  const parts = [make("text", { ...text, x: 12, y: 24, "font-size": 15, "font-weight": 600 }, title)];
  let [x, y] = [12, 46];
  const pen = make("canvas").getContext("2d");
  pen.font = `13px ${font}`;
  for (const one of chart.series.filter((series) => series.name)) {
    const wide = 30 + pen.measureText(one.name).width + 22;
    if (x > 12 && x + wide > width) [x, y] = [12, y + 20];
    parts.push(make("line", { x1: x, x2: x + 22, y1: y - 4, y2: y - 4, stroke: colour(tint(one)), "stroke-width": 3, "stroke-dasharray": one.dash }),
      make("text", { ...text, x: x + 30, y, "font-size": 13 }, one.name));
    x += wide;
  }
  const whole = make("svg", { xmlns: "http://www.w3.org/2000/svg", width, height: y + 12 + height },
    make("rect", { width: "100%", height: "100%", fill: paper }), ...parts,
    make("g", { transform: `translate(0 ${y + 12})` }, ...copy.childNodes));
  return { svg: new XMLSerializer().serializeToString(whole), width, height: y + 12 + height };
}

/** Save a chart as a PNG file at twice its size. */
async function savePng(chart, title, name) {
  const { svg, width, height } = pictureOf(chart, title);
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = make("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
  save(name, await new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); }), "image/png");
}
