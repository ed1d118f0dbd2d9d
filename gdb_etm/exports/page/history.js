// Every executed instruction, made of blocks when it is looked at, and the lines between them.
class History {
  constructor(report) {
    this.part = report.history;
    this.columns = report.columns;
    this.instructions = report.instructions;
    this.values = new Map(report.values);
    this.failed = new Set(report.failed);
    const { order, blockCount } = this.columns;
    // How many instructions ran before each block, and in all.
    this.before = new Uint32Array(order.length + 1);
    for (let at = 0; at < order.length; at++) this.before[at + 1] = this.before[at] + blockCount[order[at]];
    // The row of each event: all instructions and events before it have one.
    this.eventRows = this.columns.eventAfter.map((after, at) => after + at);
    this.list = new VirtualList(document.getElementById("history-list"), (row) => this.element(row));
    this.list.setCount(this.instructions + this.eventRows.length);
    this.list.show(this.list.count - 1);
    const input = document.getElementById("history-number");
    const go = () => this.go(Number(input.value));
    document.getElementById("history-go").addEventListener("click", go);
    input.addEventListener("keydown", (event) => event.key === "Enter" && go());
    document.getElementById("history-end").addEventListener("click", () => this.go(this.instructions));
  }

  // The number of the instruction in a row, or the text of an event.
  at(row) {
    const events = countUpTo(this.eventRows, row);
    if (events && this.eventRows[events - 1] === row) {
      return { text: this.part.events[this.columns.eventText[events - 1]] };
    }
    return { number: row - events + 1 };
  }

  // What an instruction is: address, symbol, text, place, whether the target holds other code.
  code(number) {
    const block = countUpTo(this.before, number - 1) - 1;
    const first = this.columns.blockFirst[this.columns.order[block]];
    return this.part.code[first + number - 1 - this.before[block]];
  }

  element(row) {
    const { number, text } = this.at(row);
    if (number === undefined) return make("div", "event", make("span", "", text));
    const [address, symbol, words, place, isDoubtful] = this.code(number);
    const width = numberText(this.instructions).length;
    const hex = "0x" + address.toString(16).padStart(8, "0");
    const name = this.part.symbols[symbol];
    const cells = [
      make("span", "weak", numberText(number).padStart(width) + (isDoubtful ? " !" : "  ")),
      make("span", "", (name ? `${hex} <${name}>` : hex).padEnd(36)),
      make("span", "", (words + (this.failed.has(number) ? "   [condition failed]" : "")).padEnd(34)),
    ];
    const value = this.values.get(number) || "";
    if (this.values.size) cells.push(make("span", "value", value.padEnd(28)));
    // A source line is told where it begins.
    if (number === 1 || this.code(number - 1)[3] !== place) {
      const [where, source] = this.part.places[place];
      cells.push(make("span", "weak", where.padEnd(16)), make("span", "", source));
    }
    return make("div", "", ...cells);
  }

  // Show an instruction.
  go(number) {
    if (!(number >= 1 && number <= this.instructions)) return;
    const row = number - 1 + countUpTo(this.columns.eventAfter, number - 1);
    this.list.show(row);
    document.getElementById("history").scrollIntoView();
    this.list.box.focus({ preventScroll: true });
  }
}
