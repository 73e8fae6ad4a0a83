// One text, head by head: the grid of all heads, one or two of them large, and the text with arcs.

import { element, number, tokenElement, visible } from "./dom.js";
import { HeadFinder } from "./head_finder.js";
import { HeadGrid } from "./head_grid.js";
import { HeadPanel } from "./head_panel.js";
import { HeadStore } from "./head_store.js";
import { focalToken } from "./pair_rules.js";
import { arcsLegend, TextArcs } from "./text_arcs.js";
import { ViewerControls } from "./viewer_controls.js";
import { helpPanel, leadOf } from "./viewer_help.js";
import { fromFragment, initialState, toFragment } from "./viewer_state.js";

const PARTNERS = 8;
const HINT = "Point at a token, in the text or the matrix, to see its row. Double-click the matrix to zoom in.";

/** Show a view in an element. With `address`, the state is kept in the page's own address. */
export function mountViewer(root, data, { address = false } = {}) {
  const viewer = new Viewer(root, data, address);
  viewer.start();
  return viewer;
}

class Viewer {
  constructor(root, data, address) {
    this.root = root;
    this.data = data;
    this.address = address;
    this.state = initialState(data);
    this.opened = this.state.A;
    this.read = location.hash; // the address that the state is known to follow
    if (address) this.state = fromFragment(this.read, this.state, data);
    this.active = "A";
    this.zoom = { factor: 1, from: 0 };
    root.classList.add("hs", "hs-viewer");
  }

  start() {
    this.controls = new ViewerControls(
      this.data.stacks.map(({ name }) => name),
      {
        onChange: (changes) => this.change(changes),
        onCompare: (on) => this.compare(on),
        onZoom: (way) => this.zoomTo(way),
      },
    );
    this.gridPlace = element("div", { class: "grid-place" });
    this.unitPlace = element("div", { class: "units" });
    this.lead = element("p", { class: "lead" });
    this.row = element("p", { class: "row-readout", "aria-live": "polite" }, HINT);
    const [{ compact }] = this.data.stacks;
    this.root.replaceChildren(
      this.lead,
      helpPanel({ rule: this.data.settings.pairs, compact }),
      this.controls.root,
      this.row,
      element("div", { class: "columns" }, this.gridPlace, this.unitPlace),
    );
    this.panels = Object.fromEntries(
      ["A", "B"].map((name) => [
        name,
        new HeadPanel(name, {
          onPick: (token) => this.pick(token),
          onActivate: () => this.activate(name),
          onZoom: (factor, centre) => this.zoomBy(factor, centre),
        }),
      ]),
    );
    this.openStack();
    if (this.address) this.followAddress();
  }

  /** When the address changes, show what it says. */
  followAddress() {
    const follow = () => {
      if (!this.root.isConnected) return window.removeEventListener("hashchange", follow);
      this.read = location.hash;
      if (this.read.slice(1) !== toFragment(this.state)) this.change(fromFragment(this.read, this.state, this.data));
    };
    window.addEventListener("hashchange", follow);
  }

  /** Make the grid, and everything else that depends only on the stack. */
  openStack() {
    const packed = this.data.stacks.find(({ name }) => name === this.state.stack);
    this.store = new HeadStore(packed, this.data.settings.pairs);
    for (const name of ["A", "B"]) {
      const place = this.state[name];
      if (place && !this.store.has(place.layer, place.head))
        this.state[name] = name === "A" ? { layer: this.store.layers[0], head: 1 } : null;
    }
    this.grid = new HeadGrid(this.store, (layer, head) => this.choose(layer, head));
    this.finder = new HeadFinder(this.store, (wanted) => this.find(wanted));
    this.gridPlace.replaceChildren(...(this.store.facts.size ? [this.finder.root] : []), this.grid.root);
    this.grid.draw(this.state.shown);
    this.texts = Object.fromEntries(
      ["A", "B"].map((name) => [
        name,
        new TextArcs(this.store.tokens, this.store.sentences, {
          onHover: (token) => this.pick(token),
          label: `the text with the pairs of head ${name}`,
        }),
      ]),
    );
    this.units = Object.fromEntries(
      ["A", "B"].map((name) => [
        name,
        element("div", { class: "unit" }, this.panels[name].root, textBox(this.texts[name].root)),
      ]),
    );
    this.unitPlace.replaceChildren();
    return this.update();
  }

