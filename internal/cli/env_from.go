package cli

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

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/runspec"
)

// helperTimeout bounds how long a credential helper may take.
const helperTimeout = time.Minute

// references are those of --env-from, by variable.
func (c *agentFlags) references() (map[string]string, error) {
	var from map[string]string
	for _, pair := range c.EnvFrom {
		name, ref, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usage("--env-from: "+pair+" is not NAME=REFERENCE", "--env-from ANTHROPIC_API_KEY=keyring:SERVICE/USER")
		}
		if from == nil {
			from = map[string]string{}
		}
		from[name] = ref
	}
	return from, (&runspec.Spec{Environment: runspec.Environment{From: from}}).Check()
}

// fetchHere adds the variables of --env-from to the program's environment.
func (c *agentFlags) fetchHere(ctx context.Context, p *Program) error {
	from, err := c.references()
	if err != nil {
		return err
	}
	list, err := fetchVariables(ctx, p.environment(), from)
	if err == nil && len(list) > 0 {
		p.Env = slices.Concat(p.Env, list)
		p.environ = p.Env
	}
	return err
}

// fetchVariables gets the values of variables from where they are kept: entries NAME=VALUE. Each
// reference is env:NAME, keyring:SERVICE/USER or command:PROGRAM ARGUMENTS.
func fetchVariables(ctx context.Context, e *env.Env, from map[string]string) (list []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(from)) {
		value, err := fetch(ctx, e, from[name])
		if err != nil {
			return nil, &failure{
				msg: fmt.Sprintf("variable %s: %s: %v", name, from[name], err), err: err, out: outcome.Usage,
				hint: "see that it is there, or give another reference: --env-from " + name + "=env:NAME, keyring:SERVICE/USER or command:PROGRAM",
			}
		}
		list = append(list, name+"="+value)
	}
	return list, nil
}

func fetch(ctx context.Context, e *env.Env, ref string) (string, error) {
	kind, rest, _ := strings.Cut(ref, ":")
	switch kind {
	case "env":
		if value := e.Get(rest); value != "" {
			return value, nil
		}
		return "", fmt.Errorf("%s is not set", rest)
	case "keyring":
		service, user, _ := strings.Cut(rest, "/")
		return keyring.Get(service, user)
	case "command":
		return helper(ctx, e, strings.Fields(rest))
	}
	return "", fmt.Errorf("%q is no kind of reference", kind)
}

// helper runs a credential helper, which prints a value. It runs without a shell.
func helper(ctx context.Context, e *env.Env, args []string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, helperTimeout)
	defer stop()
	if len(args) == 0 {
		return "", fmt.Errorf("no program is named")
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
		return "", fmt.Errorf("it printed no value")
	}
	return value, nil
}
