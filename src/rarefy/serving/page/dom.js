// Elements, and numbers as people read them. What comes from models is always text, never markup.

const SVG = "http://www.w3.org/2000/svg";

export const by = (id) => document.getElementById(id);

export function make(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function makeSvg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function button(text, label, act) {
  return make("button", { type: "button", "aria-label": label, click: act }, text);
}

// --- numbers ---------------------------------------------------------------------------------

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const share = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

const shown = (format) => (value) => (isNumber(value) ? format(value) : "–");

export const count = shown((value) => whole.format(value));
export const percent = shown((value) => share.format(value));
export const number = shown((value) => {
  const size = Math.abs(value);
  return size > 0 && size < 1e-4 ? value.toExponential(2) : precise.format(value);
});
export const time = shown((seconds) =>
  new Date(1000 * seconds).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" }));

export function signed(value) {
  return (isNumber(value) && value > 0 ? "+" : "") + number(value);
}

// The size of the largest number; never zero, so that shares of it can be taken.
export function largest(rows, of) {
  return Math.max(...rows.map((row) => Math.abs(of(row))), Number.MIN_VALUE);
}
