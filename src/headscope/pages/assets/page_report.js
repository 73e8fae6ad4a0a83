// The report: a click on a head of the role map opens its profile.

import { headProfile } from "./head_profile.js";

const data = JSON.parse(document.getElementById("hs-data").textContent);
const KEYS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };

for (const map of document.querySelectorAll(".role-map")) {
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

async function open(map, button, { scroll = true } = {}) {
  const stack = data.stacks.find(({ name }) => name === map.dataset.stack);
  const [layer, head] = [Number(button.dataset.layer), Number(button.dataset.head)];
  for (const other of map.querySelectorAll("[aria-pressed]")) other.removeAttribute("aria-pressed");
  button.setAttribute("aria-pressed", "true");
  const index = stack.heads.findIndex((candidate) => candidate.layer === layer && candidate.head === head);
  const place = document.getElementById(`${stack.name}-profile`);
  place.replaceChildren(...(await headProfile(stack, index, data.windows)));
  keepAddress(`#head=${stack.name}.${layer}.${head}`);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (scroll) place.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
}

/** Keep what is open in the page's address; a notebook's frame has none of its own. */
function keepAddress(fragment) {
  if (location.protocol !== "about:") history.replaceState(null, "", fragment);
}

/** An address may name a head: #head=encoder.3.7 */
function openAddress() {
  const [, stack, layer, head] = location.hash.match(/^#head=(\w+)\.(\d+)\.(\d+)$/) ?? [];
  const map = [...document.querySelectorAll(".role-map")].find((candidate) => candidate.dataset.stack === stack);
  const button = map?.querySelector(`button[data-layer="${layer}"][data-head="${head}"]`);
  if (button) open(map, button);
}

// Inside a notebook's frame a plain link would lead away from the page.
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  const target = link && document.getElementById(link.getAttribute("href").slice(1));
  if (!target) return;
  event.preventDefault();
  target.scrollIntoView();
  keepAddress(link.getAttribute("href"));
});
window.addEventListener("hashchange", openAddress);
openAddress();
