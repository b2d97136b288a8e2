// Package setup is `holdfast init`, `holdfast models`, `holdfast login` and `holdfast logout`: list
// models, store the keys of providers, and write the first settings.
package setup

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// Command returns `holdfast init`.
func Command(p *command.Program) *command.Command {
	c := p.Command(&initCmd{}, "init", "Set up a model, your settings and the project's.")
	c.Long = `Asks three questions and saves the answers: what an agent may do without asking you, which model to
use and its API key, and which commands of this project are allowed. Then it offers to import
settings of other agents and checks the setup. Press Enter to keep a current value.

Without a terminal, --yes saves the values of the flags and skips the rest.

  holdfast init
  holdfast init --yes --model ollama/qwen3`
	return c
}

// ModelsCommand returns `holdfast models`.
func ModelsCommand(p *command.Program) *command.Command {
	c := p.Command(&modelsCmd{}, "models", "List the models that a provider offers.")
	c.Long = `Without PROVIDER, lists the providers and the source of each provider's key.

  holdfast models openrouter
  holdfast run -m openrouter/anthropic/claude-sonnet-4 "why does the build fail?"`
	return c
}

// LoginCommand returns `holdfast login`.
func LoginCommand(p *command.Program) *command.Command {
	c := p.Command(&loginCmd{}, "login", "Store the API key of a model provider.")
	c.Long = `Type the key (it is not echoed) or pipe it to standard input. The key is checked with one request
and stored in the desktop's keyring or, if there is none, in HOLDFAST_HOME/keys.json, which only
you can read. Without PROVIDER, lists the stored keys.

  holdfast login openrouter
  pass show openrouter | holdfast login openrouter`
	return c
}

// LogoutCommand returns `holdfast logout`.
func LogoutCommand(p *command.Program) *command.Command {
	return p.Command(&logoutCmd{}, "logout", "Remove the stored API key of a model provider.")
}

// initCmd is `holdfast init`.
type initCmd struct {
	Model   string
	Mode    string
	Project string
	Import  bool
	NoCheck bool
	Yes     bool
	command.JSONFlag
}

func (c *initCmd) Declare(b *command.Builder) {
	b.Flag(&c.Model, "model", "m", "PROVIDER/MODEL", "The default model for your runs.")
	b.Flag(&c.Mode, "permission-mode", "", "MODE", "The permission mode: what an agent may do without asking you.")
	b.Flag(&c.Project, "project", "", "FOR", "Allow what this project's tools need: me (only for you), all (for everyone who works on it) or none.", "me", "all", "none")
	b.Flag(&c.Import, "import", "", "", "Import your settings of other agents.")
	b.Flag(&c.NoCheck, "no-check", "", "", "Do not check that the provider offers the model.")
	b.Flag(&c.Yes, "yes", "y", "", "Ask nothing.")
	b.Include(&c.JSONFlag)
}

// modelsCmd is `holdfast models`.
type modelsCmd struct {
	Provider string
	BaseURL  string
	command.JSONFlag
}

func (c *modelsCmd) Declare(b *command.Builder) {
	b.Optional(&c.Provider, "provider", "The provider, such as openrouter.")
	b.Flag(&c.BaseURL, "base-url", "", "URL", "The provider's base URL.")
	b.Include(&c.JSONFlag)
}

// loginCmd is `holdfast login`.
type loginCmd struct {
	Provider string
	File     bool
	NoCheck  bool
	command.JSONFlag
}

func (c *loginCmd) Declare(b *command.Builder) {
	b.Optional(&c.Provider, "provider", "The provider, such as openrouter.")
	b.Flag(&c.File, "file", "", "", "Store the key in the file even if there is a keyring.")
	b.Flag(&c.NoCheck, "no-check", "", "", "Store the key without checking it.")
	b.Include(&c.JSONFlag)
}

// logoutCmd is `holdfast logout`.
type logoutCmd struct {
	Provider string
}

func (c *logoutCmd) Declare(b *command.Builder) {
	b.Arg(&c.Provider, "provider", "The provider.")
}
