// Package call holds what the adapters of the providers share about one call
// over HTTP: a body that is read from where its pieces already lie, errors by
// what can be done about them, and JSON written from JSON that is there.
//
//	Wire, Wire, Wire … ──► Body ──► Exchange ──► provider
//	                                   │
//	          *model.Error ◄── Provider ◄─ status, headers, text (keys masked)
//
//	var b call.Body
//	b.Add(head)
//	b.Add(wire.JSON)
//	x := &call.Exchange{Body: &b}
//
// It knows no provider's wire: those are in packages anthropic and openai.
package call
