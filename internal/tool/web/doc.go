// Package web fetches pages and searches the web for a model.
//
//	WebFetch {url} ─► guard (WebFetch(domain:…)) ─► egress rules ─► the address that was judged
//	     │                                             └ names only to public addresses
//	     └─◄ Markdown or text, bounded, marked as written by others ◄─ HTML, JSON, text
//	WebSearch {query} ─► guard ─► [Searcher]: [Brave]
//
// Nothing is connected to before the guard has said yes to host and port, and then only
// through package internal/sandbox/egress: a name that leads to a private address, or to that of a
// cloud's metadata, is refused, and what was judged is what is connected to. A redirect
// to another host is told to the model, whose next call is judged anew.
//
//	w, err := web.New(&web.Options{Layers: layers})
//	registry, err := tool.NewRegistry(w.Tools()...)
//
// It is no browser: scripts do not run, nothing is sent but the request for the page, and
// no cookie is kept.
package web
