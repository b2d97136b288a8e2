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

// UnixSockets is the resource of a question about network.allowUnixSockets.
const UnixSockets = "unix sockets"

// maxAsked is how many questions a command may raise that the sandbox has refused something.
const maxAsked = 3

// retry is a command that failed because the sandbox refused it something, and that a person lets run
// again with that open.
type retry struct {
	box  *sandbox.Sandbox
	note string // for the model and the person
}

// ask asks about what the sandbox has refused a command that failed. It returns nil if the command is
// not to run again; notes then say why, if a person has answered.
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
		r, err := request(call.Tool, c, v, open)
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

// refusedInput is what a person is shown of what the sandbox refused.
type refusedInput struct {
	Command string `json:"command"` // that failed, and would run again
	Refused string `json:"refused"`
	Path    string `json:"path,omitempty"` // that the command needs, in the tree that would be opened
}

func request(name string, c command, v *sandbox.Violation, open *sandbox.Settings) (policy.Request, error) {
	in := refusedInput{Command: c.shown(), Refused: v.String()}
	r := policy.Request{Tool: name, Resource: UnixSockets, Confined: true}
	if len(open.AdditionalWritePaths) > 0 {
		tree := open.AdditionalWritePaths[0]
		r.Operation, r.Resource, r.Base = policy.OpWrite, tree, state(tree)
		if v.Subject != r.Resource {
			in.Path = v.Subject
		}
	}
	var err error
	r.Input, err = json.Marshal(in)
	return r, err
}

// state tells a tree that is not there yet from one that is.
func state(tree string) string {
	if _, err := os.Lstat(tree); err != nil {
		return "absent"
	}
	return ""
}

// opened is what a person has opened for the session.
func (s *Shell) opened() *sandbox.Settings {
	if s.opts.SandboxGrants == nil {
		return &sandbox.Settings{}
	}
	return s.opts.SandboxGrants()
}
