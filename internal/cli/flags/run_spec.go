package flags

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Spec returns the run spec that the flags describe, in a form that does not depend on this
// process. The caller sets the session, because the caller has chosen it.
func (c *RunFlags) Spec(p *command.Program, cwd string, input []transcript.Part) (runspec.Spec, error) {
	a, err := c.AgentSpec(p, cwd)
	if err != nil {
		return runspec.Spec{}, err
	}
	s := *a
	s.Model, s.Workspace = cmp.Or(c.Model, p.Getenv("HOLDFAST_MODEL")), c.Workspace
	s.Container = runspec.Container{Agent: c.Agent, Ephemeral: c.Ephemeral}
	s.Worktree = runspec.Worktree{Enabled: c.Worktree.Set, Name: c.Worktree.Name}
	if s.Workspace != "" { // the workspace determines the folder, and its settings can name a model
		s.Cwd, s.Model = "", c.Model
	}
	if s.Prompt, s.Images, err = inputimage.FromInput(input); err != nil {
		return s, err
	}
	if s.Environment.References, err = c.EnvReferences(); err != nil {
		return s, err
	}
	wd, err := p.Getwd()
	if err != nil {
		return s, err
	}
	return s, s.Resolve(wd)
}

// ReadImages reads the files of --image.
func (c *RunFlags) ReadImages(p *command.Program) (list []transcript.Media, err error) {
	for _, name := range c.Images {
		file, err := p.Path(name)
		if err != nil {
			return nil, err
		}
		m, err := inputimage.ReadFile(file)
		if err != nil {
			return nil, &outcome.Failure{Message: fmt.Sprintf("--image %s: %v", name, err), Advice: outcome.Hint(err), Result: outcome.Usage, Cause: err}
		}
		list = append(list, m)
	}
	return list, inputimage.CheckAll(list)
}

// Check rejects flags that contradict each other.
func (c *RunFlags) Check() error {
	given := func(on bool, name string) []string {
		if on {
			return []string{name}
		}
		return nil
	}
	which := slices.Concat(
		given(c.Continue, "--continue"), given(c.Resume != "", "--resume"), given(c.SessionID != "", "--session-id"))
	if len(which) > 1 {
		return outcome.Invalid(fmt.Sprintf("%s cannot be used together", strings.Join(which, " and ")), "see holdfast run --help")
	}
	const name = "choose the session with -c, -r or --session-id"
	switch {
	case c.At != "" && len(which) == 0:
		return outcome.Invalid("--at needs a session", name)
	case c.ForkSession && len(which) == 0:
		return outcome.Invalid("--fork-session needs a session", name)
	case c.WithGrants && !c.ForkSession:
		return outcome.Invalid("--with-grants needs --fork-session", "add --fork-session")
	case c.Takeover && len(which) == 0:
		return outcome.Invalid("--takeover needs a session", name)
	case c.NoPersist && (c.ForkSession || c.At != "" || c.Takeover || c.Name != ""):
		return outcome.Invalid("--no-session-persistence cannot be used with --fork-session, --at, --takeover or --name", "")
	case c.SystemPrompt != "" && c.SystemPromptFile != "":
		return outcome.Invalid("--system-prompt and --system-prompt-file cannot be used together", "")
	case c.AppendSystemPrompt != "" && c.AppendSystemPromptFile != "":
		return outcome.Invalid("--append-system-prompt and --append-system-prompt-file cannot be used together", "")
	case c.Workspace != "" && len(c.MCPConfig) > 0:
		return outcome.Invalid("--mcp-config cannot be used with --workspace: containers do not start MCP servers", "")
	case c.Workspace != "" && len(c.PluginDir) > 0:
		return outcome.Invalid("--plugin-dir cannot be used with --workspace", "a container sees only plugins in the project that its settings name")
	case c.MaxTurns < 0:
		return outcome.Invalid("--max-turns must not be negative", "")
	case c.MaxTokens < 0:
		return outcome.Invalid("--max-tokens must not be negative", "")
	case c.MaxBudgetUSD < 0 || math.IsNaN(c.MaxBudgetUSD):
		return outcome.Invalid("--max-budget-usd must not be negative", "")
	}
	if err := c.PermissionFlags.Check(); err != nil {
		return err
	}
	if c.SessionID != "" {
		return session.CheckID(c.SessionID)
	}
	return nil
}

// ResumeArgs returns the flags that must be repeated in the command that resumes the session.
func (c *RunFlags) ResumeArgs() string {
	var args strings.Builder
	args.WriteString(command.StoreArg(c.Store))
	for _, f := range [...][2]string{{"--cwd", c.CWD}, {"--workspace", c.Workspace}, {"--agent", c.Agent}, {"--model", c.Model}, {"--base-url", c.BaseURL}} {
		if f[1] != "" {
			args.WriteString(f[0] + " " + term.Quote(f[1]) + " ")
		}
	}
	return args.String()
}

// SessionSpec returns the session options that the flags set.
func (c *RunFlags) SessionSpec() runspec.Session {
	return runspec.Session{
		ID: c.SessionID, Resume: c.Resume, Continue: c.Continue, Fork: c.ForkSession, WithGrants: c.WithGrants, ForkAt: c.At, Title: c.Name,
		Takeover: c.Takeover, NoPersist: c.NoPersist,
	}
}
