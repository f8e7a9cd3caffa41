// The strongest features.

import { ask } from "./api.js";
import { by, count, largest, setText, signed } from "./dom.js";
import { Table, ofClasses } from "./table.js";

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

  open(name) {
    this.name = name;
    by("search-text").value = "";
    by("features").replaceChildren();
    setText(by("features-found"), "");
    this.load();
  }

  load() {
    const { name } = this, search = by("search-text").value;
    const query = new URLSearchParams({ top: SHOWN, ...(search ? { search } : {}) });
    return this.attempt(async () => {
      const found = await ask("GET", `models/${name}/features?${query}`);
      if (name !== this.name || search !== by("search-text").value) return;
      const most = largest(found.features, (one) => one.weight);
      new Table(by("features"), "Features by the size of their weights", [
        { title: "Feature", isName: true, text: (row) => row.feature },
        ...ofClasses(found.features),
        { title: "Weight", text: (row) => signed(row.weight), bar: (row) => row.weight / most },
        { title: "Occurrences", isNumber: true, text: (row) => count(row.count) },
      ]).show(found.features);
      const n = found.found, shown = found.features.length;
      const few = n > shown ? `, the strongest ${count(shown)}` : "";
      const at = new Date().toLocaleTimeString("en-GB");
      const what = n === 1 ? "weight" : "weights";
      setText(by("features-found"), `${count(n)} ${what}${few}, as of ${at}.`);
    });
  }
}
