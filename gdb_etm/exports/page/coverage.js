// Source files with how much of them was seen, and the source of one with counts.
class CoverageView {
  constructor(report) {
    this.files = report.coverage;
    this.list = new VirtualList(document.getElementById("source-list"), (row) => this.element(row));
    document.getElementById("coverage-hint").textContent =
      `Seen in ${numberText(report.instructions)} instructions; what is not counted was not seen.`;
    const ratio = ([seen, all]) => (all ? seen / all : 0);
    const show = (name) => (value, row) =>
      row[4][name][1] ? `${row[4][name].join("/")}  ${percentText(...row[4][name])}` : "";
    const columns = [
      ["file", false, (value, row) => this.button(row[4])],
      ["lines", true, show("lines")],
      ["branches", true, show("branches")],
      ["functions", true, show("functions")],
    ];
    const rows = this.files.map((file) => [file.path, ratio(file.lines), ratio(file.branches), ratio(file.functions), file]);
    sortedTable(document.getElementById("coverage-table"), columns, rows, 0);
    const seen = this.files.filter((file) => file.source.length);
    if (seen.length) this.open(seen.reduce((most, file) => (file.lines[0] > most.lines[0] ? file : most)));
    else this.list.box.hidden = true;
  }

  button(file) {
    if (!file.source.length) return file.path;
    const made = make("button", "link", file.path);
    made.type = "button";
    made.addEventListener("click", () => this.open(file));
    return made;
  }

  open(file) {
    this.file = file;
    this.counts = new Map(file.counts.map((one) => [one[0], one]));
    document.getElementById("source-name").textContent = file.path;
    this.list.selected = -1;
    this.list.setCount(file.source.length);
    const first = file.counts.find((one) => one[1] > 0);
    if (first) this.list.show(first[0] - 1);
  }

  element(row) {
    const [, times, branches] = this.counts.get(row + 1) || [row + 1, undefined, []];
    const count = times === undefined ? "" : times ? numberText(times) : "-";
    const ways = branches.map((one) => one.map((way) => (way ? numberText(way) : "never seen")));
    return make(
      "div",
      times === undefined ? "" : times ? "seen" : "unseen",
      make("span", "weak", count.padStart(10)),
      make("span", "weak", String(row + 1).padStart(5) + " "),
      make("span", "", this.file.source[row].replaceAll("\t", "    ")),
      make("span", "value", ways.map(([taken, not]) => `branch: taken ${taken}, not taken ${not}`).join("; ")),
    );
  }
}
