// The page: the list of models, and all about the one in the address, #/NAME.

import { Refusal, ask, askForToken, events } from "./api.js";
import { by, count, number, percent, setText } from "./dom.js";
import { Features } from "./features.js";
import { KEPT, Live } from "./live.js";
import { Members } from "./members.js";
import { Snapshots } from "./snapshots.js";
import { Table } from "./table.js";
import { Why } from "./why.js";

const AGAIN = 2000; // milliseconds until a lost connection is tried again

const BEATS = 10; // between looks at what is not in the figures, such as classes and problems

function say(text) {
  setText(by("said"), text);
  by("dismiss").hidden = !text;
}

async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (error.name !== "AbortError") say(`That did not work: ${error.message}`);
    return undefined;
  }
}

const act = (work, text) => attempt(async () => {
  await work();
  say(text);
  await loadModels();
});

const list = new Table(by("models"), "Models, live", [
  { title: "Name", isName: true, href: (row) => `#/${row.name}`, text: (row) => row.name },
  { title: "Loss", isNumber: true, text: (row) => number(row.figures.loss) },
  { title: "Right", isNumber: true, text: (row) => percent(row.figures.accuracy) },
  { title: "Rows/s", isNumber: true, text: (row) => count(row.speed) },
]);
const live = new Live();
const members = new Members(act);
const features = new Features(attempt);
const why = new Why(attempt);
const snapshots = new Snapshots(act, attempt);

let models = new Map(); // what the service says of each, by name
let latest = {}; // points by name
let beats = 0;
let chosen = null;
let points = []; // of the model that is chosen

async function loadModels() {
  const found = await ask("GET", "models");
  models = new Map(found.models.map((one) => [one.name, one]));
  by("no-models").hidden = models.size > 0;
  by("models-region").hidden = models.size === 0;
  showList();
  if (models.get(chosen)?.ready) showAbout();
}

function showList() {
  const rows = [...models.values()].map(({ name, figures }) => ({
    name,
    isChosen: name === chosen,
    figures: latest[name]?.rolling ?? figures ?? {},
    speed: latest[name]?.learned_per_second,
  }));
  list.show(rows, (row) => row.name);
}

function showAbout() {
  const model = models.get(chosen), classes = model.classes ?? [];
  const isShort = classes.length <= 10;
  const names = classes.length ? `classes ${classes.join(", ")}` : "no classes yet";
  const said = isShort ? names : `${count(classes.length)} classes`;
  const examples = latest[chosen]?.examples ?? model.examples;
  setText(by("about"), `${model.task === "regression" ? "Predicts numbers" : said}; champion ` +
    `${model.champion}; rule ${model.rule}; ${count(examples)} examples learned.`);
  const problem = model.diverged ?? model.problem;
  by("problem").hidden = !problem;
  setText(by("problem"), problem ?? "");
}

async function open(name) {
  const model = models.get(name);
  chosen = model?.ready ? name : null;
  points = [];
  showList();
  by("of-model").hidden = !chosen;
  document.title = chosen ? `${name} · rarefy` : "rarefy";
  const missing = model ? `${name} is not ready yet` : `There is no model ${name}`;
  setText(by("model-title"), chosen ?? (name ? missing : "No model is chosen"));
  if (!chosen) return;
  showAbout();
  live.open();
  members.open(name, model.task);
  features.open(name);
  why.open(name, model.classes);
  snapshots.open(name);
  await attempt(loadHistory);
}

async function loadHistory() {
  const name = chosen;
  if (!name) return;
  const found = await ask("GET", `models/${name}/history`);
  if (name !== chosen) return;
  points = found.points.filter((point) => point.rolling);
  showPoints();
}

function showPoints() {
  if (!points.length) return;
  live.show(points);
  members.show(points.at(-1));
}

// The model in the address; without one, the first.
const named = () => location.hash.replace(/^#\/?/, "") || ([...models.keys()][0] ?? "");

// --- what comes once a second ----------------------------------------------------------------

async function pulse({ models: found }) {
  latest = found;
  const areOthers = Object.keys(found).sort().join() !== [...models.keys()].sort().join();
  const isReadyNow = !chosen && found[named()]?.rolling;
  beats += 1;
  if (areOthers || isReadyNow || beats % BEATS === 0) {
    await loadModels();
    if (!models.has(chosen)) await open(named());
  }
  showList();
  const point = found[chosen], before = points.at(-1);
  if (!point?.rolling || point.at <= before?.at) return;
  points = [...points, point].slice(-KEPT);
  showAbout();
  showPoints();
  if (before) await notice(before, point);
}

async function notice(before, point) {
  const alarm = point.drifts.findLast((one) => !before.drifts.includes(one));
  if (alarm) say(`Drift alarm: the loss of ${chosen} rose, at example ${count(alarm)}.`);
  if (point.champion !== before.champion) await loadModels();
  if (point.since_snapshot.rows < before.since_snapshot.rows) await snapshots.load();
}

let connection = null;

// While the page can be seen; a page that is hidden costs nothing.
async function listen() {
  connection?.abort();
  if (document.hidden) return;
  const mine = new AbortController();
  connection = mine;
  while (!mine.signal.aborted) {
    try {
      await loadModels();
      if (chosen) await loadHistory();
      else await open(named());
      for await (const found of events("events", mine.signal)) {
        setText(by("connection"), "Live");
        await pulse(found);
      }
    } catch (error) {
      if (mine.signal.aborted) return;
      if (error instanceof Refusal && [401, 403].includes(error.status)) {
        setText(by("connection"), "A token is needed");
        return;
      }
    }
    setText(by("connection"), "Not connected; trying again");
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
  }
}

by("skip").addEventListener("click", (event) => {
  event.preventDefault();
  by("model").focus();
});
by("dismiss").addEventListener("click", () => {
  say("");
  by("model").focus();
});
by("give-token").addEventListener("click", async () => {
  if (await askForToken("Another token may do more, or less.")) listen();
});
window.addEventListener("hashchange", () => {
  say("");
  open(named());
  by("model").focus();
});
document.addEventListener("visibilitychange", listen);
listen();
