// The heads of one attention stack, unpacked when they are shown; the latest are cached.

import { floats, inflate } from "./bytes.js";
import { unpackMaps } from "./packed_maps.js";
import { pairsFrom, pairsOfMask, ruleText, ruleThreshold } from "./pair_rules.js";
import { Ranked } from "./selection.js";
import { pairScores, similarity } from "./similarity.js";

const KEPT = 12;

/** One head on the text: its similarity in any variant, and its attention. */
class Head {
  constructor(stack, layer, index) {
    this.stack = stack;
    this.packed = layer;
    this.index = index;
    layer.all_mass ??= floats(layer.column_mass);
    this.mass = layer.all_mass.subarray(index * stack.keys, (index + 1) * stack.keys);
    this.variants = new Map();
    this.chosen = new Map();
  }

  /** Unpack what is needed to show similarity in a variant, and attention if it is shown. */
  async unpack(variant, shown) {
    this.headOutput ??= await this.unpackOutput();
    const masks = this.packed.pairs?.[variant];
    if (masks && !this.chosen.has(variant)) this.chosen.set(variant, await inflate(masks[this.index]));
    if (shown === "attention") this.attention ??= await this.unpackAttention();
  }

  async unpackOutput() {
    if (!this.packed.axes) return floats(this.packed.head_output[this.index]);
    return unpackAxes(this.packed.axes[this.index], this.stack.n);
  }

  /** `{matrix, ranked}`: C, and the similarities of all pairs. */
  similarity(variant) {
    if (!this.variants.has(variant)) {
      const { n, counted } = this.stack;
      const matrix = similarity(this.headOutput, n, variant, counted);
      this.variants.set(variant, { matrix, ranked: new Ranked(pairScores(matrix, n, counted)) });
    }
    return this.variants.get(variant);
  }

  /** The pairs {i, j, score} by a rule, the most similar first. */
  pairs(variant, rule) {
    const { matrix, ranked } = this.similarity(variant);
    const { n, counted, rule: own } = this.stack;
    // Where numbers are rounded, the pairs by the page's own rule were chosen before.
    const mask = ruleText(rule) === own ? this.chosen.get(variant) : undefined;
    if (mask) return pairsOfMask(mask, matrix, n);
    return pairsFrom(matrix, n, counted, ruleThreshold(rule, ranked));
  }

  /** The range of values that colours cover: the same in the small map and in the large one. */
  range(shown) {
    const { low, high } = this.packed.thumbnails[shown];
    const ends = { low: low[this.index], high: high[this.index] };
    // Small maps of attention are of its root.
    return shown === "attention" ? { low: 0, high: ends.high ** 2 } : ends;
  }

  async unpackAttention() {
    const { attention, attention_largest: largest, attention_steps: most } = this.packed;
    const bytes = await inflate(attention[this.index]);
    const { n, keys } = this.stack;
    const weights = Float32Array.from({ length: most + 1 }, (_, step) => largest[this.index] * (step / most) ** 2);
    const unpacked = new Float32Array(n * keys);
    if (!this.packed.axes) {
      for (let at = 0; at < unpacked.length; at++) unpacked[at] = weights[bytes[at]];
      return unpacked;
    }
    // Two steps a byte, column by column.
    for (let column = 0, at = 0; column < keys; column++)
      for (let row = 0; row < n; row++, at++)
        unpacked[row * keys + column] = weights[at & 1 ? bytes[at >> 1] & 15 : bytes[at >> 1] >> 4];
    return unpacked;
  }

  /** The places of the tokens whose attention reaches the threshold. */
  highAttention(threshold) {
    const bar = Math.fround(threshold);
    return [...this.mass.keys()].filter((place) => this.mass[place] >= bar);
  }
}

/** The text as one stack reads it, with its heads. */
export class HeadStore {
  constructor(packed, rule) {
    this.packed = packed;
    this.rule = rule;
    this.name = packed.name;
    this.tokens = packed.tokens;
    this.keyTokens = packed.key_tokens ?? packed.tokens;
    this.cross = packed.key_tokens !== null;
    this.sentences = packed.sentences;
    this.counted = packed.counted;
    this.first = packed.first;
    this.n = packed.tokens.length;
    this.keys = this.keyTokens.length;
    this.layers = packed.layers.map((layer) => layer.layer);
    this.kept = new Map();
    this.measures = packed.heads?.measures ?? [];
    this.roles = packed.heads?.roles ?? [];
    this.facts = new Map((packed.heads?.facts ?? []).map((fact) => [`${fact.layer}.${fact.head}`, fact]));
  }

  /** What is known of a head on this text: role, evidence, measures; undefined where nothing is. */
  fact(layer, head) {
    return this.facts.get(`${layer}.${head}`);
  }

  headsOf(layer) {
    return this.layer(layer).heads;
  }

  has(layer, head) {
    return this.layers.includes(layer) && head >= 1 && head <= this.headsOf(layer);
  }

  layer(layer) {
    return this.packed.layers[this.layers.indexOf(layer)];
  }

  /** The head, numbered from 1 as its layer is. */
  head(layer, head) {
    const key = `${layer}.${head}`;
    const found = this.kept.get(key) ?? new Head(this, this.layer(layer), head - 1);
    this.kept.delete(key);
    this.kept.set(key, found);
    if (this.kept.size > KEPT) this.kept.delete(this.kept.keys().next().value);
    return found;
  }

  /** Small maps of all heads of a layer: of attention, or of a variant of similarity. */
  thumbnails(layer, shown) {
    return unpackMaps(this.layer(layer).thumbnails[shown]);
  }
}

/** What a head writes, on its principal axes: n vectors. Similarities do not depend on the axes. */
async function unpackAxes({ step, low, high }, n) {
  const [lows, highs] = await Promise.all([inflate(low), inflate(high)]);
  const d = lows.length / n;
  const vectors = new Float32Array(lows.length);
  for (let axis = 0, at = 0; axis < d; axis++)
    for (let token = 0; token < n; token++, at++) {
      const unsigned = lows[at] | (highs[at] << 8);
      vectors[token * d + axis] = step * (unsigned & 1 ? -(unsigned + 1) / 2 : unsigned / 2);
    }
  return vectors;
}
