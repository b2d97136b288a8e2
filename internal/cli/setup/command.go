// Package setup is `holdfast init`, `holdfast models`, `holdfast login` and `holdfast logout`: which
// models there are, the keys of their providers, and the first settings.
package setup

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// Command makes `holdfast init`.
func Command(p *command.Program) *command.Command {
	c := p.Command(&initCmd{}, "init", "Set up a model, your settings and the project's.")
	c.Long = `Asks for three things and writes them: what an agent may do without asking you, the model with its
key, and what commands of this project may do. Then it offers to take over the settings of
other agents, and looks whether all is well. What is set already stays when you press Enter.

Without a terminal, --yes writes what the flags say and leaves out the rest.

  holdfast init
  holdfast init --yes --model ollama/qwen3`
	return c
}

// ModelsCommand makes `holdfast models`.
func ModelsCommand(p *command.Program) *command.Command {
	c := p.Command(&modelsCmd{}, "models", "List the models that a provider offers.")
	c.Long = `Without PROVIDER, list the providers and where the key of each comes from.

  holdfast models openrouter
  holdfast run -m openrouter/anthropic/claude-sonnet-4 "why does the build fail?"`
	return c
}

// LoginCommand makes `holdfast login`.
func LoginCommand(p *command.Program) *command.Command {
	c := p.Command(&loginCmd{}, "login", "Keep the key of a model provider.")
	c.Long = `The key is typed without being shown, or read from standard input. It is tried with one request
and kept in the keyring of the desktop, or, where there is none, in HOLDFAST_HOME/keys.json,
which only you can read. Without PROVIDER, list the keys that are kept.

  holdfast login openrouter
  pass show openrouter | holdfast login openrouter`
	return c
}

// LogoutCommand makes `holdfast logout`.
func LogoutCommand(p *command.Program) *command.Command {
	return p.Command(&logoutCmd{}, "logout", "Remove the key of a model provider that is kept.")
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
	b.Flag(&c.Model, "model", "m", "PROVIDER/MODEL", "The model of your runs.")
	b.Flag(&c.Mode, "permission-mode", "", "MODE", "What an agent may do without asking you.")
	b.Flag(&c.Project, "project", "", "FOR", "Allow what this project's tools need: for you alone, for all who work on it, or for nobody.", "me", "all", "none")
	b.Flag(&c.Import, "import", "", "", "Take over your settings of other agents.")
	b.Flag(&c.NoCheck, "no-check", "", "", "Do not ask the provider whether it has the model.")
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
	b.Flag(&c.BaseURL, "base-url", "", "URL", "The provider's address.")
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
	b.Flag(&c.File, "file", "", "", "Keep the key in the file even if there is a keyring.")
	b.Flag(&c.NoCheck, "no-check", "", "", "Do not try the key.")
	b.Include(&c.JSONFlag)
}

// logoutCmd is `holdfast logout`.
type logoutCmd struct {
	Provider string
}

func (c *logoutCmd) Declare(b *command.Builder) {
	b.Arg(&c.Provider, "provider", "The provider.")
}
