// Package anthropic is the adapter for Claude with Anthropic's Messages API.
//
//	items ──Encode──► blocks, blocks, blocks        once per item, kept by the caller
//	                     │      │      │
//	settings + head + [ message │ message ] ──POST──► events ──► TextDelta … Answer
//	           │                       │                            │
//	           └── cache marks ────────┘                 Native: the blocks as they came
//
// The body is assembled from encoded items: the provider's cache is keyed by the prefix, so a
// resumed session must repeat it, and decoding and encoding ten thousand items again would
// take longer than the model's first word.
//
//	m, err := anthropic.New("claude-sonnet-4-6", &anthropic.Options{APIKey: key})
//	for event, err := range m.Stream(ctx, request) {
//		…
//	}
//
// Thinking blocks are sent back to the model that created them, with their signatures; those
// of other models are omitted. Calls are not retried here.
package anthropic
