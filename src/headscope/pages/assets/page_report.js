// The report: a click on a head of the role map opens its profile.

import { element, number } from "./dom.js";
import { HeadFinder } from "./head_finder.js";
import { headProfile, roleWords } from "./head_profile.js";

const data = JSON.parse(document.getElementById("hs-data").textContent);
const KEYS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };

const MOST_RANKED = 20;

for (const map of document.querySelectorAll(".role-map")) {
  addFinder(map);
  map.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) open(map, button);
  });
  map.addEventListener("keydown", (event) => {
    const step = KEYS[event.key];
    const button = event.target.closest("button");
    if (!step || !button) return;
    event.preventDefault();
    const cell = button.closest("td");
    const next = map.rows[cell.parentElement.rowIndex + step[0]]?.cells[cell.cellIndex + step[1]]?.querySelector("button");
    if (!next) return;
    button.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}

function stackOf(map) {
  return data.stacks.find(({ name }) => name === map.dataset.stack);
}

function buttonOf(map, layer, head) {
  return map.querySelector(`button[data-layer="${layer}"][data-head="${head}"]`);
}

/** Find heads by role, or in the order of a measure. */
function addFinder(map) {
  const stack = stackOf(map);
  const facts = new Map(stack.heads.map((head) => [`${head.layer}.${head.head}`, head]));
  const ranked = element("ol", { class: "ranked-heads", hidden: true });
  const finder = new HeadFinder({ facts, roles: stack.roles, measures: stack.measures }, ({ role, sort }) => {
    const found = finder.found();
    const keys = new Set(found.map(({ layer, head }) => `${layer}.${head}`));
    for (const button of map.querySelectorAll("button"))
      button.classList.toggle("faint", !keys.has(`${button.dataset.layer}.${button.dataset.head}`));
    const at = stack.measures.findIndex(({ name }) => name === sort);
    ranked.hidden = at < 0;
    ranked.replaceChildren(...(at < 0 ? [] : found.slice(0, MOST_RANKED).map((fact) => rankedHead(stack, fact, at))));
    const first = sort ? found[0] : found.find(({ order }) => order === 0);
    if (first && (role || sort)) open(map, buttonOf(map, first.layer, first.head), { scroll: false });
  });
  document.querySelector(`.role-finder[data-stack="${stack.name}"]`).replaceChildren(finder.root, ranked);
}

function rankedHead(stack, { layer, head, role, values }, at) {
  const [value, expected] = values[at];
  const link = element("a", { href: `#head=${stack.name}.${layer}.${head}` }, `${layer}.${head}`);
  const beside = expected === null ? "" : ` (expected ${number(expected)})`;
  return element("li", {}, link, ` ${number(value)}${beside}, ${roleWords(stack, role)}`);
}

async function open(map, button, { scroll = true, why = null } = {}) {
  const stack = stackOf(map);
  const [layer, head] = [Number(button.dataset.layer), Number(button.dataset.head)];
  for (const other of map.querySelectorAll("[aria-pressed]")) other.removeAttribute("aria-pressed");
  button.setAttribute("aria-pressed", "true");
  const index = stack.heads.findIndex((candidate) => candidate.layer === layer && candidate.head === head);
  const place = document.getElementById(`${stack.name}-profile`);
  const note = why === null ? [] : [element("p", { class: "soft why" }, `Open for a start: ${why}.`)];
  place.replaceChildren(...note, ...(await headProfile(stack, index, data.windows)));
  if (why === null) keepAddress(`#head=${stack.name}.${layer}.${head}`);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (scroll) place.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
}

/** Keep what is open in the page's address; a notebook's frame has none of its own. */
function keepAddress(fragment) {
  if (location.protocol !== "about:") history.replaceState(null, "", fragment);
}

/** An address may name a head: #head=encoder.3.7 */
function openAddress(hash = location.hash) {
  const [, stack, layer, head] = hash.match(/^#head=(\w+)\.(\d+)\.(\d+)$/) ?? [];
  const map = [...document.querySelectorAll(".role-map")].find((candidate) => candidate.dataset.stack === stack);
  const button = map && buttonOf(map, layer, head);
  if (button) open(map, button);
  return Boolean(button);
}

/** Without a head in the address, each map opens on its most striking one. */
function openStriking() {
  for (const map of document.querySelectorAll(".role-map")) {
    const [striking] = stackOf(map).opens;
    if (striking) open(map, buttonOf(map, striking.layer, striking.head), { scroll: false, why: striking.why });
  }
}

// Inside a notebook's frame a plain link would lead away from the page.
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (!link) return;
  const address = link.getAttribute("href");
  const target = document.getElementById(address.slice(1));
  if (!target && !openAddress(address)) return;
  event.preventDefault();
  target?.scrollIntoView();
  keepAddress(address);
});

// On a narrow screen a figure fits the width; a click enlarges it, and makes it fit again.
for (const figure of document.querySelectorAll("figure .wide"))
  figure.addEventListener("click", () => figure.classList.toggle("enlarged"));

window.addEventListener("hashchange", () => openAddress());
if (!openAddress()) openStriking();
