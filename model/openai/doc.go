// Package openai speaks the Chat Completions API: to OpenAI, and to the many
// servers that offer the same (Ollama, llama.cpp, vLLM, OpenRouter).
//
//	items ──Encode──► message, message, message     once per item, kept by the caller
//	                     │        │        │
//	settings + [ system, messages … ] + tools ──POST──► chunks ──► TextDelta … Answer
//
// The body is put together from bytes that are there already.
//
//	m, err := openai.New("gpt-5.1", &openai.Options{APIKey: key})
//	m, err = openai.New("qwen3:8b", &openai.Options{BaseURL: "http://127.0.0.1:11434/v1"})
//
// Servers differ in what they leave out: usage, tool call ids, deltas. What is
// missing is made up for or left empty. Reasoning that a server streams is shown
// but never sent back: the wire has no place for it. Calls are not retried here.
package openai
