// The call tree, callers before callees: folding hides what is deeper, up to the next that is not.
class Calls {
  constructor(report, history) {
    this.part = report.calls;
    this.history = history;
    this.depth = report.columns.callDepth;
    this.name = report.columns.callName;
    this.first = report.columns.callFirst;
    this.total = report.columns.callTotal;
    this.folded = new Uint8Array(this.depth.length).fill(1);
    this.matches = [];
    this.isMatch = new Set();
    const toCall = (row) => this.visible[row];
    this.list = new VirtualList(document.getElementById("call-list"), (row) => this.element(toCall(row)), {
      ArrowRight: (row) => this.fold(toCall(row), 0),
      ArrowLeft: (row) => this.left(toCall(row)),
      Enter: (row) => this.history.go(this.first[toCall(row)]),
    });
    this.list.box.addEventListener("dblclick", () => {
      if (this.list.selected >= 0) this.history.go(this.first[toCall(this.list.selected)]);
    });
    this.connect();
    this.update();
    if (this.depth.length) this.show(this.part.end);
  }

  connect() {
    const on = (id, name, act) => document.getElementById(id).addEventListener(name, act);
    on("call-search", "input", (event) => this.search(event.target.value));
    on("call-search", "keydown", (event) => event.key === "Enter" && this.step(event.shiftKey ? -1 : 1));
    on("call-before", "click", () => this.step(-1));
    on("call-next", "click", () => this.step(1));
    on("call-unfold", "click", () => this.foldAll(0));
    on("call-fold", "click", () => this.foldAll(1));
  }

  hasCallees(call) {
    return call + 1 < this.depth.length && this.depth[call + 1] > this.depth[call];
  }

  // Find what is in no folded call.
  update() {
    const visible = [];
    let hidden = Infinity;
    for (let call = 0; call < this.depth.length; call++) {
      if (this.depth[call] > hidden) continue;
      visible.push(call);
      hidden = this.folded[call] ? this.depth[call] : Infinity;
    }
    this.visible = Uint32Array.from(visible);
    this.list.setCount(visible.length);
  }

  caller(call) {
    let up = call - 1;
    while (up >= 0 && this.depth[up] >= this.depth[call]) up--;
    return up;
  }

  // Unfold the callers of a call, and select it.
  show(call) {
    for (let up = this.caller(call); up >= 0; up = this.caller(up)) this.folded[up] = 0;
    this.update();
    this.list.show(countUpTo(this.visible, call) - 1);
  }

  fold(call, folded) {
    this.folded[call] = folded;
    this.update();
    this.list.show(countUpTo(this.visible, call) - 1);
  }

  foldAll(folded) {
    this.folded.fill(folded);
    this.update();
    if (this.depth.length) this.list.show(0);
  }

  // Fold a call, or go to its caller.
  left(call) {
    if (this.hasCallees(call) && !this.folded[call]) this.fold(call, 1);
    else if (this.caller(call) >= 0) this.show(this.caller(call));
  }

  search(text) {
    const wanted = text.trim().toLowerCase();
    const named = this.part.names.map((name) => wanted !== "" && name.toLowerCase().includes(wanted));
    this.matches = [];
    this.name.forEach((name, call) => named[name] && this.matches.push(call));
    this.isMatch = new Set(this.matches);
    this.tell(wanted === "" ? "" : `${numberText(this.matches.length)} found`);
    this.list.draw();
  }

  // Show the next that was found, or the one before; after the last comes the first.
  step(direction) {
    const count = this.matches.length;
    if (!count) return;
    const here = this.list.selected >= 0 ? this.visible[this.list.selected] : -1;
    const upTo = countUpTo(this.matches, here);
    const at = direction > 0 ? upTo : upTo - 1 - (this.matches[upTo - 1] === here ? 1 : 0);
    const found = (at + count) % count;
    this.show(this.matches[found]);
    this.tell(`${numberText(found + 1)} of ${numberText(count)}`);
  }

  tell(text) {
    document.getElementById("call-found").textContent = text;
  }

  element(call) {
    const sign = make("button", "link", !this.hasCallees(call) ? " " : this.folded[call] ? "\u25b8" : "\u25be");
    sign.type = "button";
    sign.tabIndex = -1;
    sign.setAttribute("aria-label", this.folded[call] ? "unfold" : "fold");
    sign.addEventListener("click", (event) => {
      event.stopPropagation();
      this.fold(call, 1 - this.folded[call]);
    });
    const row = make(
      "div",
      (this.isMatch.has(call) ? "match " : "") + (call === this.part.end ? "end" : ""),
      make("span", "weak", ("#" + numberText(this.first[call])).padEnd(numberText(this.history.instructions).length + 1)),
      make("span", "weak", numberText(this.total[call]).padStart(10)),
      make("span", "", "  ".repeat(Math.min(this.depth[call], 60)), sign),
      make("span", "name", this.part.names[this.name[call]]),
    );
    row.setAttribute("aria-level", this.depth[call] + 1);
    return row;
  }
}
