// The profile as a flame graph, callers above: a box is as wide as its cost with that of what it called.
class Flame extends Chart {
  constructor(report) {
    super("flame-canvas");
    this.part = report.profile;
    this.read();
    this.root = this.selected = 0;
    this.canvas.addEventListener("pointermove", (event) => this.tell(this.at(event.offsetX, event.offsetY)));
    this.canvas.addEventListener("click", (event) => {
      const found = this.at(event.offsetX, event.offsetY);
      if (found >= 0) this.zoom(found);
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.redraw();
  }

  // Nodes come callers first; each holds what follows it and is deeper.
  read() {
    this.nodes = this.part.nodes.map(([depth, name, calls, own]) => ({ depth, name, calls, own, total: own, children: [] }));
    const open = [];
    this.nodes.forEach((node, at) => {
      node.parent = node.depth ? open[node.depth - 1] : -1;
      open[node.depth] = at;
      if (node.parent >= 0) this.nodes[node.parent].children.push(at);
    });
    for (let at = this.nodes.length - 1; at > 0; at--) this.nodes[this.nodes[at].parent].total += this.nodes[at].total;
    this.nodes[0].name = "all";
    this.deepest = this.nodes.reduce((most, node) => Math.max(most, node.depth), 0);
  }

  height() {
    return (Math.min(this.deepest, DEEPEST) + 1) * LANE + 2;
  }

  // Boxes in sight: those of the callers are as wide as all.
  draw() {
    this.drawn = [];
    for (let up = this.nodes[this.root].parent; up >= 0; up = this.nodes[up].parent) this.put(up, 0, this.width);
    const todo = [[this.root, 0, this.width]];
    while (todo.length) {
      const [at, left, right] = todo.pop();
      if (right - left < 0.5 || this.nodes[at].depth > DEEPEST) continue;
      this.put(at, left, right);
      let x = left;
      for (const child of this.nodes[at].children) {
        const width = (this.nodes[child].total / (this.nodes[at].total || 1)) * (right - left);
        todo.push([child, x, x + width]);
        x += width;
      }
    }
  }

  put(at, left, right) {
    const top = this.nodes[at].depth * LANE + 1;
    this.drawn.push({ at, left, right, top });
    this.box(left, top, right, this.nodes[at].name, at === this.selected);
  }

  at(x, y) {
    const found = (this.drawn || []).find((one) => x >= one.left && x < one.right && y >= one.top && y < one.top + LANE);
    return found ? found.at : -1;
  }

  tell(at) {
    const node = this.nodes[at];
    this.note.textContent = node
      ? `${node.name}: ${numberText(node.total)} ${this.part.unit}, ${percentText(node.total, this.part.total)}; ` +
        `own ${numberText(node.own)}; calls ${numberText(node.calls)}`
      : "";
  }

  zoom(at) {
    this.root = at;
    this.select(at);
  }

  select(at) {
    this.selected = at;
    this.tell(at);
    this.redraw();
  }

  key(event) {
    const node = this.nodes[this.selected];
    const siblings = node.parent >= 0 ? this.nodes[node.parent].children : [0];
    const here = siblings.indexOf(this.selected);
    const acts = {
      ArrowDown: () => node.children.length && this.select(node.children[0]),
      ArrowUp: () => node.parent >= 0 && this.select(node.parent),
      ArrowLeft: () => here > 0 && this.select(siblings[here - 1]),
      ArrowRight: () => here + 1 < siblings.length && this.select(siblings[here + 1]),
      Enter: () => this.zoom(this.selected),
      Escape: () => this.zoom(0),
    };
    if (!(event.key in acts)) return;
    acts[event.key]();
    event.preventDefault();
  }
}

// A table that sorts by a column whose head is pressed; a second time the other way.
// Columns are [title, whether it is a number, the cell's content of a value, with its row].
function sortedTable(table, columns, rows, by) {
  const body = make("tbody", "");
  const heads = columns.map(([title, isNumber], at) => {
    const button = make("button", "", title);
    button.type = "button";
    button.addEventListener("click", () => sort(at, table.dataset.by === String(at) && table.dataset.falls === "1" ? -1 : 1));
    const head = make("th", isNumber ? "number" : "", button);
    head.scope = "col";
    return head;
  });
  // Numbers fall first, and texts rise.
  const sort = (at, direction) => {
    const isNumber = columns[at][1];
    const order = (one, other) => (isNumber ? (other[at] ?? -1) - (one[at] ?? -1) : one[at].localeCompare(other[at]));
    rows.sort((one, other) => direction * order(one, other));
    table.dataset.by = at;
    table.dataset.falls = direction > 0 ? "1" : "0";
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[at].setAttribute("aria-sort", isNumber === direction > 0 ? "descending" : "ascending");
    body.replaceChildren(
      ...rows.map((row) =>
        make("tr", "", ...columns.map(([, isNumber, show], at) => make("td", isNumber ? "number" : "", show(row[at], row)))),
      ),
    );
  };
  table.append(make("thead", "", make("tr", "", ...heads)), body);
  sort(by, 1);
}

function profileTable(part) {
  const plain = (value) => (value === null ? "" : numberText(value));
  const share = (value) => percentText(value, part.total);
  const columns = [
    ["function", false, (value) => value],
    ["calls", true, plain],
    ["own", true, plain],
    ["share", true, share],
    ["with callees", true, plain],
    ["share", true, share],
    ["min", true, plain],
    ["median", true, plain],
    ["max", true, plain],
  ];
  const rows = part.functions.map(([name, calls, own, all, ...spread]) => [name, calls, own, own, all, all, ...spread]);
  sortedTable(document.getElementById("profile-table"), columns, rows, 2);
  document.getElementById("profile-unit").textContent =
    `In ${part.unit}, ${numberText(part.total)} in all. A click on a box, or Enter, zooms; Escape shows all; arrow keys go ` +
    "from box to box. Handlers and threads are apart.";
}
