package env

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// helperTimeout is the time limit of a credential helper.
const helperTimeout = time.Minute

// ResolveReferences resolves references and adds their values to the environment. A reference is
// env:NAME, keyring:SERVICE/USER or command:PROGRAM ARGUMENTS.
func (e *Env) ResolveReferences(ctx context.Context, from map[string]string) error {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(from)) {
		value, err := e.Reference(ctx, from[name])
		if err != nil {
			return &outcome.Failure{
				Message: fmt.Sprintf("variable %s: %s: %v", name, from[name], err), Cause: err, Result: outcome.Usage,
				Advice: "check that it exists, or use another reference: --env-from " + name + "=env:NAME, keyring:SERVICE/USER or command:PROGRAM",
			}
		}
		list = append(list, name+"="+value)
	}
	if len(list) > 0 {
		e.Vars = slices.Concat(e.Vars, list)
		e.Commands = e.Vars
	}
	return nil
}

// Reference returns the value of a reference.
func (e *Env) Reference(ctx context.Context, ref string) (string, error) {
	kind, rest, _ := strings.Cut(ref, ":")
	switch kind {
	case "env":
		if value := e.Lookup(rest); value != "" {
			return value, nil
		}
		return "", fmt.Errorf("%s is not set", rest)
	case "keyring":
		service, user, _ := strings.Cut(rest, "/")
		return keyring.Get(service, user)
	case "command":
		return e.runHelper(ctx, strings.Fields(rest))
	}
	return "", fmt.Errorf("unknown reference type %q", kind)
}

// runHelper runs a credential helper, which prints a value. No shell is involved.
func (e *Env) runHelper(ctx context.Context, args []string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, helperTimeout)
	defer stop()
	if len(args) == 0 {
		return "", fmt.Errorf("the program is missing")
	}
	var errs bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Stderr = e.Vars, &errs
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(errs.String()))
	}
	value := strings.TrimRight(string(out), "\r\n")
	if value == "" || strings.ContainsRune(value, 0) {
		return "", fmt.Errorf("the program printed nothing")
	}
	return value, nil
}
