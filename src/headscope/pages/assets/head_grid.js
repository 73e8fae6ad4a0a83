// All heads as small maps, one row per layer: choose one with a click or the arrow keys.

import { element } from "./dom.js";
import { drawMap } from "./packed_maps.js";

/** The grid; `onChoose(layer, head)` is called when a head is chosen. */
export class HeadGrid {
  constructor(store, onChoose) {
    this.store = store;
    this.onChoose = onChoose;
    this.cells = new Map();
    const widest = Math.max(...store.layers.map((layer) => store.headsOf(layer)));
    const names = Array.from({ length: widest }, (_, head) => element("span", { class: "axis" }, String(head + 1)));
    this.root = element(
      "div",
      { class: "head-grid", role: "group", "aria-label": `heads of ${store.name}: layers downwards` },
      element("span", { class: "axis corner" }, "layer \\ head"),
      ...names,
    );
    this.root.style.setProperty("--heads", widest);
    for (const layer of store.layers) this.addRow(layer, widest);
    this.root.addEventListener("keydown", (event) => this.move(event));
  }

  addRow(layer, widest) {
    this.root.append(element("span", { class: "axis" }, String(layer)));
    for (let head = 1; head <= widest; head++) {
      if (head > this.store.headsOf(layer)) {
        this.root.append(element("span"));
        continue;
      }
      const cell = element(
        "button",
        {
          type: "button",
          tabindex: -1,
          class: "head-cell",
          "data-layer": layer,
          "data-head": head,
          "aria-label": `layer ${layer}, head ${head}`,
          title: `layer ${layer}, head ${head}`,
          onclick: () => this.onChoose(layer, head),
        },
        element("canvas", { "aria-hidden": "true" }),
      );
      this.cells.set(`${layer}.${head}`, cell);
      this.root.append(cell);
    }
  }

  move(event) {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    const cell = event.target.closest(".head-cell");
    if (!step || !cell) return;
    event.preventDefault();
    const row = this.store.layers.indexOf(Number(cell.dataset.layer)) + step[0];
    const next = this.cells.get(`${this.store.layers[row]}.${Number(cell.dataset.head) + step[1]}`);
    if (next) {
      next.focus();
      next.click();
    }
  }

  /** Draw the maps of what is shown: attention, raw, centred or cosine. */
  async draw(shown) {
    this.shown = shown;
    for (const layer of this.store.layers) {
      const maps = await this.store.thumbnails(layer, shown);
      if (this.shown !== shown) return; // something else is shown by now
      for (let head = 1; head <= this.store.headsOf(layer); head++)
        drawMap(this.cells.get(`${layer}.${head}`).firstChild, maps, head - 1);
    }
  }

  /** Mark the chosen heads: `{A: {layer, head}, B: ...}`. */
  mark(chosen) {
    const names = new Map(
      Object.entries(chosen)
        .filter(([, place]) => place)
        .map(([name, { layer, head }]) => [`${layer}.${head}`, name]),
    );
    for (const [key, cell] of this.cells) {
      const name = names.get(key);
      cell.classList.toggle("chosen", name !== undefined);
      if (name === undefined) delete cell.dataset.panel;
      else cell.dataset.panel = name;
      cell.setAttribute("aria-pressed", String(name !== undefined));
      cell.tabIndex = name === "A" ? 0 : -1;
    }
  }
}
