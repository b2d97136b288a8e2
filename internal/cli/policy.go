package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/policycheck"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

func newPolicyCmd(p *Program) *cobra.Command {
	return p.group("policy", "Show, explain, test and check the permission policy.",
		p.command(&policyShowCmd{}, "show", "Show the mode, the rules with where they were written, the limits, and each tool's chain."),
		p.command(&policyExplainCmd{}, "explain", "Say what would become of one tool call, and why."),
		p.command(&policyTestCmd{}, "test", "Run tables of calls and what is to become of them."),
		p.command(&policyLintCmd{}, "lint", "Find rules and settings that cannot work."),
		p.command(&policyCheckCmd{}, "check", "Judge many calls, one JSON object per line."),
		p.command(&policyReplayCmd{}, "replay", "Judge a past session by today's policy and say what would differ."),
		p.command(&policyModeCmd{}, "mode", "Change the permission mode of a session, also while it runs."),
		p.command(&policyGrantsCmd{}, "grants", "List or revoke what people decided for a session."),
	)
}

// policyFlags say which settings judge.
type policyFlags struct {
	CWD            string
	PermissionMode string
	Settings       []string
}

func (c *policyFlags) declare(b *builder) {
	b.flag(&c.CWD, "cwd", "", "FOLDER", "The folder the session would work in; default the current one.")
	b.flag(&c.PermissionMode, "permission-mode", "", "MODE", "The permission mode; default what settings say.")
	b.flag(&c.Settings, "settings", "", "FILE|JSON", "More settings, stronger than those of the folder and the user; may be repeated.")
}

// load reads the settings of the folder, and those named by the flags.
func (f *policyFlags) load(p *Program, alone bool) (*settings.Settings, error) {
	o, err := f.options(p, alone)
	if err != nil {
		return nil, err
	}
	return settings.Load(o)
}

func (f *policyFlags) options(p *Program, alone bool) (*settings.Options, error) {
	if f.PermissionMode != "" {
		if _, err := policy.ParseMode(f.PermissionMode); err != nil {
			return nil, usage(err.Error(), "")
		}
	}
	cwd, err := p.folder(f.CWD)
	if err != nil {
		return nil, err
	}
	files, err := p.settingsFiles(f.Settings)
	if err != nil {
		return nil, err
	}
	o := &settings.Options{User: p.userHome(), Cwd: cwd, Files: files, Alone: true}
	if !alone {
		if o, err = p.settingsOptions(cwd, files); err != nil {
			return nil, err
		}
	}
	o.Flags.Mode = policy.Mode(f.PermissionMode)
	return o, nil
}

// settingsFiles makes what --settings names absolute: the paths are relative to
// where the program was started, not to --cwd.
func (p *Program) settingsFiles(given []string) ([]string, error) {
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

// judge judges tool calls by settings in this program's environment.
func (p *Program) judge(s *settings.Settings) *policycheck.Judge {
	return policycheck.New(s, p.userHome(), p.env(tools.EnvSearchURL))
}

// isInline reports whether what --settings got is JSON rather than a file's name.
func isInline(given string) bool { return strings.HasPrefix(strings.TrimSpace(given), "{") }
