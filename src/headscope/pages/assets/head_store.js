// The heads of one attention stack, unpacked when they are shown; the latest are cached.

import { floats, inflate } from "./bytes.js";
import { unpackMaps } from "./packed_maps.js";
import { Ranked } from "./selection.js";
import { pairScores, similarity } from "./similarity.js";

const KEPT = 12;

/** One head on the text: its similarity in any variant, and its attention. */
class Head {
  constructor(stack, layer, index) {
    this.stack = stack;
    this.packed = layer;
    this.index = index;
    this.headOutput = floats(layer.head_output[index]);
    layer.all_mass ??= floats(layer.column_mass);
    this.mass = layer.all_mass.subarray(index * stack.keys, (index + 1) * stack.keys);
    this.variants = new Map();
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

  /** Unpack attention when it is first needed; then it is in `attention`. */
  async unpackAttention() {
    if (this.attention) return;
    const steps = await inflate(this.packed.attention[this.index]);
    const largest = this.packed.attention_largest[this.index];
    const { attention_steps: most } = this.packed;
    const weights = Float32Array.from({ length: most + 1 }, (_, step) => largest * (step / most) ** 2);
    const attention = new Float32Array(steps.length);
    for (let at = 0; at < steps.length; at++) attention[at] = weights[steps[at]];
    this.attention = attention;
  }

  /** The places of the tokens whose attention reaches the threshold. */
  highAttention(threshold) {
    const bar = Math.fround(threshold);
    return [...this.mass.keys()].filter((place) => this.mass[place] >= bar);
  }
}

/** The text as one stack reads it, with its heads. */
export class HeadStore {
  constructor(packed) {
    this.packed = packed;
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
