// Invisible characters in a text, and how they are written.

// Control characters except newline and tab, characters that change the writing direction,
// zero-width characters, tags, and separators that look like a newline.
export const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\ud800-\udfff]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
const pictograph = /^\p{Extended_Pictographic}|^\p{Emoji_Modifier}|^[\ufe0f\u20e3]/u;

/** codeOf returns the code of a character: \x1b, \u202e, \u{e0041}. */
export function codeOf(c) {
  const n = c.codePointAt(0);
  const hex = n.toString(16);
  return n < 0x100 ? '\\x' + hex.padStart(2, '0') : n < 0x10000 ? '\\u' + hex.padStart(4, '0') : `\\u{${hex}}`;
}

/** inEmoji reports whether a joiner or a variation selector is part of an emoji. */
export function inEmoji(s, i, c) {
  if (c !== '\u200d' && c !== '\ufe0f') return false;
  const before = [...s.slice(Math.max(0, i - 2), i)].pop() || '';
  if (c === '\ufe0f') return pictograph.test(before) || /[0-9#*]/.test(before);
  return pictograph.test(before) && pictograph.test(s.slice(i + 1));
}

/** plain returns text with invisible characters written as codes. */
export function plain(s) {
  s = String(s ?? '').replace(/\r\n/g, '\n');
  return s.replace(unseen, (c, i) => (inEmoji(s, i, c) ? c : codeOf(c)));
}
