package runspec

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// Error is an error in a spec. Every error of this package is one.
type Error struct {
	Field   string // path in JSON, such as "permissions.mode"; "" is the whole spec
	Message string
	Help    string // what to do about it, or ""
}

func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// Hint returns what to do about the error, or "".
func (e *Error) Hint() string { return e.Help }

// Check returns an error for the first invalid field or combination of fields. It reads no files,
// so a valid spec can still name a folder or a model that does not exist. The error is an *[Error].
func (s *Spec) Check() error {
	for _, check := range []func() *Error{s.checkLocation, s.checkSession, s.checkPermissions, s.checkNumbers, s.checkEnvironment} {
		if err := check(); err != nil {
			return err
		}
	}
	if err := inputimage.CheckAll(s.Images); err != nil {
		e := &Error{Field: "images", Message: err.Error()}
		if bad, ok := errors.AsType[*inputimage.Error](err); ok {
			e.Help = bad.Hint()
		}
		return e
	}
	return nil
}

func (s *Spec) checkLocation() *Error {
	for _, p := range s.paths() {
		if !filepath.IsAbs(p.path) {
			return &Error{p.field, fmt.Sprintf("is %q and must be absolute", p.path), ""}
		}
	}
	switch c := s.Container; {
	case len(s.Strategy) > 0 && s.StrategyPath != "":
		return &Error{"strategy_path", "cannot be combined with strategy", ""}
	case s.Worktree.Name != "" && !s.Worktree.Enabled:
		return &Error{"worktree.name", "needs worktree.enabled", ""}
	case c.Agent != "" && !slices.Contains([]string{"holdfast", "claude", "codex", "acp"}, c.Agent):
		return &Error{"container.agent", fmt.Sprintf("unknown agent %q", c.Agent), "holdfast, claude, codex or acp"}
	case s.Workspace == "" && c != Container{}:
		return &Error{"container", "needs a workspace", "holdfast workspace list"}
	}
	if s.Workspace == "" {
		return nil
	}
	for _, f := range []struct {
		given       bool
		field, hint string
	}{
		{len(s.AddDirs) > 0, "add_dirs", "mount the folder: holdfast workspace set --mount"},
		{len(s.PluginDirs) > 0, "plugin_dirs", "a container sees only plugins in the project that its settings name"},
		{s.Worktree.Enabled, "worktree", "the agent can make a worktree itself if the container has git"},
		{s.Sandbox.Disabled, "sandbox.off", "run without the workspace instead"},
		{s.Session.NoPersist, "session.no_persist", "a run in a workspace is always stored; to keep no home folder, use container.ephemeral"},
		{s.Hooks.Setup != "", "hooks.setup", ""},
		{len(s.MCP.Configs) > 0, "mcp.configs", "MCP servers are not started for a container"},
	} {
		if f.given {
			return &Error{f.field, "cannot be combined with workspace", f.hint}
		}
	}
	return nil
}

// checkSession also checks session.ID.
func (s *Spec) checkSession() *Error {
	o := &s.Session
	named := 0
	for _, given := range []bool{o.ID != "", o.Resume != "", o.Continue} {
		if given {
			named++
		}
	}
	const which = "set session.id, session.resume or session.continue"
	switch {
	case named > 1:
		return &Error{"session", "id, resume and continue exclude each other", ""}
	case o.ForkAt != "" && named == 0:
		return &Error{"session.at", "needs a session", which}
	case o.Fork && named == 0:
		return &Error{"session.fork", "needs a session", which}
	case o.Takeover && named == 0:
		return &Error{"session.takeover", "needs a session", which}
	case o.WithGrants && !o.Fork:
		return &Error{"session.with_grants", "needs session.fork", "set session.fork"}
	case o.NoPersist && (o.Fork || o.ForkAt != "" || o.Takeover || o.Title != ""):
		return &Error{"session.no_persist", "cannot be combined with fork, at, takeover or title", ""}
	case o.ID == "":
		return nil
	}
	if err := session.CheckID(o.ID); err != nil {
		return &Error{"session.id", err.Error(), session.Hint(err)}
	}
	return nil
}

func (s *Spec) checkPermissions() *Error {
	p := &s.Permissions
	if p.Mode != "" {
		if err := policy.Mode(p.Mode).Check(); err != nil {
			return &Error{"permissions.mode", err.Error(), ""}
		}
	}
	if _, err := p.Timeout(); err != nil {
		return &Error{"permissions.ask_timeout", err.Error(), `write it as "10m"`}
	}
	for _, f := range []struct {
		field, value string
		valid        []string
	}{
		{"permissions.on_ask", p.Unattended, []string{"", "deny", "wait", "fail"}},
		{"model_options.effort", s.ModelOptions.Effort, []string{"", "low", "medium", "high"}},
		{"hooks.setup", s.Hooks.Setup, []string{"", "init", "maintenance"}},
	} {
		if !slices.Contains(f.valid, f.value) {
			return &Error{f.field, fmt.Sprintf("unknown value %q", f.value), "one of " + strings.Join(f.valid[1:], ", ")}
		}
	}
	return nil
}

// Timeout parses AskTimeout; 0 means that the settings decide.
func (p *Permissions) Timeout() (time.Duration, error) {
	if p.AskTimeout == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(p.AskTimeout)
	if err == nil && d < 0 {
		err = errors.New("must not be negative")
	}
	return d, err
}

func (s *Spec) checkNumbers() *Error {
	switch usd := s.Limits.MaxBudgetUSD; {
	case s.Limits.MaxTurns < 0:
		return &Error{"limits.max_turns", "must not be negative", ""}
	case s.ModelOptions.MaxTokens < 0:
		return &Error{"model_options.max_tokens", "must not be negative", ""}
	case math.IsNaN(usd) || math.IsInf(usd, 0) || usd < 0 && usd != -1:
		return &Error{"limits.max_budget_usd", "must not be negative", "-1 removes the limit of the session"}
	case s.Compaction.Items < 0 || s.Compaction.Items > 0 && s.Compaction.Items < 4:
		return &Error{"compaction.items", "fewer than 4 items cannot be compacted", "leave it out to use the model's context size as the limit"}
	case s.Compaction.Disabled && s.Compaction.Items > 0:
		return &Error{"compaction.items", "cannot be combined with compaction.off", ""}
	}
	return nil
}

func (s *Spec) checkEnvironment() *Error {
	for _, name := range s.Environment.Variables {
		if err := checkVariable("environment.variables", name); err != nil {
			return err
		}
	}
	for name, ref := range s.Environment.References {
		if err := checkVariable("environment.from", name); err != nil {
			return err
		}
		kind, rest, ok := strings.Cut(ref, ":")
		if !ok || strings.TrimSpace(rest) == "" || !slices.Contains([]string{"env", "keyring", "command"}, kind) {
			return &Error{"environment.from." + name, "is not a reference", "env:NAME, keyring:SERVICE/USER or command:PROGRAM ARGUMENTS; a value is never written here"}
		}
	}
	return nil
}

func checkVariable(field, name string) *Error {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return &Error{field, fmt.Sprintf("%q is not a variable name", name), "give the name of the variable without its value"}
	}
	return nil
}
