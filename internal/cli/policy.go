package cli

import (
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/policycheck"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

func newPolicyCmd(p *command.Program) *command.Command {
	return p.Group("policy", "Show, explain, test and check the permission policy.",
		p.Command(&policyShowCmd{}, "show", "Show the mode, the rules with where they were written, the limits, and each tool's chain."),
		p.Command(&policyExplainCmd{}, "explain", "Say what would become of one tool call, and why."),
		p.Command(&policyTestCmd{}, "test", "Run tables of calls and what is to become of them."),
		p.Command(&policyLintCmd{}, "lint", "Find rules and settings that cannot work."),
		p.Command(&policyCheckCmd{}, "check", "Judge many calls, one JSON object per line."),
		p.Command(&policyReplayCmd{}, "replay", "Judge a past session by today's policy and say what would differ."),
		p.Command(&policyModeCmd{}, "mode", "Change the permission mode of a session, also while it runs."),
		p.Command(&policyGrantsCmd{}, "grants", "List or revoke what people decided for a session."),
	)
}

// policyFlags say which settings judge.
type policyFlags struct {
	CWD            string
	PermissionMode string
	Settings       []string
}

func (c *policyFlags) Declare(b *command.Builder) {
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The folder the session would work in; default the current one.")
	b.Flag(&c.PermissionMode, "permission-mode", "", "MODE", "The permission mode; default what settings say.")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "More settings, stronger than those of the folder and the user; may be repeated.")
}

// load reads the settings of the folder, and those named by the flags.
func (f *policyFlags) load(p *command.Program, alone bool) (*settings.Settings, error) {
	o, err := f.options(p, alone)
	if err != nil {
		return nil, err
	}
	return settings.Load(o)
}

func (f *policyFlags) options(p *command.Program, alone bool) (*settings.Options, error) {
	if f.PermissionMode != "" {
		if _, err := policy.ParseMode(f.PermissionMode); err != nil {
			return nil, outcome.Invalid(err.Error(), "")
		}
	}
	cwd, err := p.Folder(f.CWD)
	if err != nil {
		return nil, err
	}
	files, err := settingsFiles(p, f.Settings)
	if err != nil {
		return nil, err
	}
	o := &settings.Options{User: p.UserHome(), Cwd: cwd, Files: files, Alone: true}
	if !alone {
		if o, err = p.SettingsOptions(cwd, files); err != nil {
			return nil, err
		}
	}
	o.Flags.Mode = policy.Mode(f.PermissionMode)
	return o, nil
}

// settingsFiles makes what --settings names absolute: the paths are relative to
// where the program was started, not to --cwd.
func settingsFiles(p *command.Program, given []string) ([]string, error) {
	var files []string
	for _, f := range given {
		if !isInline(f) && f != "" && !filepath.IsAbs(f) {
			wd, err := p.Getwd()
			if err != nil {
				return nil, err
			}
			f = filepath.Join(wd, f)
		}
		files = append(files, f)
	}
	return files, nil
}

// judgeOf judges tool calls by settings in this program's environment.
func judgeOf(p *command.Program, s *settings.Settings) *policycheck.Judge {
	return policycheck.New(s, p.UserHome(), p.Getenv(tools.EnvSearchURL))
}

// isInline reports whether what --settings got is JSON rather than a file's name.
func isInline(given string) bool { return strings.HasPrefix(strings.TrimSpace(given), "{") }
