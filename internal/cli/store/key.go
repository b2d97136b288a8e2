package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	ident "filippo.io/age"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session/encrypted"
)

func (c *keyCmd) Run(_ context.Context, p *command.Program) error {
	switch {
	case (c.File == "") == (c.Keychain == ""):
		return outcome.Invalid("name a file or a keychain entry", "holdfast store key FILE")
	case c.Keychain != "":
		if _, err := encrypted.NewKeychain(c.Keychain); err != nil {
			return err
		}
		p.Err.Line("stored the key in the keychain; to use it: export HOLDFAST_STORE_KEY=%s", term.Quote("keychain:"+c.Keychain))
		return nil
	}
	path, err := p.Path(c.File)
	if err != nil {
		return err
	}
	id, err := ident.GenerateX25519Identity()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &outcome.Failure{Message: path + " already exists", Result: outcome.Usage, Cause: err, Advice: "a lost key cannot be recreated: choose another file"}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "# created: %s\n# public key: %s\n%s\n", p.Clock().UTC().Format("2006-01-02T15:04:05Z"), id.Recipient(), id)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	p.Out.Line("%s", id.Recipient())
	p.Err.Line("stored the key in %s; to use it: export HOLDFAST_STORE_KEY=%s", term.Escape(path), term.Quote(path))
	return nil
}
