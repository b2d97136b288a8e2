// Dark, light, or the system's setting. The choice is stored in this browser.
import { store } from './store.js';

const key = 'holdfast-theme';
const stored = () => { try { return localStorage.getItem(key) || 'system'; } catch { return 'system'; } };

export const theme = store(stored());

const apply = (v) => {
  if (v === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = v;
};

export function setTheme(v) {
  try { localStorage.setItem(key, v); } catch { /* without storage, only this page has it */ }
  theme.set(v);
  apply(v);
}

apply(theme.get());
