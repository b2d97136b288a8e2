// Package web fetches pages and searches the web for a model.
//
//	WebFetch {url} ─► guard (WebFetch(domain:…)) ─► egress rules ─► the address that was checked
//	     │                                             └ names only to public addresses
//	     └─◄ Markdown or text, bounded, marked as written by others ◄─ HTML, JSON, text
//	WebSearch {query} ─► guard ─► [Searcher]: [Brave]
//
// A connection is made only after the guard has allowed the host and port, and only through package
// internal/sandbox/egress. That package refuses a name that resolves to a private address or to the
// address of a cloud's metadata service. It connects only to the address that it has checked. A
// redirect to another host is returned to the model. If the model then fetches that URL, the call
// is checked again.
//
//	w, err := web.New(&web.Options{Layers: layers})
//	registry, err := tool.NewRegistry(w.Tools()...)
//
// It is not a browser: it runs no scripts, sends only the request for the page, and stores no
// cookies.
package web
