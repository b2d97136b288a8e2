// A value that parts of the page subscribe to.
import { useEffect, useState } from './dom.js';

/** store holds one value and notifies its subscribers of each change. */
export function store(value) {
  const followers = new Set();
  return {
    get: () => value,
    set(next) {
      const v = typeof next === 'function' ? next(value) : next;
      if (Object.is(v, value)) return;
      value = v;
      for (const f of [...followers]) f(v);
    },
    follow(f) {
      followers.add(f);
      return () => followers.delete(f);
    },
  };
}

/** useStore renders again when the store changes. */
export function useStore(s) {
  const [v, set] = useState(s.get());
  useEffect(() => {
    set(() => s.get());
    return s.follow((next) => set(() => next));
  }, [s]);
  return v;
}
