// Package anthropic speaks to Claude over Anthropic's Messages API.
//
//	items ──Encode──► blocks, blocks, blocks        once per item, kept by the caller
//	                     │      │      │
//	settings + head + [ message │ message ] ──POST──► events ──► TextDelta … Answer
//	           │                       │                            │
//	           └── cache marks ────────┘                 Native: the blocks as they came
//
// The body is put together from bytes that are there already: the provider's cache
// is keyed by the prefix, so a resumed session must repeat it, and unpacking ten
// thousand items to pack them again would cost more than the model's first word.
//
//	m, err := anthropic.New("claude-sonnet-4-6", &anthropic.Options{APIKey: key})
//	for event, err := range m.Stream(ctx, request) {
//		…
//	}
//
// Thinking blocks go back to the model that thought them, with their
// signatures; those of other models are left out. Calls are not retried here.
package anthropic
