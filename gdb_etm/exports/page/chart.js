// A canvas that is drawn again when its size or the colours change.
const LANE = 18;

class Chart {
  constructor(id) {
    this.canvas = document.getElementById(id);
    this.note = document.getElementById(id.replace("canvas", "note"));
    this.pen = this.canvas.getContext("2d");
    this.colours = new Map();
    new ResizeObserver(() => this.redraw()).observe(this.canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.colours.clear();
      this.redraw();
    });
  }

  // Draw at the next frame, however often it is asked for.
  redraw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.prepare();
      this.draw();
    });
  }

  prepare() {
    const scale = window.devicePixelRatio || 1;
    this.width = this.canvas.parentElement.clientWidth;
    const height = this.height();
    this.canvas.style.height = height + "px";
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(height * scale);
    this.pen.setTransform(scale, 0, 0, scale, 0, 0);
    this.pen.font = "12px system-ui, sans-serif";
    this.pen.textBaseline = "middle";
  }

  colour(variable) {
    return getComputedStyle(document.documentElement).getPropertyValue(variable);
  }

  // A function has one colour everywhere.
  colourOf(name) {
    if (!this.colours.has(name)) {
      let hash = 7;
      for (const letter of name) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
      this.colours.set(name, `hsl(${hash % 360} ${this.colour("--slice")})`);
    }
    return this.colours.get(name);
  }

  // A box with as much of its name as fits.
  box(left, top, right, name, isSelected) {
    const from = Math.max(left, 0);
    const to = Math.min(right, this.width);
    this.pen.fillStyle = this.colourOf(name);
    this.pen.fillRect(from, top, Math.max(to - from - 0.5, 0.5), LANE - 1);
    if (isSelected) {
      this.pen.strokeStyle = this.colour("--text");
      this.pen.strokeRect(from + 0.5, top + 0.5, Math.max(to - from - 1.5, 1), LANE - 2);
    }
    const letters = Math.floor((to - from - 6) / 7);
    if (letters < 2) return;
    this.pen.fillStyle = this.colour("--slice-text");
    this.pen.fillText(name.length > letters ? name.slice(0, letters - 1) + "\u2026" : name, from + 3, top + LANE / 2);
  }
}
