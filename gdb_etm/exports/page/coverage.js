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
    const seen = this.files.filter((file) => file.lines[0]);
    if (seen.length) this.open(seen.reduce((most, file) => (file.lines[0] > most.lines[0] ? file : most)));
    else this.list.box.hidden = true;
  }

  button(file) {
    if (!file.lines[0]) return file.path;
    const made = make("button", "link", file.path);
    made.type = "button";
    made.addEventListener("click", () => this.open(file));
    return made;
  }

  open(file) {
    this.counts = new Map(file.counts.map((one) => [one[0], one]));
    // Lines with code count where there is no text, too.
    const behind = file.counts.filter((one) => one[0] > file.source.length);
    this.rows = [...file.source.map((text, row) => [row + 1, text]), ...behind.map((one) => [one[0], ""])];
    document.getElementById("source-name").textContent = file.note ? `${file.path} (${file.note})` : file.path;
    this.list.selected = -1;
    this.list.setCount(this.rows.length);
    const first = this.rows.findIndex((row) => (this.counts.get(row[0]) || [0, 0])[1] > 0);
    if (first >= 0) this.list.show(first);
  }

  element(row) {
    const [line, text] = this.rows[row];
    const [, times, branches] = this.counts.get(line) || [line, undefined, []];
    const count = times === undefined ? "" : times ? numberText(times) : "-";
    const ways = branches.map((one) => one.map((way) => (way ? numberText(way) : "never seen")));
    return make(
      "div",
      times === undefined ? "" : times ? "seen" : "unseen",
      make("span", "weak", count.padStart(10)),
      make("span", "weak", String(line).padStart(5) + " "),
      make("span", "", text.replaceAll("\t", "    ")),
      make("span", "value", ways.map(([taken, not]) => `branch: taken ${taken}, not taken ${not}`).join("; ")),
    );
  }
}
