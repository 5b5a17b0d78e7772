// Shared by every part of the page: elements, numbers, packed arrays, colours and the theme.

/** An element with attributes and children; text is always text, never markup. */
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "path", "line", "text", "rect", "circle"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  if (tag === "output") element.setAttribute("aria-live", "off"); // running numbers are not announced
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const MINUS = "\u2212";
const NONE = "\u2013";

/** Rounded as Python rounds, which writes the tables: to the nearest number, and between two of them to the even one. */
function rounded(value, digits) {
  const scaled = value * 10 ** digits;
  const halfway = Math.abs((value * 2 ** (digits + 1)) % 2) === 1;
  return (halfway ? (2 * Math.round(scaled / 2)) / 10 ** digits : Number(value.toFixed(digits))) + 0; // no minus zero
}

/** A number with thousands separators and a real minus sign. */
function shown(value, digits = 0) {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  if (!Number.isFinite(value)) return value > 0 ? "\u221e" : `${MINUS}\u221e`;
  const text = rounded(value, digits).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return text.replace("-", MINUS);
}

/** A number with its sign; no sign before a zero. */
function signed(value, digits = 0) {
  const text = shown(value, digits);
  return value > 0 && Number(value.toFixed(digits)) !== 0 ? `+${text}` : text.replace(/^\u2212(0(\.0+)?)$/, "$1");
}

/** A number on an axis, with no more digits than it needs. */
function tick(value) {
  return (value + 0).toLocaleString("en-US", { maximumSignificantDigits: 6 }).replace("-", MINUS);
}

/** A number with about this many significant digits. */
function short(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return shown(value);
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return shown(value);
  if (size !== 0 && size < 1e-3) return value.toExponential(digits - 1).replaceAll("-", MINUS);
  if (size >= 1e7) return `${short(value / 1e6)} M`;
  return shown(value, size === 0 ? 0 : Math.max(0, Math.min(4, digits - 1 - Math.floor(Math.log10(size)))));
}

const percent = (share, digits = 1) => (Number.isFinite(share) ? `${shown(100 * share, digits)} %` : NONE);

/** Seconds in words. */
function duration(seconds) {
  if (!Number.isFinite(seconds)) return NONE;
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}

/** Unpack an array that Python packed: base64 of zlib of little-endian numbers. */
async function unpack({ type, data }) {
  const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const kind = { Uint8: Uint8Array, Uint16: Uint16Array, Uint32: Uint32Array, Float32: Float32Array }[type];
  return new kind(await new Response(stream).arrayBuffer());
}

/** A CSS colour in the current theme, as a canvas needs it. */
function colour(value) {
  const probe = document.getElementById("probe") ?? document.body.appendChild(make("i", { id: "probe", hidden: true }));
  probe.style.color = value;
  return getComputedStyle(probe).color;
}

const still = matchMedia("(prefers-reduced-motion: reduce)");
const darkScheme = matchMedia("(prefers-color-scheme: dark)");

/** Whether the page is dark: the reader's choice, or else the system's. */
function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : darkScheme.matches;
}

const themeChanged = new EventTarget();

function remembered(value) {
  try {
    if (value === undefined) return localStorage.getItem("action-balance-theme");
    localStorage.setItem("action-balance-theme", value);
  } catch {
    // Some browsers have no storage for a local file: the choice then lasts as long as the page.
  }
  return null;
}

function startTheme() {
  const button = document.getElementById("theme");
  const apply = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Use the ${isDark() ? "light" : "dark"} theme`);
    themeChanged.dispatchEvent(new Event("change"));
  };
  const chosen = remembered();
  apply(["light", "dark"].includes(chosen) ? chosen : null);
  button.hidden = false;
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    remembered(theme);
    apply(theme);
  });
  darkScheme.addEventListener("change", () => apply(null));
}
