package policy

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/policycheck"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

func (c *explainCmd) Run(ctx context.Context, p *command.Program) error {
	call, err := c.call(p.Args)
	if err != nil {
		return err
	}
	s, err := c.Load(p, false)
	if err != nil {
		return err
	}
	j := newJudge(p, s)
	g, err := j.Guards("", "")
	if err != nil {
		return err
	}
	d, requests, err := j.Decide(ctx, g, call)
	if err != nil {
		return outcome.Invalid(call.Tool+": "+err.Error(), `give the whole input: holdfast policy explain `+call.Tool+` '{"…": "…"}'`)
	}
	v := policycheck.Explain(&d, requests, g.Cwd)
	v.Note = ignoredNote(s, requests)
	if c.JSON {
		err = p.Out.JSON(v, p.Out.TTY)
	} else {
		p.SettingsNotices(s)
		printDecision(p.Out, &v)
	}
	if err != nil {
		return err
	}
	return command.End(verdictOutcome(d.Effect))
}

// ignoredNote says which settings of the sandbox the explanation of a command ignores: whether the command would run
// in the sandbox is known only in a run.
func ignoredNote(s *settings.Settings, requests []policy.Request) string {
	isCommand := func(r policy.Request) bool { return r.Operation == policy.OpCommand }
	if !slices.ContainsFunc(requests, isCommand) {
		return ""
	}
	var set []string
	for _, b := range s.Sandboxes {
		if b.Untrusted {
			continue
		}
		if len(b.Settings.ExcludedCommands) > 0 {
			set = append(set, "excludedCommands of "+settings.OriginText(b.Origin))
		}
		if auto := b.Settings.AutoAllowBashIfSandboxed; auto != nil && *auto {
			set = append(set, "autoAllowBashIfSandboxed of "+settings.OriginText(b.Origin))
		}
	}
	if len(set) == 0 {
		return ""
	}
	return "not considered: " + strings.Join(set, ", ")
}

// call parses the arguments: either TOOL INPUT, or -- COMMAND…
func (c *explainCmd) call(args []string) (policycheck.Call, error) {
	words := c.Call
	bad := func(msg string) (policycheck.Call, error) {
		return policycheck.Call{}, outcome.Invalid(msg, "use holdfast policy explain -- git push, or holdfast policy explain Read README.md")
	}
	if at := slices.Index(args, "--"); at >= 0 {
		if after := len(args) - at - 1; after != len(words) || after == 0 {
			return bad("-- must come first, before the command")
		}
		words = []string{"Bash", command.Line(words)}
	}
	if len(words) != 2 {
		return bad("give a tool and its input, or a command after --")
	}
	call := policycheck.Call{Tool: words[0]}
	if input := strings.TrimSpace(words[1]); strings.HasPrefix(input, "{") {
		if !json.Valid([]byte(input)) {
			return bad("the input is not valid JSON")
		}
		call.Input = json.RawMessage(input)
		return call, nil
	}
	var err error
	if call.Input, err = policycheck.MakeInput(call.Tool, words[1]); err != nil {
		return bad(err.Error())
	}
	return call, nil
}

// newJudge returns a judge that decides tool calls with these settings and this program's
// environment.
func newJudge(p *command.Program, s *settings.Settings) *policycheck.Judge {
	return policycheck.New(s, p.UserHome(), p.Getenv(tools.EnvSearchURL))
}
