// Package providers lists the model providers that are known by name: which API they
// speak, at which base URL, and which variable holds a key.
//
//	-m openrouter/anthropic/claude-sonnet-4 ─► Lookup("openrouter") ─► https://openrouter.ai/api/v1, OPENROUTER_API_KEY
//
// It makes no requests and reads no environment variables. Providers that the user adds are in
// package settings.
package providers

import (
	"net/url"
	"slices"
	"strings"
)

// The APIs that a provider can speak.
const (
	Anthropic = "anthropic" // the Messages API
	OpenAI    = "openai"    // the Chat Completions API
)

// Provider is a service or a local program that runs models.
type Provider struct {
	Name    string // the PROVIDER of PROVIDER/MODEL
	API     string // Anthropic or OpenAI
	BaseURL string
	KeyEnv  string // the environment variable with the key; "" if the provider takes none
	BaseEnv string // the environment variable with another base URL; "" if there is none
	Local   bool   // runs on this machine and needs no key
	Start   string // the command that starts a local provider; "" if there is none
	KeyPage string // where the user creates a key
	// KeyCheck is the path below BaseURL that answers only with a valid key; "" means the list of models.
	KeyCheck string
	Example  string // one of its models
}

// table contains every known provider, in the order in which they are offered to the user.
var table = []Provider{
	{Name: "anthropic", API: Anthropic, BaseURL: "https://api.anthropic.com", KeyEnv: "ANTHROPIC_API_KEY", BaseEnv: "ANTHROPIC_BASE_URL", KeyPage: "https://console.anthropic.com/settings/keys", Example: "claude-sonnet-4-6"},
	{Name: "openai", API: OpenAI, BaseURL: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY", BaseEnv: "OPENAI_BASE_URL", KeyPage: "https://platform.openai.com/api-keys", Example: "gpt-5.1"},
	{Name: "gemini", API: OpenAI, BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", KeyEnv: "GEMINI_API_KEY", KeyPage: "https://aistudio.google.com/apikey", Example: "gemini-2.5-pro"},
	{Name: "openrouter", API: OpenAI, BaseURL: "https://openrouter.ai/api/v1", KeyEnv: "OPENROUTER_API_KEY", KeyPage: "https://openrouter.ai/settings/keys", KeyCheck: "key", Example: "anthropic/claude-sonnet-4"},
	{Name: "groq", API: OpenAI, BaseURL: "https://api.groq.com/openai/v1", KeyEnv: "GROQ_API_KEY", KeyPage: "https://console.groq.com/keys", Example: "openai/gpt-oss-120b"},
	{Name: "deepseek", API: OpenAI, BaseURL: "https://api.deepseek.com/v1", KeyEnv: "DEEPSEEK_API_KEY", KeyPage: "https://platform.deepseek.com/api_keys", Example: "deepseek-chat"},
	{Name: "mistral", API: OpenAI, BaseURL: "https://api.mistral.ai/v1", KeyEnv: "MISTRAL_API_KEY", KeyPage: "https://console.mistral.ai/api-keys", Example: "devstral-medium-latest"},
	{Name: "xai", API: OpenAI, BaseURL: "https://api.x.ai/v1", KeyEnv: "XAI_API_KEY", KeyPage: "https://console.x.ai", Example: "grok-4"},
	{Name: "together", API: OpenAI, BaseURL: "https://api.together.ai/v1", KeyEnv: "TOGETHER_API_KEY", KeyPage: "https://api.together.ai/settings/api-keys", Example: "openai/gpt-oss-120b"},
	{Name: "ollama", API: OpenAI, BaseURL: "http://127.0.0.1:11434/v1", Local: true, Start: "ollama serve", Example: "qwen3"},
	{Name: "lmstudio", API: OpenAI, BaseURL: "http://127.0.0.1:1234/v1", Local: true, Start: "lms server start", Example: "qwen/qwen3-8b"},
	{Name: "vllm", API: OpenAI, BaseURL: "http://127.0.0.1:8000/v1", KeyEnv: "VLLM_API_KEY", Local: true, Start: "vllm serve MODEL", Example: "Qwen/Qwen3-8B"},
}

// All returns every known provider.
func All() []Provider { return slices.Clone(table) }

// Names returns the names of all known providers.
func Names() []string {
	var list []string
	for i := range table {
		list = append(list, table[i].Name)
	}
	return list
}

// Lookup finds a provider by its name.
func Lookup(name string) (Provider, bool) {
	i := slices.IndexFunc(table, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		return Provider{}, false
	}
	return table[i], true
}

// SameServer reports whether two base URLs have the same scheme, host and port.
func SameServer(a, b string) bool {
	x, y := server(a), server(b)
	return x != "" && x == y
}

func server(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
