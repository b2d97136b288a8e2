// Package call has what the providers' adapters share for one call over HTTP: a request body sent in
// pieces without copying, errors by what the caller can do about them, and fast conversion of JSON.
//
//	EncodedItem, EncodedItem … ──► Body ──► Exchange ──► provider
//	                                           │
//	                  *model.Error ◄── Provider ◄─ status, headers, text (keys masked)
//
//	var b call.Body
//	b.Add(head)
//	b.Add(item.JSON)
//	x := &call.Exchange{Body: &b}
//
// It has no provider's message format; packages anthropic and openai do.
package call
