// Terminal colors in a program's output, as spans with classes.
import { html, cls } from './dom.js';
import { seen } from './text.js';

const sgr = /\u001b\[([0-9;:]*)m/g;

const start = () => ({ fg: -1, bg: -1, bold: false, dim: false, italic: false, under: false, strike: false, inverse: false });

// The sixteen terminal colors, to find the nearest one.
const palette = [
  [0, 0, 0], [170, 0, 0], [0, 150, 0], [170, 110, 0], [0, 0, 190], [160, 0, 160], [0, 150, 150], [190, 190, 190],
  [110, 110, 110], [255, 85, 85], [85, 255, 85], [255, 255, 85], [85, 85, 255], [255, 85, 255], [85, 255, 255], [255, 255, 255],
];

function nearest(r, g, b) {
  let best = 7;
  let least = Infinity;
  palette.forEach(([x, y, z], i) => {
    const d = (r - x) ** 2 + (g - y) ** 2 + (b - z) ** 2;
    if (d < least) [best, least] = [i, d];
  });
  return best;
}

function indexed(n) {
  if (n < 16) return n;
  if (n > 231) return nearest(8 + (n - 232) * 10, 8 + (n - 232) * 10, 8 + (n - 232) * 10);
  const level = (v) => (v ? 55 + v * 40 : 0);
  n -= 16;
  return nearest(level(Math.floor(n / 36)), level(Math.floor(n / 6) % 6), level(n % 6));
}

// extended reads 38;5;N and 38;2;R;G;B, and returns how many numbers they took.
function extended(p, i) {
  const byte = (v) => Math.min(255, Math.max(0, v | 0));
  if (p[i] === 5) return [indexed(byte(p[i + 1])), 2];
  if (p[i] === 2) return [nearest(byte(p[i + 1]), byte(p[i + 2]), byte(p[i + 3])), 4];
  return [-1, 1];
}

function apply(style, text) {
  const p = text === '' ? [0] : text.split(/[;:]/).map((n) => +n || 0);
  for (let i = 0; i < p.length; i++) {
    const n = p[i];
    if (n === 0) Object.assign(style, start());
    else if (n === 1) style.bold = true;
    else if (n === 2) style.dim = true;
    else if (n === 3) style.italic = true;
    else if (n === 4) style.under = true;
    else if (n === 7) style.inverse = true;
    else if (n === 9) style.strike = true;
    else if (n === 22) style.bold = style.dim = false;
    else if (n === 23) style.italic = false;
    else if (n === 24) style.under = false;
    else if (n === 27) style.inverse = false;
    else if (n === 29) style.strike = false;
    else if (n >= 30 && n <= 37) style.fg = n - 30;
    else if (n >= 90 && n <= 97) style.fg = n - 82;
    else if (n === 39) style.fg = -1;
    else if (n >= 40 && n <= 47) style.bg = n - 40;
    else if (n >= 100 && n <= 107) style.bg = n - 92;
    else if (n === 49) style.bg = -1;
    else if (n === 38 || n === 48) {
      const [colour, used] = extended(p, i + 1);
      if (n === 38) style.fg = colour;
      else style.bg = colour;
      i += used;
    }
  }
}

function classes(s) {
  let { fg, bg } = s;
  if (s.inverse) [fg, bg] = [bg, fg < 0 ? 7 : fg];
  if (fg === bg) bg = -1; // text in the color of its background could not be read
  return cls(fg >= 0 && 'fg' + fg, bg >= 0 && 'bg' + bg, s.bold && 'bold', s.dim && 'dim', s.italic && 'italic', s.under && 'under', s.strike && 'strike');
}

/** ansi returns a program's output as nodes. Sequences that are not colors are shown. */
export function ansi(text) {
  text = String(text ?? '');
  if (!text.includes('\u001b')) return seen(text);
  const out = [];
  const style = start();
  let from = 0;
  const add = (s) => {
    if (!s) return;
    const c = classes(style);
    out.push(c ? html`<span class=${c}>${seen(s)}</span>` : seen(s));
  };
  for (const m of text.matchAll(sgr)) {
    add(text.slice(from, m.index));
    apply(style, m[1]);
    from = m.index + m[0].length;
  }
  add(text.slice(from));
  return out;
}

/** bare returns a program's output without colors. */
export const bare = (text) => String(text ?? '').replace(sgr, '');
