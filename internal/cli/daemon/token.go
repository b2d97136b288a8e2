package daemon

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
)

type createdToken struct {
	api.Token
	Secret string `json:"secret"`
}

func (c *tokenCreateCmd) Run(ctx context.Context, p *command.Program) error {
	t := api.Token{Name: c.Name}
	for _, s := range c.Scope {
		t.Scopes = append(t.Scopes, api.Scope(strings.TrimSpace(s)))
	}
	if c.Expires != "" {
		d, err := lifetime(c.Expires)
		if err != nil {
			return err
		}
		at := p.Clock().Add(d)
		t.Expires = &at
	}
	a, done, err := authOfHome(p)
	if err != nil {
		return err
	}
	defer done()
	if err := dial.RefuseInsideRun(p, "create tokens"); err != nil {
		return err
	}
	secret, made, err := a.CreateToken(ctx, callerText(), t)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.Out.JSON(createdToken{made, secret}, p.Out.TTY)
	}
	p.Out.Line("%s", secret)
	p.Err.Line("%s has the scopes %s%s; the secret is shown only once", made.ID, scopeWords(made.Scopes), until(made.Expires))
	return nil
}

// lifetime parses a duration such as 12h, 90m or 30d.
func lifetime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		d = time.Duration(n) * 24 * time.Hour
		if n > 36500 {
			err = strconv.ErrRange
		}
	}
	if err != nil || d <= 0 {
		return 0, outcome.Invalid(fmt.Sprintf("invalid token lifetime %q", text), "use a duration such as 12h or 30d")
	}
	return d, nil
}

func scopeWords(list []api.Scope) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

func until(at *time.Time) string {
	if at == nil {
		return ""
	}
	return " until " + at.Local().Format("2006-01-02 15:04")
}

func (c *tokenListCmd) Run(_ context.Context, p *command.Program) error {
	a, done, err := authOfHome(p)
	if err != nil {
		return err
	}
	defer done()
	list, err := a.Tokens()
	if err != nil {
		return err
	}
	if c.JSON {
		return p.Out.JSON(struct {
			Tokens []api.Token `json:"tokens"`
		}{append([]api.Token{}, list...)}, p.Out.TTY)
	}
	if len(list) == 0 {
		p.Err.Line("no tokens; create one: holdfast daemon token create NAME --scope read")
		return nil
	}
	rows := [][]string{{"ID", "NAME", "MAY", "USED"}}
	for _, t := range list {
		rows = append(rows, []string{t.ID, t.Name, scopeWords(t.Scopes), tokenState(t, p.Clock())})
	}
	p.Out.Table(rows, 1)
	return nil
}

func tokenState(t api.Token, now time.Time) string {
	used := "never used"
	if t.Used != nil {
		used = "used just now"
		if d := now.Sub(*t.Used); d >= time.Minute {
			used = "used " + term.Age(d) + " ago"
		}
	}
	switch {
	case t.Expires == nil:
		return used
	case !now.Before(*t.Expires):
		return used + ", expired"
	}
	return used + "," + until(t.Expires)
}

func (c *tokenRevokeCmd) Run(ctx context.Context, p *command.Program) error {
	a, done, err := authOfHome(p)
	if err != nil {
		return err
	}
	defer done()
	for _, id := range c.ID {
		if err := a.Revoke(ctx, callerText(), id); err != nil {
			return err
		}
		p.Err.Line("revoked %s", term.Escape(id))
	}
	return nil
}

// authOfHome opens the tokens of this home folder. It works with and without a running daemon.
// Changes are recorded in the access log.
func authOfHome(p *command.Program) (*auth.Auth, func(), error) {
	home, err := p.Home()
	if err != nil {
		return nil, nil, err
	}
	log := stores.NewAccessLog(p.Environment())
	a, err := auth.New(&auth.Options{Dir: listen.Dir(home), Clock: p.Clock, Record: log.Add})
	if err != nil {
		return nil, nil, err
	}
	return a, func() {
		_ = a.Close() // Close has nothing to record, because this process does not check any credentials
		if err := log.Close(); err != nil {
			p.Warn("cannot write the access log: %v", err)
		}
	}, nil
}

// callerText describes the process that changes tokens, for the access log.
func callerText() auth.Caller {
	return auth.Caller{Name: env.Account(), Method: "cli", From: fmt.Sprintf("uid %d pid %d", os.Getuid(), os.Getpid())}
}
