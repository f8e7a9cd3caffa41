// Why a row is predicted as it is.

import { ask } from "./api.js";
import { by, largest, make, number, percent, signed } from "./dom.js";
import { Table } from "./table.js";

const MOST_NAMED = 100;

export class Why {
  constructor(attempt) {
    by("explain").addEventListener("submit", (event) => {
      event.preventDefault();
      this._show("Explaining …");
      attempt(() => this._explain().catch((error) => {
        this._show("");
        throw error;
      }));
    });
  }

  open(name, classes) {
    this.name = name;
    this.classes = classes;
    this._show("");
  }

  // Text in the place of an explanation.
  _show(text) {
    by("explained").replaceChildren(text);
    by("parts-region").hidden = true;
  }

  async _explain() {
    const { name } = this, more = { body: by("row").value, kind: by("row-format").value };
    const found = await ask("POST", `models/${name}/explain`, more);
    if (name !== this.name) return;
    const shown = found.scores ? ofSeveral(found) : ofOne(found, this.classes);
    const rest = found.without_weight, others = rest.length > MOST_NAMED ? ", …" : "";
    by("explained").replaceChildren(
      make("p", {}, ...shown.sentence),
      make("p", { class: "hint" }, `Contributions and the intercept, ${number(shown.intercept)}, ` +
        `add up to the score, ${number(shown.score)}. ${shown.towards}`),
      ...(rest.length ? [make("p", { class: "hint", dir: "auto" },
        `Without a weight: ${rest.slice(0, MOST_NAMED).join(", ")}${others}.`)] : []),
    );
    const most = largest(shown.rows, (row) => row.contribution);
    by("parts-region").hidden = false;
    new Table(by("parts"), "Features of the row, the strongest first", [
      { title: "Feature", isName: true, text: (row) => row.feature },
      { title: "Value", isNumber: true, text: (row) => number(row.value) },
      { title: "Weight", isNumber: true, text: (row) => signed(row.weight) },
      { title: "Contribution", text: (row) => signed(row.contribution),
        bar: (row) => row.contribution / most },
    ]).show(shown.rows);
  }
}

const strong = (text) => make("strong", { dir: "auto" }, text);

// Two classes have one score, that of the second; numbers are their score.
function ofOne(found, classes) {
  const { score, intercept, probability, features: rows } = found;
  if (found.label === null) {
    const sentence = ["Predicted: ", strong(number(score)), "."];
    return { score, intercept, rows, towards: "", sentence };
  }
  const second = String(classes[1]);
  const sentence = ["Predicted: ", strong(found.label)];
  if (probability !== null) {
    sentence.push("; the probability of ", strong(second), ` is ${percent(probability)}`);
  }
  const towards = `What is above 0 speaks for ${second}.`;
  return { score, intercept, rows, towards, sentence: [...sentence, "."] };
}

// Of several classes: what speaks for the one that is predicted, and not for the next best.
function ofSeveral(found) {
  const order = Object.keys(found.scores).sort((a, b) => found.scores[b] - found.scores[a]);
  const [best, next] = order;
  const beside = (numbers) => numbers[best] - numbers[next];
  const sentence = ["Predicted: ", strong(found.label)];
  if (found.probabilities) {
    sentence.push(`, with a probability of ${percent(found.probabilities[best])}`);
  }
  sentence.push("; the next best is ", strong(next), ".");
  return {
    sentence,
    score: beside(found.scores),
    intercept: beside(found.intercepts),
    towards: `All numbers are those of ${best} less those of ${next}.`,
    rows: found.features.map((one) =>
      ({ ...one, weight: beside(one.weights), contribution: beside(one.contributions) })),
  };
}
