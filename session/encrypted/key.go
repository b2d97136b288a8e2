package encrypted

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
	"github.com/zalando/go-keyring"

	"github.com/holdfast-dev/holdfast/session"
)

// Key opens what a store has sealed and says for whom new data keys are wrapped. Make
// one with [Identities], [IdentityFile], [Passphrase] or [Keychain]. It is safe for
// concurrent use.
type Key struct {
	from       string // where it came from, for errors
	identities []age.Identity
	recipients []age.Recipient
	shared     bool     // who can wrap for it can also open: a passphrase
	makers     [][]byte // what data keys are marked with, one of each identity, the first for new ones
}

// Identities reads age identities, one a line, as age-keygen writes them. New data
// keys are wrapped for all of them. Only native identities are known, no plugins.
func Identities(r io.Reader) (*Key, error) {
	ids, err := age.ParseIdentities(io.LimitReader(r, 1<<20))
	if err != nil {
		return nil, bad("read the age identity", err, "age-keygen -o FILE makes one")
	}
	k := &Key{from: "the age identity", identities: ids}
	for _, id := range ids {
		switch id := id.(type) {
		case *age.X25519Identity:
			k.recipients = append(k.recipients, id.Recipient())
			k.makers = append(k.makers, identityMark(id.String()))
		case *age.HybridIdentity:
			k.recipients = append(k.recipients, id.Recipient())
			k.makers = append(k.makers, identityMark(id.String()))
		default:
			return nil, bad("read the age identity", fmt.Errorf("an identity of type %T", id), "age-keygen -o FILE makes one that is known here")
		}
	}
	return k, nil
}

// IdentityFile reads a file of age identities.
func IdentityFile(path string) (*Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, bad("read the age identity", err, "age-keygen -o "+path+" makes one")
	}
	defer f.Close()
	k, err := Identities(f)
	if err != nil {
		return nil, err
	}
	k.from = "the age identity in " + path
	return k, nil
}

// workFactor is the cost of guessing a passphrase: 2 to the power of it. Opening a
// store takes about a second with it.
const workFactor = 18

// Passphrase is a key that a person knows. It is slow on purpose: opening a store takes
// about a second, once. With it there are no further recipients.
func Passphrase(words string) (*Key, error) { return passphrase(words, workFactor) }

func passphrase(words string, factor int) (*Key, error) {
	if strings.TrimSpace(words) == "" {
		return nil, bad("take the passphrase", errors.New("it is empty"), "give one of several words")
	}
	r, err := age.NewScryptRecipient(words)
	if err != nil {
		return nil, bad("take the passphrase", err, "")
	}
	r.SetWorkFactor(factor)
	id, err := age.NewScryptIdentity(words)
	if err != nil {
		return nil, bad("take the passphrase", err, "")
	}
	return &Key{from: "the passphrase", identities: []age.Identity{id}, recipients: []age.Recipient{r}, shared: true}, nil
}

// keychainService is what the system's keychain lists the keys under.
const keychainService = "holdfast store key"

// Keychain reads an age identity from the system's keychain: the login keychain of
// macOS, the credential manager of Windows, the Secret Service of a Linux desktop.
// ErrNotFound when it has none of this name, see [NewKeychain].
func Keychain(name string) (*Key, error) {
	text, err := keyring.Get(keychainService, name)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, &session.Error{Op: "open keychain", Err: session.ErrNotFound, Detail: "it has no key named " + name, Hint: "make one, or give another name"}
	}
	if err != nil {
		return nil, bad("open keychain", err, "use an identity file where there is no keychain")
	}
	k, err := Identities(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	k.from = "the key " + name + " of the keychain"
	return k, nil
}

// NewKeychain makes an age identity, puts it into the system's keychain and returns
// it. ErrExists when there is one of this name: replacing it would lose what it opens.
func NewKeychain(name string) (*Key, error) {
	switch _, err := keyring.Get(keychainService, name); {
	case err == nil:
		return nil, &session.Error{Op: "make key", Err: session.ErrExists, Detail: "the keychain has a key named " + name + " already", Hint: "use it, or give another name"}
	case !errors.Is(err, keyring.ErrNotFound):
		return nil, bad("open keychain", err, "use an identity file where there is no keychain")
	}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	if err := keyring.Set(keychainService, name, id.String()); err != nil {
		return nil, bad("write keychain", err, "")
	}
	return Keychain(name)
}

// WithRecipients returns the key with further recipients (age1…) for whom new data keys
// are wrapped, too: a colleague, a key in a safe. A store that is opened with other
// recipients than before begins a new data key. ErrInvalid for what is none, and for a
// passphrase, which cannot be combined.
func (k *Key) WithRecipients(recipients ...string) (*Key, error) {
	out := *k
	out.recipients = append([]age.Recipient(nil), k.recipients...)
	for _, text := range recipients {
		rs, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, bad("read recipient", err, "a recipient begins with age1")
		}
		out.recipients = append(out.recipients, rs...)
	}
	if _, err := wrap(make([]byte, 32), out.recipients); err != nil {
		return nil, bad("add recipients", err, "a passphrase stands alone, and post-quantum recipients do not mix with others")
	}
	return &out, nil
}

func bad(op string, err error, hint string) error {
	return &session.Error{Op: op, Err: session.ErrInvalid, Detail: err.Error(), Hint: hint}
}