  /** Show the heads of a role, or all in the order of a measure; the first of them is chosen. */
  find({ role, sort }) {
    const facts = this.finder.found();
    const measureAt = this.store.measures.findIndex(({ name }) => name === sort);
    if (sort) this.grid.ranked(facts, measureAt);
    else this.grid.byLayer(role ? facts : null);
    const first = sort ? facts[0] : facts.find(({ order }) => order === 0);
    if (first && (role || sort)) this.choose(first.layer, first.head);
    else this.grid.mark({ A: this.state.A, B: this.state.B });
  }

  choose(layer, head) {
    this.change({ [this.active]: { layer, head } });
  }

  /** Change the state, and show it. */
  change(changes) {
    const { stack, shown } = this.state;
    this.state = { ...this.state, ...changes };
    if (this.state.shown !== "attention") this.state.variant = this.state.shown;
    if (this.state.stack !== stack) return this.openStack();
    if (this.state.shown !== shown) this.grid.draw(this.state.shown);
    return this.update();
  }

  activate(name) {
    this.active = name;
    for (const [key, panel] of Object.entries(this.panels))
      panel.root.classList.toggle("active", key === name);
  }

  zoomBy(factor, centre = this.zoom.from + 0.5 / this.zoom.factor) {
    const most = Math.max(1, this.store.n / 8);
    const next = Math.max(1, Math.min(most, this.zoom.factor * factor));
    this.zoom = { factor: next, from: Math.max(0, Math.min(1 - 1 / next, centre - 0.5 / next)) };
    this.update();
  }

  zoomTo(way) {
    const { factor, from } = this.zoom;
    if (way === "in" || way === "out") this.zoomBy(way === "in" ? 2 : 0.5);
    else this.zoomBy(1, way === "on" ? from + 1 / factor : from);
  }

  /** Show everything from the state. The time it took is in `data-switch-ms`. */
  async update() {
    const start = performance.now();
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const { state, store } = this;
    const names = state.B ? ["A", "B"] : ["A"];
    if (!names.includes(this.active)) this.active = "A";
    const heads = names.map((name) => store.head(state[name].layer, state[name].head));
    await Promise.all(heads.map((head) => head.unpack(state.variant, state.shown)));
    if (turn !== this.turn) return; // the state has changed meanwhile
    this.lead.textContent = leadOf(state.shown);
    this.place(names);
    names.forEach((name, index) => this.showHead(name, heads[index]));
    this.heads = Object.fromEntries(names.map((name, index) => [name, heads[index]]));
    this.grid.mark({ A: state.A, B: state.B });
    this.activate(this.active);
    this.controls.show(state);
    if (this.address) this.keepAddress();
    requestAnimationFrame(() => {
      this.root.dataset.switchMs = (performance.now() - start).toFixed(1);
      this.root.dataset.turn = String(turn);
    });
  }

  /** Put the state into the address after a pause: browsers refuse too many changes. */
  keepAddress() {
    clearTimeout(this.keeping);
    this.keeping = setTimeout(() => {
      if (location.hash !== this.read) return; // the reader went elsewhere, and followAddress is about to be told
      history.replaceState(null, "", `#${toFragment(this.state)}`);
      this.read = location.hash;
    }, 250);
  }

  /** A matrix and a text for each head; what is in place already is not moved. */
  place(names) {
    const units = names.map((name) => this.units[name]);
    if (units.length === this.unitPlace.childNodes.length && units.every((unit) => unit.isConnected)) return;
    this.unitPlace.replaceChildren(...units);
    this.unitPlace.classList.toggle("two", names.length === 2);
  }

