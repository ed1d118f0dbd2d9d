// A list of any length: only the rows in sight are elements.  A browser limits an element's height, so a long list has
// pages.
const ROW = 20;
const PAGE = 100000;

class VirtualList {
  // render(row) makes a row's element; keys[name](row) is what a key does with the selected one.
  constructor(box, render, keys = {}) {
    this.box = box;
    this.render = render;
    this.keys = keys;
    this.count = 0;
    this.page = 0;
    this.selected = -1;
    this.space = make("div", "");
    this.rows = make("div", "");
    box.append(this.space, this.rows);
    box.tabIndex = 0;
    box.setAttribute("role", "list");
    box.addEventListener("scroll", () => this.draw());
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("click", (event) => this.click(event));
    this.pager();
    new ResizeObserver(() => this.draw()).observe(box);
  }

  pager() {
    const button = (text, page) => {
      const made = make("button", "", text);
      made.type = "button";
      made.addEventListener("click", () => this.turn(page()));
      return made;
    };
    this.range = make("output", "");
    this.before = button("Page before", () => this.page - 1);
    this.after = button("Next page", () => this.page + 1);
    this.bar = make("div", "bar", this.before, this.after, this.range);
    this.box.before(this.bar);
  }

  get pages() {
    return Math.max(1, Math.ceil(this.count / PAGE));
  }

  setCount(count) {
    this.count = count;
    this.turn(Math.min(this.page, this.pages - 1), true);
  }

  turn(page, stays = false) {
    this.page = page;
    const first = page * PAGE;
    this.length = Math.min(PAGE, this.count - first);
    this.space.style.height = this.length * ROW + "px";
    this.bar.hidden = this.pages === 1;
    this.before.disabled = page === 0;
    this.after.disabled = page === this.pages - 1;
    const last = first + this.length;
    this.range.textContent = `lines ${numberText(first + 1)} to ${numberText(last)} of ${numberText(this.count)}`;
    if (!stays) this.box.scrollTop = 0;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 2);
    const last = Math.min(this.length, first + Math.ceil(this.box.clientHeight / ROW) + 4);
    const made = [];
    for (let at = first; at < last; at++) {
      const row = this.page * PAGE + at;
      const element = this.render(row);
      element.classList.add("row");
      element.style.top = at * ROW + "px";
      element.dataset.row = row;
      element.setAttribute("role", "listitem");
      element.setAttribute("aria-setsize", this.count);
      element.setAttribute("aria-posinset", row + 1);
      if (row === this.selected) {
        element.classList.add("selected");
        element.setAttribute("aria-current", "true");
      }
      made.push(element);
    }
    this.rows.replaceChildren(...made);
  }

  // Select a row and bring it into sight.
  show(row) {
    this.selected = Math.max(0, Math.min(row, this.count - 1));
    const page = Math.floor(this.selected / PAGE);
    if (page !== this.page) this.turn(page);
    const top = (this.selected - page * PAGE) * ROW;
    const height = this.box.clientHeight;
    if (top < this.box.scrollTop || top + ROW > this.box.scrollTop + height) {
      this.box.scrollTop = top - height / 2;
    }
    this.draw();
  }

  key(event) {
    const rows = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: rows, PageUp: -rows, Home: -this.count, End: this.count };
    if (event.key in steps) this.show(this.selected + steps[event.key]);
    else if (event.key in this.keys && this.selected >= 0) this.keys[event.key](this.selected);
    else return;
    event.preventDefault();
  }

  click(event) {
    const element = event.target.closest("[data-row]");
    if (element) this.show(Number(element.dataset.row));
  }
}
