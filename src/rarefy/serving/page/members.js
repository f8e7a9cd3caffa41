// The champion against its challengers, and who answers from now on.

import { ask, confirmed } from "./api.js";
import { button, by, count, isNumber, number, percent } from "./dom.js";
import { members, rolling } from "./live.js";
import { Table } from "./table.js";

export class Members {
  // act(work, text) does what was asked for, and says so
  constructor(act) {
    this.act = act;
    const figure = (title, name, format) =>
      ({ title, isNumber: true, text: (row) => format(row.figures[name]) });
    this.columns = {
      classification: [
        figure("Accuracy", "accuracy", percent), figure("AUC", "auc", number),
      ],
      regression: [figure("RMSE", "rmse", number), figure("MAE", "mae", number)],
    };
    this.loss = figure("Loss", "loss", number);
  }

  open(name, task) {
    this.name = name;
    this.table = new Table(by("members"), "Champion and challengers, live", [
      { title: "Name", isName: true, text: (row) => row.name },
      this.loss,
      ...this.columns[task],
      { title: "Weights", isNumber: true, text: (row) => count(row.weights) },
      { title: "Gain", isNumber: true, text: gain },
      { title: "Lost, won", isNumber: true, text: flips },
      { title: "Verdict", isLong: true, text: verdict },
      { title: "Actions", actions: (row) => this._actions(row.name),
        update: (cell, row) => { for (const one of cell.children) one.hidden = row.isChampion; } },
    ]);
  }

  show(point) {
    const rows = members(point).map((name, n) => ({
      name,
      isChampion: n === 0,
      figures: rolling(point, name),
      weights: n === 0 ? point.weights : point.challengers[name].weights,
      against: n === 0 ? null : point.challengers[name].against_champion,
    }));
    this.table.show(rows, (row) => row.name);
  }

  _actions(member) {
    return [
      button("Promote", `Promote ${member}`, () => this._promote(member)),
      button("Drop", `Drop ${member}`, () => this._drop(member)),
    ];
  }

  async _promote(member) {
    const text = `Let ${member} answer for ${this.name}? The champion goes on as a challenger, ` +
      "so that it can be promoted again.";
    if (!(await confirmed(text, "Promote"))) return;
    const path = `models/${this.name}/challengers/${member}/promote`;
    await this.act(() => ask("POST", path), `${member} is the champion now.`);
  }

  async _drop(member) {
    const text = `Drop the challenger ${member} of ${this.name}? What it has learned is lost.`;
    if (!(await confirmed(text, "Drop"))) return;
    await this.act(() => ask("DELETE", `models/${this.name}/challengers/${member}`),
      `${member} is dropped.`);
  }
}

const rough = (value) => number(Number(value.toPrecision(2)));

function gain({ against }) {
  if (!isNumber(against?.gain)) return "–";
  return `${rough(against.gain)} ± ${rough(against.standard_error)}`;
}

function flips({ against }) {
  return against?.rows ? `${count(against.lost)}, ${count(against.won)}` : "–";
}

function verdict({ isChampion, against }) {
  if (isChampion) return "is the champion";
  if (!against?.rows) return "no rows yet";
  const text = against.is_better ? "better by more than chance" : "not shown to be better";
  return `${text}, on ${count(against.rows)} rows`;
}
