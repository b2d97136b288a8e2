package chat

import (
	"context"
	"os"
	"os/exec"

	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/compose/saverule"
	"github.com/holdfast-dev/holdfast/internal/providers"
	"github.com/holdfast-dev/holdfast/internal/term/pick"
)

// Missing says what the session needs before its first run: a model or a key. It returns "" if
// nothing is missing. It fetches no key.
func (s *Session) Missing() string {
	if s.in != nil {
		return ""
	}
	if s.About().Model == "" {
		return "no model is configured yet\nhint: /login stores the key of a provider and chooses one of its models; or leave, and run holdfast init"
	}
	e, name := s.p.Environment(), models.Provider(s.About().Model)
	known, ok := providers.Lookup(name)
	if !ok || known.KeyEnv == "" || known.Local {
		return ""
	}
	at, err := models.EndpointOf(e, name, s.rules)
	if err != nil || !at.IsOfficial() || s.flags.BaseURL != "" || !providers.SameServer(at.BaseURL, known.BaseURL) {
		return ""
	}
	variable := models.KeyVariable(name, s.rules)
	if e.Lookup(variable) != "" || models.HasStoredKey(e, name, s.rules) {
		return ""
	}
	return "there is no key for " + name + "\nhint: /login " + name + " stores one; or leave, and set " + variable
}

// login stores the key of a provider with `holdfast login` on the terminal.
func (u *ui) login(name string) {
	if name != "" {
		u.outside = func() { u.loginAt(name) }
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

func (u *ui) loginAt(name string) {
	program, err := u.p.Executable()
	if err == nil {
		err = u.attached(func(in, out *os.File) error {
			cmd := exec.CommandContext(u.ctx, program, "login", "--", name)
			cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = u.cwd, u.p.Env, in, out, out
			return cmd.Run()
		})
	}
	switch {
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
				if w, err := saverule.SetText(u.p.Environment(), []string{"model"}, it.Text); err != nil {
					u.fail("model "+it.Text, err)
				} else {
					u.note("model " + it.Text + " is saved in " + w.File)
				}
				u.setModel(it.Text)
			})
		}
	})
}
