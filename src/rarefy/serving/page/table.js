// Tables that are brought up to date in place, so that focus and selection stay where they are.

import { make, makeSvg, setText } from "./dom.js";

// A column has a title and text, maybe with href or bar (a share of the longest, -1 to 1), or else
// actions (elements, made once for a row); update(cell, row) does anything else. isName: it heads
// the row; isNumber: it is set to the right; isLong: it has several words; isText: in any script.
export class Table {
  constructor(element, caption, columns) {
    this.element = element;
    this.columns = columns;
    this.rows = new Map();
    this.body = make("tbody");
    const heads = columns.map((one) =>
      make("th", { scope: "col", class: kind(one) }, one.title));
    const title = make("caption", {}, caption);
    element.replaceChildren(title, make("thead", {}, make("tr", {}, ...heads)), this.body);
  }

  // Each row has a key of its own.
  show(rows) {
    const keys = new Set(rows.map((row) => row.key));
    for (const [key, line] of this.rows) {
      if (!keys.has(key)) {
        line.element.remove();
        this.rows.delete(key);
      }
    }
    let at = this.body.firstChild;
    for (const row of rows) {
      let line = this.rows.get(row.key);
      if (!line) {
        line = new Line(this.columns, row);
        this.rows.set(row.key, line);
      }
      line.show(row);
      if (line.element === at) at = at.nextSibling;
      else this.body.insertBefore(line.element, at);
    }
  }
}

function kind(column) {
  if (column.isNumber || column.bar) return "number";
  return column.isLong ? "words" : "";
}

class Line {
  constructor(columns, row) {
    this.cells = columns.map((column) => new Cell(column, row));
    this.element = make("tr", {}, ...this.cells.map((cell) => cell.element));
  }

  show(row) {
    this.element.classList.toggle("chosen", Boolean(row.isChosen));
    for (const cell of this.cells) cell.show(row);
  }
}

class Cell {
  constructor(column, row) {
    this.column = column;
    this.element = column.isName
      ? make("th", { scope: "row", dir: "auto" })
      : make("td", { class: kind(column), ...(column.isText ? { dir: "auto" } : {}) });
    this.text = this.element;
    if (column.href) {
      this.text = make("a");
      this.element.append(this.text);
    } else if (column.bar) {
      this.text = make("span");
      this.rect = makeSvg("rect", { y: 1, height: 8 });
      const line = makeSvg("line", { x1: 30, x2: 30, y1: 0, y2: 10 });
      const svg = makeSvg("svg", { class: "bar", viewBox: "0 0 60 10", "aria-hidden": "true" });
      svg.append(this.rect, line);
      this.element.append(this.text, svg);
    } else if (column.actions) {
      this.element.append(...column.actions(row));
    }
  }

  show(row) {
    const { column } = this;
    if (column.text) setText(this.text, column.text(row));
    if (column.href) {
      this.text.setAttribute("href", column.href(row));
      if (row.isChosen) this.text.setAttribute("aria-current", "page");
      else this.text.removeAttribute("aria-current");
    }
    if (column.bar) {
      const size = Math.max(-1, Math.min(1, column.bar(row) || 0));
      this.rect.setAttribute("x", size < 0 ? 30 + 30 * size : 30);
      this.rect.setAttribute("width", 30 * Math.abs(size));
      this.rect.setAttribute("class", size < 0 ? "negative" : "positive");
    }
    if (column.update) column.update(this.element, row);
  }
}
