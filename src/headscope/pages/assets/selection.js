// The k-th largest of many numbers without sorting them: sliders need it at every step.

const BINS = 4096;

/** Numbers whose k-th largest is found in one pass. */
export class Ranked {
  constructor(values) {
    this.values = values;
    this.low = Infinity;
    this.high = -Infinity;
    for (let at = 0; at < values.length; at++) {
      const value = values[at];
      if (value < this.low) this.low = value;
      if (value > this.high) this.high = value;
    }
    this.counts = new Uint32Array(BINS);
    this.factor = this.high > this.low ? (BINS - 1) / (this.high - this.low) : 0;
    const { counts, low, factor } = this;
    for (let at = 0; at < values.length; at++) counts[((values[at] - low) * factor) | 0]++;
  }

  get length() {
    return this.values.length;
  }

  /** The k-th largest, k from 1; equal numbers count separately. */
  kthLargest(k) {
    let bin = BINS - 1;
    let above = 0;
    while (above + this.counts[bin] < k) above += this.counts[bin--];
    // Only the numbers of one bin are sorted.
    const inside = new Float32Array(this.counts[bin]);
    let at = 0;
    const { values, low, factor } = this;
    for (let place = 0; place < values.length; place++)
      if ((((values[place] - low) * factor) | 0) === bin) inside[at++] = values[place];
    return inside.sort()[inside.length - (k - above)];
  }
}
