// Package anthropic is the adapter for Claude with Anthropic's Messages API.
//
//	items ──Encode──► blocks, blocks, blocks        once per item, kept by the caller
//	                     │      │      │
//	settings + head + [ message │ message ] ──POST──► events ──► TextDelta … Answer
//	           │                       │                            │
//	           └── cache marks ────────┘                 Native: the blocks as they came
//
// The body is assembled from encoded items. The provider's cache is keyed by the prefix, so a
// resumed session must repeat the prefix exactly. Decoding and encoding ten thousand items again
// would take longer than the model needs for its first word.
//
//	m, err := anthropic.New("claude-sonnet-4-6", &anthropic.Options{APIKey: key})
//	for event, err := range m.Stream(ctx, request) {
//		…
//	}
//
// Thinking blocks are sent back only to the model that created them, with their signatures.
// Thinking of other models is omitted. Calls are not retried here.
package anthropic
