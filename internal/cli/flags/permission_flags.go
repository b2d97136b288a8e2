package flags

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
)

// PermissionFlags are the flags of run that say what is allowed.
type PermissionFlags struct {
	PermissionMode  string
	AllowedTools    []string
	DisallowedTools []string
	Settings        []string
	OnAsk           string
	AskTimeout      time.Duration
}

func (c *PermissionFlags) Declare(b *command.Builder) {
	b.Heading = "Permission"
	b.Flag(&c.PermissionMode, "permission-mode", "", "MODE", "default, plan, auto, acceptEdits, dontAsk, bypassPermissions, restricted or silent.")
	b.Flag(&c.AllowedTools, "allowed-tools", "", "RULES", "What runs without asking: tools and rules, Read,Bash(git log:*); may be repeated.")
	b.Alias("allowed-tools", "allowedTools")
	b.Flag(&c.DisallowedTools, "disallowed-tools", "", "RULES", "What is denied: rules; and tools that the model does not get, by name; may be repeated.")
	b.Alias("disallowed-tools", "disallowedTools")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "More settings, stronger than those of the folder and the user; may be repeated.")
	b.Flag(&c.OnAsk, "on-ask", "", "WAY", "Without a terminal: deny what would be asked (default), wait for an answer from elsewhere, or fail and leave the question open.", "deny", "wait", "fail")
	b.Flag(&c.AskTimeout, "ask-timeout", "", "TIME", "How long a question waits before the answer is no, such as 10m.")
}

// Check refuses what makes no sense.
func (f *PermissionFlags) Check() error {
	if f.AskTimeout < 0 {
		return outcome.Invalid("--ask-timeout must not be negative", "")
	}
	if f.PermissionMode != "" {
		if err := policy.Mode(f.PermissionMode).Check(); err != nil {
			return outcome.Invalid(err.Error(), "")
		}
	}
	return nil
}
