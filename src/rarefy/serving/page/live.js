// What a model does right now: figures, and how they came to be.

import { Chart } from "./chart.js";
import { by, count, isNumber, make, makeSvg, number, percent, setText } from "./dom.js";

export const KEPT = 900; // points, as the service keeps them

// Figures of each member have `of`, those of the model `from`, which takes a point.
const FIGURES = [
  { title: "Loss", of: "loss", format: number },
  { title: "Accuracy", of: "accuracy", format: percent },
  { title: "AUC", of: "auc", format: number },
  { title: "Calibration error", of: "calibration_error", format: percent },
  { title: "RMSE", of: "rmse", format: number },
  { title: "MAE", of: "mae", format: number },
  { title: "Examples a second", from: (point) => point.learned_per_second, format: count },
  { title: "Predictions a second", from: (point) => point.predicted_per_second, format: count },
  { title: "Weights kept", from: (point) => point.weights, format: count },
  { title: "Share of zeros", from: (point) => point.zeros, format: percent },
  { title: "Answers lost since the snapshot", from: (point) => point.since_snapshot?.lost,
    format: count, also: (point) => `of ${count(point.since_snapshot?.rows)} rows compared` },
  { title: "Answers won since the snapshot", from: (point) => point.since_snapshot?.won,
    format: count, also: (point) => `of ${count(point.since_snapshot?.rows)} rows compared` },
  { title: "Rows waiting to be learned", from: (point) => point.backlog, format: count },
];

// The champion first, then challengers, as of a point.
export function members(point) {
  return [point.champion, ...Object.keys(point.challengers ?? {})];
}

export function rolling(point, member) {
  const found = point.champion === member ? point : point.challengers?.[member];
  return found?.rolling ?? {};
}

export class Live {
  constructor() {
    this.tiles = FIGURES.map((figure) => new Tile(figure));
    by("figures").replaceChildren(...this.tiles.map((tile) => tile.element));
    this.styles = new Map(); // of members, which keep theirs when another becomes champion
  }

  // Nothing is known yet.
  open() {
    for (const tile of this.tiles) tile.element.hidden = true;
    this.styles.clear();
    this._key([]);
    setText(by("drifts"), "");
    setText(by("labels"), "");
  }

  show(points) {
    const last = points.at(-1);
    const names = members(last);
    for (const name of this.styles.keys()) if (!names.includes(name)) this.styles.delete(name);
    for (const name of names) if (!this.styles.has(name)) this.styles.set(name, this._unused());
    this._key(names);
    const marks = driftTimes(points);
    for (const tile of this.tiles) tile.show(points, names, this.styles, marks);
    const drifts = last.drifts ?? [];
    setText(by("drifts"), drifts.length
      ? `The last drift alarms, by the number of the example: ${drifts.map(count).join("; ")}.`
      : "No drift alarm.");
    const labels = last.labels ?? {};
    setText(by("labels"), labels.asked
      ? `Predictions remembered for a label: ${count(labels.asked)}. Labels that came: ` +
        `${count(labels.came)}, never came: ${count(labels.missing)}, for nothing remembered: ` +
        `${count(labels.unknown)}.`
      : "");
  }

  _unused() {
    const used = new Set(this.styles.values());
    let style = 0;
    while (used.has(style)) style += 1;
    return style;
  }

  _key(names) {
    const wanted = names.length > 1 ? names : [];
    const text = wanted.map((name) => `${name} ${this.styles.get(name)}`).join();
    if (text === this.keyed) return;
    this.keyed = text;
    by("key").replaceChildren(...wanted.map((name, n) =>
      make("li", {}, sample(this.styles.get(name)), n ? name : `${name} (champion)`)));
  }
}

function sample(style) {
  const path = makeSvg("path", { class: `series series-${style}`, d: "M0 4H32" });
  return makeSvg("svg", { viewBox: "0 0 32 8", "aria-hidden": "true" }, path);
}

class Tile {
  constructor(figure) {
    this.figure = figure;
    this.value = make("p", { class: "value" });
    this.also = make("p", { class: "hint" });
    this.chart = new Chart(figure.title, figure.format, { isFromZero: figure.format === count });
    const title = make("h4", {}, figure.title);
    this.element = make("li", {}, title, this.value, this.also, this.chart.element);
  }

  show(points, names, styles, marks) {
    const { figure } = this, last = points.at(-1);
    const values = figure.of
      ? names.map((name) => [name, (point) => rolling(point, name)[figure.of]])
      : [[names[0], figure.from]];
    const lines = values.map(([name, value]) =>
      ({ style: styles.get(name), points: points.map((point) => [point.at, value(point)]) }));
    this.element.hidden = !lines.some((line) => line.points.some(([, y]) => isNumber(y)));
    setText(this.value, figure.format(values[0][1](last)));
    setText(this.also, figure.also ? figure.also(last) : "");
    if (!this.element.hidden) this.chart.draw(lines, figure.of ? marks : []);
  }
}

// When the alarms that are still told were raised: by the first point that had seen the example.
function driftTimes(points) {
  const drifts = points.at(-1).drifts ?? [], first = points[0].examples ?? 0;
  return drifts.filter((example) => example > first)
    .map((example) => points.find((point) => point.examples >= example)?.at ?? points.at(-1).at);
}
