package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/compose/keys"
	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/providers"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/model"
)

// maxKey is the maximum length of a key, in bytes.
const maxKey = 16 << 10

func (c *loginCmd) Run(ctx context.Context, p *command.Program) error {
	if c.Provider == "" {
		return c.list(p)
	}
	if err := dial.RefuseInsideRun(p, "log in"); err != nil {
		return err
	}
	rules, err := p.FolderSettings("")
	if err != nil {
		return err
	}
	if err := CheckTakesKey(p, c.Provider, rules); err != nil {
		return err
	}
	key, err := ReadKey(ctx, p, c.Provider)
	if err != nil {
		return err
	}
	if !c.NoCheck {
		if err := CheckKey(ctx, p, c.Provider, key, rules); err != nil {
			return err
		}
	}
	place, err := StoreKey(p, c.Provider, key, c.File)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.Out.JSON(map[string]any{"provider": c.Provider, "place": place, "checked": !c.NoCheck}, p.Out.TTY)
	}
	if models.Default(p.Environment(), rules) == "" {
		if known, ok := providers.Lookup(c.Provider); ok {
			p.Err.Hint(fmt.Sprintf("choose one of its models: holdfast init; or for one run: holdfast run -m %s/%s PROMPT", c.Provider, known.Example))
		}
	}
	return nil
}

// list prints the stored keys.
func (c *loginCmd) list(p *command.Program) error {
	k, err := models.Keys(p.Environment())
	if err != nil {
		return err
	}
	list, err := k.List()
	if err != nil {
		return err
	}
	if c.JSON {
		return p.Out.JSON(list, p.Out.TTY)
	}
	if len(list) == 0 {
		p.Err.Line("no keys are stored")
		p.Err.Hint("store one: holdfast login PROVIDER; the providers are " + strings.Join(providers.Names(), ", "))
		return nil
	}
	rows := [][]string{{"PROVIDER", "STORED IN", "SINCE"}}
	for _, e := range list {
		rows = append(rows, []string{term.Escape(e.Provider), storeText(k, e.Store), e.StoredAt.Local().Format("2006-01-02 15:04")})
	}
	p.Out.Table(rows)
	return nil
}

func storeText(k *keys.Keys, where string) string {
	if where == keys.StoreKeyring {
		return "the keyring"
	}
	return k.File()
}

// CheckTakesKey rejects a provider that is unknown, a provider that needs no key, and a provider
// whose server an environment variable replaces, because a stored key is never sent to another
// server.
func CheckTakesKey(p *command.Program, provider string, rules *settings.Settings) error {
	base, _ := rules.Models.Address(provider)
	known, ok := providers.Lookup(provider)
	switch {
	case base == "":
		return outcome.Invalid(fmt.Sprintf("unknown provider %q", provider), "use one of "+strings.Join(rules.Models.ProviderNames(), ", ")+"; to add another one, see docs/models.md")
	case ok && known.KeyEnv == "" && rules.Models.Providers[provider].BaseURL.Value == "":
		return outcome.Invalid(provider+" needs no key", fmt.Sprintf("start it (%s), then: holdfast run -m %s/%s PROMPT", known.Start, provider, known.Example))
	}
	at, err := models.EndpointOf(p.Environment(), provider, rules)
	if err == nil && !at.IsOfficial() {
		return outcome.Invalid(fmt.Sprintf("%s points to a different server than %s; stored keys are not sent there", known.BaseEnv, provider),
			fmt.Sprintf(`unset it, or set the URL in your settings: {"providers": {%q: {"baseURL": "URL"}}}`, provider))
	}
	return err
}

