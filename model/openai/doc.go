// Package openai is the adapter for the Chat Completions API, for OpenAI and compatible
// servers (Ollama, llama.cpp, vLLM, OpenRouter).
//
//	items ──Encode──► message, message, message     once per item, kept by the caller
//	                     │        │        │
//	settings + [ system, messages … ] + tools ──POST──► chunks ──► TextDelta … Answer
//
// The body is assembled from encoded items.
//
//	m, err := openai.New("gpt-5.1", &openai.Options{APIKey: key})
//	m, err = openai.New("qwen3:8b", &openai.Options{BaseURL: "http://127.0.0.1:11434/v1"})
//
// Different servers omit different fields: usage, tool call ids, deltas. Fields that are missing
// are generated or left empty. Reasoning that a server streams is shown, but is never sent back,
// because the API has no field for it. Calls are not retried here.
package openai
