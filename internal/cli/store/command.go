// Package store is `holdfast store`: copy sessions from one store to another, and make keys
// for encrypted ones.
package store

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// Command makes `holdfast store`.
func Command(p *command.Program) *command.Command {
	return p.Group("store", "Copy sessions from one store to another; make keys for encrypted ones.",
		p.Command(&copyCmd{}, "copy", "Copy all sessions of a store into another one, and compare them."),
		p.Command(&keyCmd{}, "key", "Make a key for encrypted stores."),
	)
}

// copyCmd is `holdfast store copy`.
type copyCmd struct {
	From   string
	To     string
	DryRun bool
	command.JSONFlag
}

func (c *copyCmd) Declare(b *command.Builder) {
	b.Arg(&c.From, "from", "The store to copy from: a URL as --store takes it.")
	b.Arg(&c.To, "to", "The store to copy to. What it has besides stays.")
	b.Flag(&c.DryRun, "dry-run", "n", "", "Only say what would be copied.")
	b.Include(&c.JSONFlag)
}

func (c *copyCmd) Help() string {
	return `Every session is copied record by record, with the same ids, times and digests, and then
read again and compared. A second copy copies only what is new, and one that was interrupted
goes on where it stopped. What was erased is erased in the copy, too.

  holdfast store copy sqlite:sessions.db postgres://db/holdfast
  holdfast store copy file:old encrypted+file:new`
}

// keyCmd is `holdfast store key`.
type keyCmd struct {
	File     string
	Keychain string
}

func (c *keyCmd) Declare(b *command.Builder) {
	b.Optional(&c.File, "file", "Where to write it; there must be no such file.")
	b.Flag(&c.Keychain, "keychain", "", "NAME", "Put it into the system's keychain under this name instead.")
}

func (c *keyCmd) Help() string {
	return `Who has the key reads everything in the store, and nobody can without: keep a copy of it
elsewhere. It is an age identity (age-encryption.org); age-keygen makes the same.

  holdfast store key ~/.holdfast/store.key
  export HOLDFAST_STORE_KEY=~/.holdfast/store.key
  holdfast run --store encrypted+sqlite:private.db PROMPT`
}
