// Package store is `holdfast store`: copy sessions from one store to another, and create keys for
// encrypted stores.
package store

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// Command returns `holdfast store`.
func Command(p *command.Program) *command.Command {
	return p.Group("store", "Copy sessions between stores; create keys for encrypted stores.",
		p.Command(&copyCmd{}, "copy", "Copy all sessions of a store to another store, and compare them."),
		p.Command(&keyCmd{}, "key", "Create a key for encrypted stores."),
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
	b.Arg(&c.From, "from", "The store to copy from, as a URL for --store.")
	b.Arg(&c.To, "to", "The store to copy to. Its other sessions are kept.")
	b.Flag(&c.DryRun, "dry-run", "n", "", "Only show what would be copied.")
	b.Include(&c.JSONFlag)
}

func (c *copyCmd) Help() string {
	return `Copies every session record by record, with the same ids, times and digests, then reads the copy
and compares it. Running it again copies only new records and continues an interrupted copy.
Content that was erased is also erased in the copy.

  holdfast store copy sqlite:sessions.db postgres://db/holdfast
  holdfast store copy file:old encrypted+file:new`
}

// keyCmd is `holdfast store key`.
type keyCmd struct {
	File     string
	Keychain string
}

func (c *keyCmd) Declare(b *command.Builder) {
	b.Optional(&c.File, "file", "The file to create. It must not exist.")
	b.Flag(&c.Keychain, "keychain", "", "NAME", "Store the key in the system's keychain under this name instead.")
}

func (c *keyCmd) Help() string {
	return `The key is required to read the store, and anyone who has it can read everything. Keep a backup.
It is an age identity (age-encryption.org), as age-keygen creates it.

  holdfast store key ~/.holdfast/store.key
  export HOLDFAST_STORE_KEY=~/.holdfast/store.key
  holdfast run --store encrypted+sqlite:private.db PROMPT`
}
