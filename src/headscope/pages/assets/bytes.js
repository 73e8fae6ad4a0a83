// Numbers packed as text: base64, with zlib where it saves space.

/** The bytes of a base64 text. */
export function decode(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/** The bytes of a base64 text that was packed with zlib. */
export async function inflate(text) {
  const stream = new Blob([decode(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The 32-bit floats of a base64 text, in little-endian order. */
export function floats(text) {
  return new Float32Array(decode(text).buffer);
}
