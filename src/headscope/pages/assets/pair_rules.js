// Which pairs of tokens count as highly similar, by the library's two rules.

const STEPS = [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
const VALUES = {
  top: [0.001, 0.01, 0.1].flatMap((decade) => STEPS.map((step) => tidy(step * decade))).filter((v) => v <= 0.3),
  max: Array.from({ length: 96 }, (_, step) => tidy(0.05 + 0.01 * step)),
};

function tidy(value) {
  return Number(value.toPrecision(6));
}

/** `{kind, value}` of a rule such as `top:0.01`; null if it is not a rule. */
export function parseRule(text) {
  const [kind, value] = String(text).split(":");
  const share = Number(value);
  return (kind === "top" || kind === "max") && share > 0 && share <= 1 ? { kind, value: share } : null;
}

/** The rule as the command line takes it. */
export function ruleText(rule) {
  return `${rule.kind}:${rule.value}`;
}

/** The values that a slider steps through, including the one that is set. */
export function ruleValues(kind, value) {
  const values = VALUES[kind];
  return values.includes(value) ? values : [...values, value].sort((a, b) => a - b);
}

/** The smallest of `ranked` similarities that a rule accepts; Infinity if it accepts none. */
export function ruleThreshold(rule, ranked) {
  const n = ranked.length;
  if (n === 0) return Infinity;
  if (rule.kind === "top") {
    // The slack keeps 0.01 * 200 at 2 where binary fractions say 2.0000000000000004.
    const taken = Math.min(n, Math.ceil(rule.value * n - 1e-9));
    return taken > 0 ? ranked.kthLargest(taken) : Infinity;
  }
  return ranked.high > 0 ? Math.fround(ranked.high * Math.fround(rule.value)) : Infinity;
}

/** The pairs {i, j, score} of counted tokens that reach a threshold, the most similar first. */
export function pairsFrom(matrix, n, counted, threshold) {
  const pairs = [];
  if (threshold === Infinity) return pairs;
  for (let i = 0; i < n; i++) {
    if (!counted[i]) continue;
    for (let j = i + 1; j < n; j++) {
      const score = matrix[i * n + j];
      if (counted[j] && score >= threshold) pairs.push({ i, j, score });
    }
  }
  return pairs.sort((a, b) => b.score - a.score);
}

/** The pairs of a mask with one bit for each i < j, row by row; the most similar first. */
export function pairsOfMask(mask, matrix, n) {
  const pairs = [];
  for (let i = 0, at = 0; i < n; i++)
    for (let j = i + 1; j < n; j++, at++)
      if (mask[at >> 3] & (128 >> (at & 7))) pairs.push({ i, j, score: matrix[i * n + j] });
  return pairs.sort((a, b) => b.score - a.score);
}

/** The focal token of some pairs: `{place, count}`, where it first occurs and how often it is in a pair.
 *
 * `first` gives each token the place of its first occurrence; ties go to the earlier token. */
export function focalToken(pairs, first) {
  const counts = new Map();
  for (const { i, j } of pairs)
    for (const token of [i, j]) counts.set(first[token], (counts.get(first[token]) ?? 0) + 1);
  let focal = null;
  for (const [place, count] of counts)
    if (focal === null || count > focal.count || (count === focal.count && place < focal.place))
      focal = { place, count };
  return focal;
}
