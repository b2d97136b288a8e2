package chat

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// runProgram runs a command of this program in the store of the conversation, and returns what it
// prints. An error contains what it has printed.
func (u *ui) runProgram(ctx context.Context, args ...string) (string, error) {
	program, err := u.p.Executable()
	if err != nil {
		return "", err
	}
	store, err := stores.Parse(u.p.Environment(), u.start.Run.Store)
	if err != nil {
		return "", err
	}
	args, remove, err := hideValues(args)
	defer remove()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = u.cwd, append(slices.Clone(u.p.Env), "HOLDFAST_STORE="+store.ReopenURL()) // the URL can have a password, which other users would see in an argument
	b, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(b) > 0 {
		err = &outcome.Failure{Message: strings.TrimSpace(strings.TrimPrefix(string(b), "holdfast: ")), Cause: exit}
	}
	return string(b), err
}

// hideValues moves JSON in flags to private files, because it can have keys, which other users would
// see in an argument.
func hideValues(args []string) (hidden []string, remove func(), err error) {
	var files []string
	remove = func() {
		for _, f := range files {
			_ = os.Remove(f)
		}
	}
	for _, a := range args {
		if name, value, ok := strings.Cut(a, "="); ok && strings.HasPrefix(name, "--") && strings.HasPrefix(strings.TrimSpace(value), "{") {
			file, err := writeDraft(value)
			if files = append(files, file); err != nil {
				return nil, remove, err
			}
			a = name + "=" + file
		}
		hidden = append(hidden, a)
	}
	return hidden, remove, nil
}

// storeArg returns the flag of the store for a command that is suggested.
func (s *Session) storeArg() string { return command.StoreArg(s.flags.Store) }

// Flags returns flags for another command of the program, with the values of the next run of the
// session. Flags without a value are left out.
func (s *Session) Flags(names ...string) (args []string) {
	s.mu.Lock()
	spec := s.spec
	s.mu.Unlock()
	for _, name := range names {
		var values []string
		switch name {
		case "model":
			values = []string{spec.Model}
		case "base-url":
			values = []string{spec.ModelOptions.BaseURL}
		case "settings":
			values = spec.Permissions.Settings
		case "mcp-config":
			values = spec.MCP.Configs
		case "strict-mcp-config":
			if spec.MCP.Strict {
				args = append(args, "--strict-mcp-config")
			}
		case "no-hooks":
			if spec.Hooks.Disabled {
				args = append(args, "--no-hooks")
			}
		}
		for _, v := range values {
			if v != "" {
				args = append(args, "--"+name+"="+v)
			}
		}
	}
	return args
}
