// The strongest features.

import { ask } from "./api.js";
import { by, count, largest, setText, signed } from "./dom.js";
import { Table } from "./table.js";

const PAUSE = 300; // milliseconds without a key, until a search begins
const SHOWN = 100;

export class Features {
  // attempt(work) says what went wrong
  constructor(attempt) {
    this.attempt = attempt;
    by("search").addEventListener("submit", (event) => {
      event.preventDefault();
      this.load();
    });
    by("search-text").addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.load(), PAUSE);
    });
  }

  open(name, several) {
    this.name = name;
    by("search-text").value = "";
    setText(by("features-found"), "");
    this.table = new Table(by("features"), "Features by the size of their weights", [
      { title: "Feature", isName: true, text: (row) => row.feature },
      ...(several ? [{ title: "Class", isText: true, text: (row) => String(row.class) }] : []),
      { title: "Weight", text: (row) => signed(row.weight), bar: (row) => row.share },
      { title: "Occurrences", isNumber: true, text: (row) => count(row.count) },
    ]);
    this.load();
  }

  load() {
    const { name } = this, search = by("search-text").value;
    const query = new URLSearchParams({ top: SHOWN, ...(search ? { search } : {}) });
    return this.attempt(async () => {
      const found = await ask("GET", `models/${name}/features?${query}`);
      if (name !== this.name || search !== by("search-text").value) return;
      const most = largest(found.features, (one) => one.weight);
      this.table.show(found.features.map((one, n) =>
        ({ ...one, key: n, share: one.weight / most })));
      const n = found.found, shown = found.features.length;
      const few = n > shown ? `, the strongest ${count(shown)}` : "";
      const at = new Date().toLocaleTimeString("en-GB");
      const what = n === 1 ? "weight" : "weights";
      setText(by("features-found"), `${count(n)} ${what}${few}, as of ${at}.`);
    });
  }
}
