package chat

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/compose/saverule"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/providers"
	"github.com/holdfast-dev/holdfast/internal/term/pick"
)

// CheckModel returns an error if the session needs a model or a key before its next run. It fetches no
// key.
func (s *Session) CheckModel() error {
	s.mu.Lock()
	model, workspace, base := s.about.Model, s.spec.Workspace, s.spec.ModelOptions.BaseURL
	s.mu.Unlock()
	if s.in != nil || workspace != "" {
		return nil
	}
	if model == "" {
		return outcome.Invalid("no model is configured yet", "/login stores the key of a provider and chooses one of its models; /model PROVIDER/MODEL chooses one for this conversation; holdfast init configures all runs")
	}
	e, name := s.p.Environment(), models.Provider(model)
	known, ok := providers.Lookup(name)
	if !ok || known.KeyEnv == "" || known.Local {
		return nil
	}
	at, err := models.EndpointOf(e, name, s.rules)
	if err != nil || !at.IsOfficial() || base != "" || !providers.SameServer(at.BaseURL, known.BaseURL) {
		return nil //nolint:nilerr // the run reports it
	}
	variable := models.KeyVariable(name, s.rules)
	if e.Lookup(variable) != "" || models.HasStoredKey(e, name, s.rules) {
		return nil
	}
	return outcome.Invalid("there is no key for "+name, "/login "+name+" stores one; or leave, and set "+variable)
}

// login stores the key of a provider with `holdfast login` on the terminal.
func (u *ui) login(args string) {
	switch words := strings.Fields(args); {
	case len(words) > 2 || len(words) == 2 && words[1] != "--no-check":
		u.say("usage: /login PROVIDER [--no-check]")
		return
	case len(words) > 0:
		u.borrow = func() { u.loginAt(words[0], words[1:]...) }
		return
	}
	var items []pick.Item
	for _, p := range providers.All() {
		if p.KeyEnv != "" && !p.Local {
			items = append(items, pick.Item{Text: p.Name, Detail: p.KeyPage})
		}
	}
	u.choose("provider whose key you want to store", items, func(it pick.Item) { u.login(it.Text) })
}

func (u *ui) loginAt(name string, flags ...string) {
	program, err := u.p.Executable()
	if err == nil {
		err = u.attached(func(in, out *os.File) error {
			cmd := exec.CommandContext(u.ctx, program, append(append([]string{"login"}, flags...), "--", name)...)
			cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = u.cwd, u.p.Env, in, out, out
			return cmd.Run()
		})
	}
	_, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case failed: // the command has said why
		u.note("no key was stored")
	case err != nil:
		u.fail("login", err)
	case u.s.About().Model == "":
		u.firstModel(name)
	default:
		u.note("your next message uses the key of " + name)
	}
}

// firstModel lets the user choose the model for all runs.
func (u *ui) firstModel(provider string) {
	s := u.s
	u.later(func(ctx context.Context) func() {
		list, err := s.ModelsOf(ctx, provider)
		return func() {
			if err != nil {
				u.fail("models", err)
				return
			}
			u.choose("model for all runs", list, func(it pick.Item) {
				u.setModel(it.Text)
				u.later(func(context.Context) func() {
					w, err := saverule.SetText(u.p.Environment(), []string{"model"}, it.Text)
					return func() {
						if err != nil {
							u.fail("model "+it.Text, err)
							return
						}
						u.note("model " + it.Text + " is saved in " + w.File)
					}
				})
			})
		}
	})
}
