package shell

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
	"github.com/holdfast-dev/holdfast/tool"
)

// UnixSockets is the resource of an approval request about network.allowUnixSockets.
const UnixSockets = "unix sockets"

// maxAsked is the maximum number of approval requests for one command about accesses that the
// sandbox refused.
const maxAsked = 3

// retry is another run of a failed command, after the user allowed what the sandbox refused.
type retry struct {
	box  *sandbox.Sandbox
	note string // for the model and the user
}

// ask asks the user about the accesses that the sandbox refused to a failed command. It returns nil
// if the command does not run again. If the user answered, notes then contain the reason.
func (s *Shell) ask(ctx context.Context, call *tool.Call, c command, end exitState, asked map[string]bool) (again *retry, notes []string) {
	if call.Ask == nil || end.report == nil || end.code == 0 || end.cancelled || end.timedOut {
		return nil, nil
	}
	box, refused := c.box, ""
	for i := range end.report.Violations {
		v := &end.report.Violations[i]
		open := c.box.SettingFor(v)
		if open == nil {
			continue
		}
		r, err := refusedRequest(call.Tool, c, v, open)
		if err != nil || asked[r.Resource] || len(asked) == maxAsked {
			continue
		}
		asked[r.Resource] = true
		switch err := call.Ask(ctx, r); {
		case errors.Is(err, tool.ErrUndecided):
			return nil, nil
		case err != nil:
			return nil, []string{"[not run again: " + err.Error() + "]"}
		}
		if box, err = box.Widen(open); err != nil {
			return nil, []string{"[not run again: " + err.Error() + "]"}
		}
		refused += ", " + v.String()
	}
	if refused == "" {
		return nil, nil
	}
	return &retry{box, "[the sandbox: " + refused[2:] + "; this was allowed, and the command was run again]"}, nil
}

// refusedInput is the input that the user sees in an approval request about a refusal of the
// sandbox.
type refusedInput struct {
	Command string `json:"command"` // the command that failed and would run again
	Refused string `json:"refused"`
	Path    string `json:"path,omitempty"` // the paths that the command needs, in the folder to allow
}

func refusedRequest(name string, c command, v *sandbox.Violation, open *sandbox.Settings) (policy.Request, error) {
	in := refusedInput{Command: c.shown(), Refused: v.String()}
	r := policy.Request{Tool: name, Resource: UnixSockets, Confined: true}
	if len(open.AdditionalWritePaths) > 0 {
		tree := open.AdditionalWritePaths[0]
		r.Operation, r.Resource, r.Base = policy.OpWrite, tree, folderState(tree)
		if v.Subject != r.Resource {
			in.Path = v.Subject
		}
	}
	var err error
	r.Input, err = json.Marshal(in)
	return r, err
}

// folderState distinguishes a missing folder from an existing one.
func folderState(tree string) string {
	if _, err := os.Lstat(tree); err != nil {
		return "absent"
	}
	return ""
}

// sandboxGrants returns what the user has allowed in the sandbox for the session.
func (s *Shell) sandboxGrants() *sandbox.Settings {
	if s.opts.SandboxGrants == nil {
		return &sandbox.Settings{}
	}
	return s.opts.SandboxGrants()
}
