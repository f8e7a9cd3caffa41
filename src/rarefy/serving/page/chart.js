// Small line charts.

import { isNumber, make, makeSvg, setText } from "./dom.js";

const WIDTH = 300, HEIGHT = 80, MARGIN = 4;

export class Chart {
  constructor(title, format, { isFromZero }) {
    this.title = title;
    this.format = format;
    this.isFromZero = isFromZero;
    this.svg = makeSvg("svg", {
      class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    });
    this.high = make("span", { class: "high" });
    this.low = make("span", { class: "low" });
    this.span = make("span", { class: "span" });
    this.scale = make("div", { class: "scale", "aria-hidden": "true" }, this.high, this.low);
    const plot = make("div", { class: "plot" }, this.scale, this.svg);
    this.element = make("div", {}, plot, this.span);
  }

  // Lines have a style and points [seconds, value]; marks are seconds.
  draw(lines, marks) {
    const points = lines.flatMap((line) => line.points);
    const ys = points.map(([, y]) => y).filter(isNumber);
    if (!ys.length) return;
    const first = points[0][0], last = points.at(-1)[0];
    const low = Math.min(...ys, ...(this.isFromZero ? [0] : [])), high = Math.max(...ys);
    const across = (x) => (last > first ? ((x - first) / (last - first)) * WIDTH : WIDTH);
    const down = (y) => {
      const part = high > low ? (y - low) / (high - low) : this.isFromZero ? 0 : 0.5;
      return HEIGHT - MARGIN - part * (HEIGHT - 2 * MARGIN);
    };
    const uprights = marks.filter((x) => x >= first && x <= last).map((x) =>
      makeSvg("line", { class: "mark", x1: across(x), x2: across(x), y1: 0, y2: HEIGHT }));
    const paths = lines.map(({ style, points: found }) =>
      makeSvg("path", { class: `series series-${style}`, d: path(found, across, down) }));
    this.svg.replaceChildren(...uprights, ...paths.reverse());
    this.svg.setAttribute("aria-label",
      `${this.title} over ${duration(last - first)}: lowest ${this.format(low)}, ` +
      `highest ${this.format(high)}.`);
    this.scale.classList.toggle("even", high === low && !this.isFromZero);
    setText(this.high, high > low ? this.format(high) : "");
    setText(this.low, this.format(low));
    setText(this.span, duration(last - first));
  }
}

// What is missing interrupts the line.
function path(points, across, down) {
  let text = "", isDown = false;
  for (const [x, y] of points) {
    if (isNumber(y)) text += `${isDown ? "L" : "M"}${across(x).toFixed(1)} ${down(y).toFixed(1)}`;
    isDown = isNumber(y);
  }
  return text;
}

function duration(seconds) {
  return seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}
