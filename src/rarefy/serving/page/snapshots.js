// Snapshots: what has changed since, and the way back.

import { ask, confirmed } from "./api.js";
import { button, by, count, largest, number, setText, signed, time } from "./dom.js";
import { Table, ofClasses } from "./table.js";

export class Snapshots {
  constructor(act, attempt) {
    this.act = act;
    this.attempt = attempt;
    by("snapshot").addEventListener("click", () => this._write());
  }

  open(name) {
    this.name = name;
    by("diff").hidden = true;
    this.table = new Table(by("snapshots"), "Snapshots, the newest first", [
      { title: "Written", isName: true, text: (row) => time(row.at) },
      { title: "Entry of the log", isNumber: true, text: (row) => count(row.seq) },
      { title: "Champion", text: (row) => row.champion },
      { title: "Examples", isNumber: true,
        text: (row) => count(row.members[row.champion]?.examples) },
      { title: "Actions", actions: (row) => this._actions(row, `snapshot of ${time(row.at)}`) },
    ]);
    this.load();
  }

  load() {
    const { name } = this;
    return this.attempt(async () => {
      const found = await ask("GET", `models/${name}/snapshots`);
      if (name !== this.name) return;
      this.table.show(found.snapshots, (one) => one.seq);
    });
  }

  _actions(row, name) {
    return [
      button("Compare", `Compare with the ${name}`, () => this._compare(row)),
      button("Roll back", `Roll back to the ${name}`, () => this._rollBack(row)),
    ];
  }

  async _write() {
    await this.act(() => ask("POST", `models/${this.name}/snapshots`), "A snapshot is written.");
    await this.load();
  }

  async _rollBack(row) {
    const text = `Let the champion of ${this.name} be what it was on ${time(row.at)}? ` +
      "Challengers stay as they are, and what was learned since stays in the log.";
    if (!(await confirmed(text, "Roll back"))) return;
    await this.act(() => ask("POST", `models/${this.name}/snapshots/${row.seq}/rollback`),
      `${this.name} is what it was on ${time(row.at)}.`);
    await this.load();
  }

  _compare(row) {
    const { name } = this;
    return this.attempt(async () => {
      const found = await ask("GET", `models/${name}/snapshots/${row.seq}/diff`);
      if (name !== this.name) return;
      const { came, went, changed, same } = found.counts;
      setText(by("diff-title"), `Now, against ${time(row.at)}`);
      setText(by("diff-counts"), `Weights that came: ${count(came)}, went: ${count(went)}, ` +
        `changed: ${count(changed)}, stayed the same: ${count(same)}. All sizes add up to ` +
        `${number(found.mass.new)}, before to ${number(found.mass.old)}.`);
      const most = largest(found.features, (one) => one.new - one.old);
      new Table(by("diff-features"), "Weights that changed most", [
        { title: "Feature", isName: true, text: (one) => one.feature },
        ...ofClasses(found.features),
        { title: "Then", isNumber: true, text: (one) => number(one.old) },
        { title: "Now", isNumber: true, text: (one) => number(one.new) },
        { title: "Change", text: (one) => signed(one.new - one.old),
          bar: (one) => (one.new - one.old) / most },
      ]).show(found.features);
      by("diff").hidden = false;
      by("diff-title").focus();
    });
  }
}
