// Tables that are brought up to date in place, so that focus and selection stay where they are.

import { make, makeSvg, setText } from "./dom.js";

// A column has a title and text, maybe with href or bar (a share of the longest, -1 to 1), or else
// actions (elements, made once for a row); update(cell, row) does anything else. isName: it heads
// the row; isNumber: it is set to the right; isLong: it has several words; isText: in any script.
export class Table {
  constructor(element, caption, columns) {
    this.columns = columns;
    this.lines = new Map(); // by key
    this.body = make("tbody");
    const heads = columns.map((one) =>
      make("th", { scope: "col", class: kind(one) }, one.title));
    const title = make("caption", {}, caption);
    element.replaceChildren(title, make("thead", {}, make("tr", {}, ...heads)), this.body);
  }

  // Rows of the same key stay the same row, as each of them may be on its way to be clicked.
  show(rows, keyOf = (row, n) => n) {
    const keys = rows.map(keyOf);
    for (const [key, line] of this.lines) {
      if (!keys.includes(key)) {
        line.element.remove();
        this.lines.delete(key);
      }
    }
    let at = this.body.firstChild;
    rows.forEach((row, n) => {
      const line = this.lines.get(keys[n]) ?? new Line(this.columns, row);
      this.lines.set(keys[n], line);
      line.show(row);
      if (line.element === at) at = at.nextSibling;
      else this.body.insertBefore(line.element, at);
    });
  }
}

// A column for the class of a weight, where there are several.
export function ofClasses(rows) {
  const are = rows.some((row) => row.class !== undefined);
  return are ? [{ title: "Class", isText: true, text: (row) => String(row.class) }] : [];
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
