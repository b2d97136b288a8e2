// Logging in by a link that works once. The code is behind the # and so in no log.
import { html, useEffect, useRef, useState } from './dom.js';
import { post, info, keepProof } from './api.js';

export function Login({ code, onIn }) {
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(!!code);
  const tried = useRef('');
  useEffect(() => {
    document.title = 'Log in · Holdfast';
    if (!code || tried.current === code) return;
    tried.current = code;
    history.replaceState(null, '', '/login'); // a code that was used is of no use in the history
    info.set(null);
    post('/v1/login', { code: decodeURIComponent(code) }).then((doc) => { keepProof(doc.csrf); onIn(); }).catch((e) => { setError(e); setBusy(false); });
  }, [code]);
  return html`<main id="main" class="alone" tabindex="-1"><div class="login">
    <p class="brand"><img src="/icon.svg" alt="" width="28" height="28" />Holdfast</p>
    ${busy ? html`<p role="status">Logging in …</p>` : html`
    <h1>${error ? 'This link does not work' : 'Log in with a link'}</h1>
    ${error ? html`<p role="alert">${error.status === 0 ? error.message + '.' : 'It was used already, or its time is over.'} Make a new one.</p>` : html`<p>Who may use this machine makes a link that logs one browser in, once:</p>`}
    <pre class="command" tabindex="0">holdfast daemon open</pre>
    <p class="muted">Open what it prints in this browser. The link works for a few minutes.</p>`}
  </div></main>`;
}