  showHead(name, head) {
    const { state, store } = this;
    const pairs = head.pairs(state.variant, state.rule);
    const focal = focalToken(pairs, store.first);
    const high = head.highAttention(state.mask);
    this.panels[name].show(store, head, {
      layer: state[name].layer,
      number: state[name].head,
      shown: state.shown,
      pairs,
      high,
      focal,
      about: this.about(state[name]),
      zoom: this.zoom,
    });
    const everywhere = focal ? [...store.first.keys()].filter((place) => store.first[place] === focal.place) : [];
    this.texts[name].root.dataset.panel = `${name}: layer ${state[name].layer}, head ${state[name].head}`;
    this.texts[name].show(pairs, { focal: everywhere, high: store.cross ? [] : high });
  }

  /** What is known of a head: its role on this text, and why the page opened on it. */
  about({ layer, head }) {
    const fact = this.store.fact(layer, head);
    if (!fact) return "";
    const role = this.store.roles.find(({ name }) => name === fact.role);
    const opens = this.store.packed.heads.opens.find((one) => one.layer === layer && one.head === head);
    const also = fact.others ? `, also ${fact.others}` : "";
    if (opens && this.opened.layer === layer && this.opened.head === head)
      return `The page opens on this head as ${opens.why}${also}.`;
    return `On this text: ${role.words}${also} (${fact.evidence}).`;
  }

  /** Show the row of a token: its similarity to, or attention on, every other token. */
  pick(token) {
    for (const name of Object.keys(this.heads ?? {})) {
      const text = this.texts[name];
      text.pick(token);
      if (token === null || (this.store.cross && this.state.shown === "attention")) {
        text.shade(null);
        continue;
      }
      const row = this.rowOf(name, token);
      const most = Math.max(...row.map(Math.abs), 1e-12);
      text.shade(row.map((value) => value / most));
    }
    this.row.replaceChildren(...(token === null ? [HINT] : this.describeRow(token)));
  }

  rowOf(name, token) {
    const head = this.heads[name];
    const isAttention = this.state.shown === "attention";
    const columns = isAttention ? this.store.keys : this.store.n;
    const values = isAttention ? head.attention : head.similarity(this.state.shown).matrix;
    return [...values.subarray(token * columns, (token + 1) * columns)];
  }

  describeRow(token) {
    const others = this.state.shown === "attention" ? this.store.keyTokens : this.store.tokens;
    const row = this.rowOf(this.active, token);
    const best = [...row.keys()]
      .filter((place) => row[place] !== 0)
      .sort((a, b) => row[b] - row[a])
      .slice(0, PARTNERS);
    return [
      `${this.active}: row of `,
      tokenElement(this.store.tokens[token]),
      ` (${token}): `,
      ...best.flatMap((place) => [tokenElement(others[place]), ` ${number(row[place])}  `]),
    ];
  }

  compare(on) {
    if (!on) return this.change({ B: null });
    const { layer, head } = this.state.A;
    const next = head < this.store.headsOf(layer) ? head + 1 : 1;
    this.active = "B";
    return this.change({ B: { layer, head: next } });
  }
}

/** The text, which scrolls by itself, and what its marks mean. */
function textBox(text) {
  const legend = arcsLegend(["within", "across", "focal", "high"]);
  return element("div", {}, element("div", { class: "text-box" }, text), legend);
}

/** The headline of a view: model, stack sizes, tokens. */
export function viewerFacts(data) {
  const stacks = data.stacks.map(({ name, layers }) => {
    const widest = Math.max(...layers.map(({ heads }) => heads));
    return `${name}: ${layers.length} layers × ${widest} heads`;
  });
  const { tokens, sentences } = data.stacks[0];
  const many = new Set(sentences.filter((id) => id >= 0)).size;
  const model = visible(data.model).replaceAll("␣", " ");
  return `${model} · ${stacks.join(", ")} · ${tokens.length} tokens, ${many} sentence${many === 1 ? "" : "s"}`;
}
