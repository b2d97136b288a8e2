package daemon

import (
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/listen"
)

// authOfHome reads the tokens of the home, whether a daemon runs or not. What is done with
// them is on record.
func authOfHome(p *command.Program) (*auth.Auth, func(), error) {
	home, err := p.Home()
	if err != nil {
		return nil, nil, err
	}
	log := stores.NewAccessLog(p.Environment())
	a, err := auth.New(&auth.Options{Dir: listen.Dir(home), Clock: p.Now, Record: log.Add})
	if err != nil {
		return nil, nil, err
	}
	return a, func() {
		_ = a.Close() // it has refused nobody
		if err := log.Close(); err != nil {
			p.Warn("the audit log of tokens: %v", err)
		}
	}, nil
}

// caller is who runs this program, for what it does to tokens.
func caller() auth.Caller {
	return auth.Caller{Name: env.Account(), Via: "cli", From: fmt.Sprintf("uid %d pid %d", os.Getuid(), os.Getpid())}
}
