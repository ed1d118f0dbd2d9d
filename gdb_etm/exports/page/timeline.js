// Which functions were active when.  A track has a lane for each depth; the slices of a lane follow each other.
// Deeper calls are not drawn.
const DEEPEST = 64;
const TITLE = 20;
const AXIS = 22;

class Timeline extends Chart {
  constructor(report, history) {
    super("timeline-canvas");
    this.part = report.timeline;
    this.history = history;
    this.end = Math.max(1, report.instructions);
    this.tracks = this.read(report.columns);
    this.from = 0;
    this.to = this.end;
    this.selected = null;
    this.connect();
    this.redraw();
  }

  read({ time, track, timeName }) {
    const lanes = this.part.tracks.map(() => []);
    const open = this.part.tracks.map(() => []);
    for (let at = 0; at < time.length; at++) {
      const active = open[track[at]];
      if (!timeName[at]) {
        const { lane, index } = active.pop();
        lane.end[index] = time[at];
        continue;
      }
      const found = lanes[track[at]];
      const lane = (found[active.length] ||= { begin: [], end: [], name: [] });
      active.push({ lane, index: lane.begin.length });
      lane.begin.push(time[at]);
      lane.end.push(time[at]);
      lane.name.push(timeName[at]);
    }
    let top = AXIS;
    return lanes.map((found, number) => {
      const made = { name: this.part.tracks[number], top, lanes: found.slice(0, DEEPEST) };
      top += TITLE + made.lanes.length * LANE;
      return made;
    });
  }

  height() {
    const last = this.tracks[this.tracks.length - 1];
    return last ? last.top + TITLE + last.lanes.length * LANE + 4 : AXIS;
  }

  x(time) {
    return ((time - this.from) / (this.to - this.from)) * this.width;
  }

  time(x) {
    return this.from + (x / this.width) * (this.to - this.from);
  }

  draw() {
    this.axis();
    for (const track of this.tracks) {
      this.pen.fillStyle = this.colour("--weak");
      this.pen.fillText(track.name, 4, track.top + TITLE / 2);
      track.lanes.forEach((lane, depth) => this.lane(lane, track.top + TITLE + depth * LANE));
    }
    this.marks(this.part.gaps, "--bad");
    this.marks(this.part.instants, "--accent");
  }

  axis() {
    const round = 10 ** Math.floor(Math.log10((this.to - this.from) / 4 || 1));
    const step = Math.max(1, round * ([1, 2, 5].find((one) => (this.to - this.from) / (round * one) < 10) || 10));
    for (let time = Math.ceil(this.from / step) * step; time <= this.to; time += step) {
      this.pen.fillStyle = this.colour("--line");
      this.pen.fillRect(this.x(time), 0, 1, this.height());
      this.pen.fillStyle = this.colour("--weak");
      const text = numberText(time);
      const left = this.x(time) + 3;
      // Half a number is a wrong one.
      if (left + this.pen.measureText(text).width <= this.width) this.pen.fillText(text, left, AXIS / 2);
    }
  }

  lane(lane, top) {
    let at = countUpTo(lane.end, this.from);
    while (at < lane.begin.length && lane.begin[at] < this.to) {
      const left = this.x(lane.begin[at]);
      const right = this.x(lane.end[at]);
      const isSelected = this.selected && this.selected.lane === lane && this.selected.index === at;
      this.box(left, top, right, this.part.names[lane.name[at]], isSelected);
      // Of slices that share a pixel the first is drawn.
      at = right - left < 1 ? Math.max(at + 1, countUpTo(lane.end, this.time(Math.floor(left) + 1))) : at + 1;
    }
  }

  marks(found, colour) {
    this.pen.fillStyle = this.colour(colour);
    let before = -1;
    for (const [time] of found) {
      const x = Math.floor(this.x(time));
      if (x === before || x < 0 || x > this.width) continue;
      this.pen.fillRect(x, AXIS - 4, 1, this.height() - AXIS + 4);
      before = x;
    }
  }

  // The slice at a point of the canvas.
  at(x, y) {
    for (const track of this.tracks) {
      const lane = track.lanes[Math.floor((y - track.top - TITLE) / LANE)];
      if (!lane) continue;
      const index = countUpTo(lane.end, this.time(x));
      if (index < lane.begin.length && lane.begin[index] <= this.time(x)) return { lane, index, track };
    }
    return null;
  }

  tell(found, x) {
    if (!found) {
      const near = [...this.part.gaps, ...this.part.instants].find(([time]) => Math.abs(this.x(time) - x) < 3);
      this.note.textContent = near ? `${near[1]}, after ${numberText(near[0])}` : "";
      return;
    }
    const { lane, index, track } = found;
    const [begin, end] = [lane.begin[index], lane.end[index]];
    const name = this.part.names[lane.name[index]];
    this.note.textContent =
      `${name} (${track.name}): ${numberText(begin)} to ${numberText(end)}, ` + `${numberText(end - begin)} ${this.part.unit}`;
  }

  zoom(factor, centre) {
    const width = Math.min(this.end, Math.max(20, (this.to - this.from) * factor));
    this.move(centre - ((centre - this.from) / (this.to - this.from)) * width, width);
  }

  move(from, width = this.to - this.from) {
    this.from = Math.max(0, Math.min(from, this.end - width));
    this.to = this.from + width;
    this.redraw();
  }

  connect() {
    const canvas = this.canvas;
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.offsetX, from: this.from };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      this.tell(this.at(event.offsetX, event.offsetY), event.offsetX);
      if (drag) this.move(drag.from - ((event.offsetX - drag.x) / this.width) * (this.to - this.from));
    });
    canvas.addEventListener("pointerup", () => (drag = null));
    canvas.addEventListener("pointercancel", () => (drag = null));
    canvas.addEventListener("click", (event) => {
      this.selected = this.at(event.offsetX, event.offsetY);
      this.redraw();
    });
    canvas.addEventListener("dblclick", (event) => {
      const found = this.at(event.offsetX, event.offsetY);
      if (found) this.history.go(found.lane.begin[found.index] + 1);
    });
    // The wheel moves the page until the timeline is chosen.
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (document.activeElement !== canvas && !event.ctrlKey) return;
        event.preventDefault();
        this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.time(event.offsetX));
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const middle = (this.from + this.to) / 2;
    const step = (this.to - this.from) / 8;
    const acts = {
      ArrowLeft: () => this.move(this.from - step),
      ArrowRight: () => this.move(this.from + step),
      "+": () => this.zoom(0.5, middle),
      "-": () => this.zoom(2, middle),
      Home: () => this.move(0, this.end),
      Enter: () => this.history.go(Math.min(this.end, Math.floor(middle) + 1)),
    };
    if (!(event.key in acts)) return;
    acts[event.key]();
    event.preventDefault();
  }
}