// ReadKey asks for the key of a provider without echoing it, or reads it from standard input.
func ReadKey(ctx context.Context, p *command.Program, provider string) (string, error) {
	key := ""
	if prompter := p.Terminal.Ask(); prompter != nil {
		defer prompter.Close()
		if known, ok := providers.Lookup(provider); ok && known.KeyPage != "" {
			prompter.Out.Line("create a key for %s at %s", provider, known.KeyPage)
		}
		line, ok, err := prompter.Secret(ctx, "key of "+provider+" (not echoed): ")
		switch {
		case errors.Is(err, term.ErrEchoes):
			return "", outcome.Invalid(err.Error(), "pipe the key: … | holdfast login "+provider)
		case err != nil:
			return "", err
		case !ok:
			line = ""
		}
		key = line
	} else {
		line, err := bufio.NewReader(io.LimitReader(p.Input(ctx), maxKey)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		key = strings.TrimSpace(line)
	}
	if key == "" {
		return "", outcome.Invalid("no key on standard input", "type it at a terminal, or pipe it: … | holdfast login "+provider)
	}
	if i := strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }); i >= 0 {
		return "", outcome.Invalid("the key contains an invalid character after the first "+fmt.Sprint(i), "copy the whole key again, without quotes")
	}
	return key, nil
}

// CheckKey checks a key with one request.
func CheckKey(ctx context.Context, p *command.Program, provider, key string, rules *settings.Settings) error {
	e := p.Environment()
	at, err := models.EndpointOf(e, provider, rules)
	if err != nil {
		return err
	}
	at.Key = key
	err = at.CheckKey(ctx, e)
	if err == nil {
		return nil
	}
	bad, ok := errors.AsType[*model.Error](err)
	if ok && bad.Kind == model.ErrorAuth && bad.Status/100 == 4 {
		hint := "copy the whole key again, or store it anyway with --no-check"
		if known, there := providers.Lookup(provider); there {
			hint = "copy the whole key again from " + known.KeyPage + ", or store it anyway with --no-check"
		}
		return &outcome.Failure{
			Message: fmt.Sprintf("%s rejected this key (HTTP %d: %s); it was not stored", provider, bad.Status, term.OneLine(bad.Message)),
			Advice:  hint, Result: outcome.Denied, Cause: err,
		}
	}
	what, hint, _ := strings.Cut(err.Error(), "; hint: ")
	if hint == "" {
		hint = outcome.Hint(err)
	}
	if hint != "" {
		hint += "; or "
	}
	return &outcome.Failure{
		Message: "cannot check the key: " + what + "; it was not stored",
		Advice:  hint + "store it without the check: --no-check", Result: outcome.FromError(err), Cause: err,
	}
}

// StoreKey stores a key and prints where.
func StoreKey(p *command.Program, provider, key string, inFile bool) (string, error) {
	e := p.Environment()
	k, err := models.Keys(e)
	if err != nil {
		return "", err
	}
	where, err := k.Store(provider, key, inFile, p.Clock())
	if err != nil {
		return "", err
	}
	switch {
	case where == keys.StoreKeyring:
		p.Err.Line("stored the key of %s in the keyring", provider)
	case inFile:
		p.Err.Line("stored the key of %s in %s, which only you can read", provider, k.File())
	default:
		p.Err.Line("stored the key of %s in %s, which only you can read; there is no keyring here", provider, k.File())
	}
	if rules, err := p.FolderSettings(""); err == nil {
		if name := models.KeyVariable(provider, rules); name != "" && e.Lookup(name) != "" {
			p.Warn("%s is set and overrides the stored key", name)
		}
	}
	return where, nil
}

func (c *logoutCmd) Run(_ context.Context, p *command.Program) error {
	if err := dial.RefuseInsideRun(p, "log out"); err != nil {
		return err
	}
	k, err := models.Keys(p.Environment())
	if err != nil {
		return err
	}
	ok, err := k.Remove(c.Provider)
	switch {
	case err != nil:
		return err
	case !ok:
		return &outcome.Failure{Message: "no key of " + c.Provider + " is stored", Advice: "list the stored keys: holdfast login", Result: outcome.NotFound}
	}
	p.Err.Line("removed the key of %s", c.Provider)
	return nil
}
