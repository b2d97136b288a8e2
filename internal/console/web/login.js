// Logging in with a one-time link. The code is after the #, so it is in no log.
import { html, useEffect, useRef, useState } from './dom.js';
import { post, info, storeToken } from './api.js';

export function Login({ code, onIn }) {
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(!!code);
  const tried = useRef('');
  useEffect(() => {
    document.title = 'Log in · Holdfast';
    if (!code || tried.current === code) return;
    tried.current = code;
    history.replaceState(null, '', '/login'); // a used code should not stay in the history
    info.set(null);
    post('/v1/login', { code: decodeURIComponent(code) }).then((doc) => { storeToken(doc.csrf); onIn(); }).catch((e) => { setError(e); setBusy(false); });
  }, [code]);
  return html`<main id="main" class="alone" tabindex="-1"><div class="login">
    <p class="brand"><img src="/icon.svg" alt="" width="28" height="28" />Holdfast</p>
    ${busy ? html`<p role="status">Logging in …</p>` : html`
    <h1>${error ? 'This link does not work' : 'Log in with a link'}</h1>
    ${error ? html`<p role="alert">${error.status === 0 ? error.message + '.' : 'It was already used, or it has expired.'} Create a new one:</p>` : html`<p>Create a one-time login link on the daemon's machine:</p>`}
    <pre class="command" tabindex="0">holdfast daemon open</pre>
    <p class="muted">Open the printed link in this browser. It works for a few minutes.</p>`}
  </div></main>`;
}
