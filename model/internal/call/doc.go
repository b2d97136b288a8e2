// Package call contains the code that the providers' adapters share for one call over HTTP. It
// sends a request body in pieces without copying it, classifies errors by what the caller can do
// about them, and converts JSON fast.
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
// The message formats of the providers are in the packages anthropic and openai.
package call
