// What the report shows of one head: measures, maps, distances, focal tokens, windows with its pairs.

import { inflate } from "./bytes.js";
import { element, number, tokenElement, visible } from "./dom.js";
import { drawMap, unpackMaps } from "./packed_maps.js";
import { arcsLegend, TextArcs } from "./text_arcs.js";

const MAPS = {
  raw: "raw, by position",
  centred: "centred, by position",
  cosine: "cosine, by position",
  aligned: "around sentence boundaries",
};

/** The profile of head `index` of a stack, as a list of elements. */
export async function headProfile(stack, index, windows) {
  const head = stack.heads[index];
  const there = Object.entries(MAPS).filter(([name]) => name in stack.maps);
  const maps = await Promise.all(there.map(([name, title]) => headMap(stack, name, title, index)));
  return [
    element("h3", { tabindex: -1 }, `Layer ${head.layer}, head ${head.head}: ${roleWords(stack, head.role)}`),
    element("p", { class: "soft" }, head.others ? `Also ${head.others}. ${head.evidence}` : head.evidence, ...verdictLinks(stack, head)),
    element(
      "div",
      { class: "profile-columns" },
      element(
        "div",
        {},
        element("h4", {}, "Measures"),
        measureTable(stack.measures, head.values),
        element("h4", {}, "Its focal tokens"),
        focalList(head.focal, windows),
      ),
      element(
        "div",
        {},
        element("h4", {}, "Mean similarity of this head"),
        element("div", { class: "maps" }, ...maps),
        element("h4", {}, "Distance of its pairs"),
        ...histogram(stack.distances, head.distances),
      ),
    ),
    ...(await exampleWindows(stack, index)),
  ];
}

/** What pages call a role. */
export function roleWords(stack, role) {
  return stack.roles.find(({ name }) => name === role).words;
}

function verdictLinks(stack, { claims }) {
  if (claims.length === 0) return [];
  const links = claims.flatMap((claim, at) => [
    at ? ", " : "",
    element("a", { href: `#${stack.name}-claim-${claim}` }, claim),
  ]);
  return [element("br"), "Named by the verdict on ", ...links, "."];
}

async function headMap(stack, name, title, index) {
  stack.unpacked ??= {};
  stack.unpacked[name] ??= await unpackMaps(stack.maps[name]);
  const canvas = element("canvas", { role: "img", "aria-label": `mean similarity, ${title}` });
  const scale = drawMap(canvas, stack.unpacked[name], index);
  return element(
    "figure",
    {},
    canvas,
    element("figcaption", { class: "soft" }, `${title}: ${number(scale.low)} to ${number(scale.high)}`),
  );
}

function measureTable(measures, values) {
  const rows = measures.map((measure, at) =>
    element(
      "tr",
      {},
      element("th", { scope: "row", title: `${measure.definition} ${measure.misleads}` }, element("span", { class: "explained" }, measure.title)),
      element("td", {}, number(values[at][0])),
      element("td", { class: "soft" }, values[at][1] === null ? "" : number(values[at][1])),
    ),
  );
  const names = ["", "this head", "expected"].map((name) => element("th", { scope: "col" }, name));
  const head = element("thead", {}, element("tr", {}, ...names));
  return element("table", { class: "measures" }, head, element("tbody", {}, ...rows));
}

function histogram({ ends, all }, shares) {
  const most = Math.max(...shares, ...all.map((share) => share ?? 0), 1e-9);
  const names = ends.map((end, at) => {
    const start = at === 0 ? 1 : ends[at - 1] + 1;
    return start === end ? String(end) : `${start}–${end}`;
  });
  const bar = (share, kind) => {
    const made = element("div", { class: `bar ${kind}` });
    made.style.height = `${(100 * (share ?? 0)) / most}%`;
    return made;
  };
  const percent = (share) => `${number(100 * (share ?? 0))} %`;
  const bins = shares.map((share, at) => {
    const title = `${names[at]} tokens: ${percent(share)}, all pairs ${percent(all[at])}`;
    return element("div", { class: "bin", title }, bar(share, "own"), bar(all[at], "all"));
  });
  const words = names.map((name, at) => `${name} tokens ${percent(shares[at])}`).join(", ");
  return [
    element("div", { class: "histogram", role: "img", "aria-label": `share of pairs by distance: ${words}` }, ...bins),
    element("div", { class: "bin-names", "aria-hidden": "true" }, ...names.map((name) => element("span", {}, name))),
    element(
      "p",
      { class: "soft note" },
      "distance in tokens",
      element("span", { class: "key" }),
      " this head's pairs",
      element("span", { class: "key all" }),
      " all pairs",
    ),
  ];
}

function focalList(counts, windows) {
  if (counts.length === 0) return element("p", { class: "soft" }, "This head has no pairs, so it has no focal token.");
  return element(
    "ul",
    { class: "focal-list" },
    ...counts.map(([token, many]) =>
      element("li", {}, tokenElement(token), ` ${number((100 * many) / windows)} % of windows`),
    ),
  );
}

async function exampleWindows(stack, index) {
  if (stack.examples.length === 0) return [element("p", { class: "soft" }, "This run has no example windows.")];
  const place = element("div");
  const show = async (example) => {
    example.places ??= new Uint16Array((await inflate(example.pairs)).buffer);
    const start = 2 * example.counts.slice(0, index).reduce((sum, count) => sum + count, 0);
    const pairs = Array.from({ length: example.counts[index] }, (_, at) => ({
      i: example.places[start + 2 * at],
      j: example.places[start + 2 * at + 1],
    }));
    const text = new TextArcs(example.tokens, example.sentences, {
      label: "an example window with the pairs of this head",
    });
    const named = visible(example.document).replaceAll("␣", " ");
    const source = element("p", { class: "soft note" }, `${pairs.length} pairs in a window of document `);
    source.append(element("bdi", {}, named));
    place.replaceChildren(source, text.root);
    text.show(pairs);
  };
  const choice = element(
    "select",
    { "aria-label": "example window", onchange: (event) => show(stack.examples[Number(event.target.value)]) },
    ...stack.examples.map((example, at) => element("option", { value: at }, `window ${at + 1}`)),
  );
  await show(stack.examples[0]);
  return [element("h4", {}, "Its pairs in ", choice), place, arcsLegend(["within", "across"])];
}
