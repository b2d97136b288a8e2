package cli

// variable is one environment variable, or several with the same meaning.
type variable struct {
	group   string
	names   []string
	meaning string
}

// environment lists the variables that the program reads, for the man page and
// docs/reference/environment.md.
var environment = []variable{
	{"Files", []string{"HOLDFAST_HOME"}, "The folder of Holdfast's files and your settings. Default: ~/.holdfast."},
	{"Files", []string{"CLAUDE_CONFIG_DIR"}, "The folder of Claude Code's settings. Default: ~/.claude."},
	{"Files", []string{"CODEX_HOME"}, "The folder of Codex's settings. Default: ~/.codex."},

	{"Models", []string{"HOLDFAST_MODEL"}, "The model of a run, as in --model. It overrides model in the settings."},
	{"Models", []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "GROQ_API_KEY", "DEEPSEEK_API_KEY", "MISTRAL_API_KEY", "XAI_API_KEY", "TOGETHER_API_KEY", "VLLM_API_KEY"},
		"API keys of model providers. They override a key that holdfast login stored and a keyring: or command: in apiKey of the settings, but not an env: there. Holdfast never prints them and does not pass them to commands."},
	{"Models", []string{"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"}, "The URL of another server with the same API."},
	{"Models", []string{"HOLDFAST_SEARCH_URL"}, "The search service of the WebSearch tool."},

	{"Store", []string{"HOLDFAST_STORE"}, "The store, as in --store. Put a URL with a password here: other accounts can see flags."},
	{"Store", []string{"HOLDFAST_STORE_WAIT"}, "How long a run waits for a store that is unavailable: 30s, 5m; 0 does not wait."},
	{"Store", []string{"HOLDFAST_MIRROR"}, "A second store that receives a copy of every record."},
	{"Store", []string{"HOLDFAST_STORE_KEY"}, "The key of an encrypted store: the file of an age identity, or keychain:NAME."},
	{"Store", []string{"HOLDFAST_STORE_PASSPHRASE"}, "The passphrase of an encrypted store, instead of a key."},
	{"Store", []string{"HOLDFAST_STORE_RECIPIENTS"}, "Additional age recipients (public keys) that can decrypt the data written from now on, separated by spaces or commas."},

	{"Daemon", []string{"HOLDFAST_NO_DAEMON"}, "Set to 1 to run agents in this process, as --no-daemon does."},
	{"Daemon", []string{"HOLDFAST_DAEMON_URL", "HOLDFAST_DAEMON_TOKEN"}, "The daemon that programs with package daemon/client use, if it is not the daemon of HOLDFAST_HOME."},
	{"Daemon", []string{"HOLDFAST_DAEMON_LISTEN", "HOLDFAST_DAEMON_TLS_CERT", "HOLDFAST_DAEMON_TLS_KEY", "HOLDFAST_DAEMON_ALLOW_HOST", "HOLDFAST_DAEMON_ALLOW_ORIGIN", "HOLDFAST_DAEMON_DRAIN", "HOLDFAST_DAEMON_LOG_FORMAT"},
		"Defaults of the flags of daemon run with these names."},

	{"Terminal", []string{"NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TERM"}, "Turn colors off or on. TERM=dumb also turns the progress line off."},
}
