// Package models is `holdfast models`, `holdfast login` and `holdfast logout`: which models there
// are, and the keys of their providers.
package models

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// Command makes `holdfast models`.
func Command(p *command.Program) *command.Command {
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
