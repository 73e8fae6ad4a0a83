// The context similarity matrix C = Z Z' of one head, in the three variants that the library has.

/** C as n x n floats with a zero diagonal; `counted` marks the tokens that make up the mean. */
export function similarity(headOutput, n, variant, counted) {
  const d = headOutput.length / n;
  const vectors = prepared(headOutput, n, d, variant, counted);
  const matrix = new Float32Array(n * n);
  for (let i = 0; i < n; i++) {
    const first = i * d;
    for (let j = i + 1; j < n; j++) {
      const second = j * d;
      let sum = 0;
      for (let k = 0; k < d; k++) sum += vectors[first + k] * vectors[second + k];
      matrix[i * n + j] = sum;
      matrix[j * n + i] = sum;
    }
  }
  return matrix;
}

function prepared(headOutput, n, d, variant, counted) {
  if (variant === "raw") return headOutput;
  const vectors = Float64Array.from(headOutput);
  if (variant === "centred") {
    const mean = new Float64Array(d);
    let tokens = 0;
    for (let i = 0; i < n; i++) {
      if (!counted[i]) continue;
      tokens++;
      for (let k = 0; k < d; k++) mean[k] += vectors[i * d + k];
    }
    for (let at = 0; at < vectors.length; at++) vectors[at] -= mean[at % d] / Math.max(tokens, 1);
    return vectors;
  }
  for (let i = 0; i < n; i++) {
    let square = 0;
    for (let k = 0; k < d; k++) square += vectors[i * d + k] ** 2;
    const length = Math.max(Math.sqrt(square), 1e-12);
    for (let k = 0; k < d; k++) vectors[i * d + k] /= length;
  }
  return vectors;
}

/** The similarities of all pairs of counted tokens, in the order of the text. */
export function pairScores(matrix, n, counted) {
  const places = [];
  for (let i = 0; i < n; i++) if (counted[i]) places.push(i);
  const scores = new Float32Array((places.length * (places.length - 1)) / 2);
  let at = 0;
  for (let a = 0; a < places.length; a++) {
    const row = places[a] * n;
    for (let b = a + 1; b < places.length; b++) scores[at++] = matrix[row + places[b]];
  }
  return scores;
}
