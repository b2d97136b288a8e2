package cli

import (
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// settingsOptions say where this program's settings are for a session that works in cwd.
func (p *Program) settingsOptions(cwd string, files []string) (*settings.Options, error) {
	return p.environment().SettingsOptions(cwd, files)
}

// loadSettings loads the settings of a session that works in cwd.
func (p *Program) loadSettings(cwd string, files []string) (*settings.Settings, error) {
	return p.environment().Settings(cwd, files)
}

// settingsOf loads the settings of a folder that the command line names, or else of
// the current one.
func (p *Program) settingsOf(folder string) (*settings.Settings, error) {
	return p.environment().SettingsOf(folder)
}

// trust is the list of what is trusted, in the program's own folder.
func (p *Program) trust() (*settings.Trust, error) { return p.environment().Trust() }

// userHome is the person's home folder, or "".
func (p *Program) userHome() string { return p.environment().UserHome() }

// notices prints notices.
func (p *Program) notices(list []env.Notice) { p.environment().Send(list...) }

// mcpNotices tells which MCP servers are left out.
func (p *Program) mcpNotices(folder string, list []settings.MCPServer) {
	p.notices(compose.ServerNotices(folder, list))
}

// notice tells once what an untrusted folder asks for and does not get.
func (p *Program) notice(s *settings.Settings) { p.notices(compose.SettingsNotices(s)) }

// permissionFlags are the flags of run that say what is allowed.
type permissionFlags struct {
	PermissionMode  string
	AllowedTools    []string
	DisallowedTools []string
	Settings        []string
	OnAsk           string
	AskTimeout      time.Duration
}

func (c *permissionFlags) declare(b *builder) {
	b.group = "Permission"
	b.flag(&c.PermissionMode, "permission-mode", "", "MODE", "default, plan, auto, acceptEdits, dontAsk, bypassPermissions, restricted or silent.")
	b.flag(&c.AllowedTools, "allowed-tools", "", "RULES", "What runs without asking: tools and rules, Read,Bash(git log:*); may be repeated.")
	b.alias("allowed-tools", "allowedTools")
	b.flag(&c.DisallowedTools, "disallowed-tools", "", "RULES", "What is denied: rules; and tools that the model does not get, by name; may be repeated.")
	b.alias("disallowed-tools", "disallowedTools")
	b.flag(&c.Settings, "settings", "", "FILE|JSON", "More settings, stronger than those of the folder and the user; may be repeated.")
	b.flag(&c.OnAsk, "on-ask", "", "WAY", "Without a terminal: deny what would be asked (default), wait for an answer from elsewhere, or fail and leave the question open.", "deny", "wait", "fail")
	b.flag(&c.AskTimeout, "ask-timeout", "", "TIME", "How long a question waits before the answer is no, such as 10m.")
}

func (f *permissionFlags) check() error {
	if f.AskTimeout < 0 {
		return usage("--ask-timeout must not be negative", "")
	}
	if f.PermissionMode != "" {
		if _, err := policy.ParseMode(f.PermissionMode); err != nil {
			return usage(err.Error(), "")
		}
	}
	return nil
}

// ruleLine is a rule as people read it: "deny   Bash(rm:*)  /w/.holdfast/settings.json:3:14".
func ruleLine(t term.Style, effect policy.Effect, text, where string) string {
	return fmt.Sprintf("%s %s  %s", effectWord(t, effect), term.Escape(text), t.Dim(term.Escape(where)))
}

// effectWord is an effect in its colour, padded to six characters.
func effectWord(t term.Style, e policy.Effect) string {
	word := term.Column(string(e), 6)
	switch e {
	case policy.Allow:
		return t.Green(word)
	case policy.Deny:
		return t.Red(word)
	case policy.Ask:
		return t.Yellow(word)
	}
	return t.Dim(term.Column("-", 6))
}
