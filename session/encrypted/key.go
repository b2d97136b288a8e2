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

// Key decrypts data keys and defines the recipients of new ones. Create one with [Identities],
// [IdentityFile], [Passphrase] or [Keychain]. It is safe for concurrent use.
type Key struct {
	from       string // where the key was read from, for error messages
	identities []age.Identity
	recipients []age.Recipient
	shared     bool     // the key is a passphrase: the same secret encrypts and decrypts
	makers     [][]byte // marks of data keys, one per identity; the first is used for new ones
}

// Identities reads age identities, one per line, as age-keygen writes them. New data keys are
// wrapped for all the identities. Only native identities are supported, not plugins.
func Identities(r io.Reader) (*Key, error) {
	ids, err := age.ParseIdentities(io.LimitReader(r, 1<<20))
	if err != nil {
		return nil, bad("read the age identity", err, "create one with: age-keygen -o FILE")
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
			return nil, bad("read the age identity", fmt.Errorf("an identity of type %T", id), "create a supported one with: age-keygen -o FILE")
		}
	}
	return k, nil
}

// IdentityFile reads a file of age identities.
func IdentityFile(path string) (*Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, bad("read the age identity", err, "create one with: age-keygen -o "+path)
	}
	defer f.Close()
	k, err := Identities(f)
	if err != nil {
		return nil, err
	}
	k.from = "the age identity in " + path
	return k, nil
}

// workFactor is the binary logarithm of the cost of trying one passphrase. It makes opening a store
// take about a second.
const workFactor = 18

// Passphrase returns a key from a passphrase. It is slow on purpose: opening a store takes about a
// second. It cannot be combined with other recipients.
func Passphrase(words string) (*Key, error) { return passphrase(words, workFactor) }

func passphrase(words string, factor int) (*Key, error) {
	if strings.TrimSpace(words) == "" {
		return nil, bad("take the passphrase", errors.New("it is empty"), "use a passphrase of several words")
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

// keychainService is the service name of the keys in the system's keychain.
const keychainService = "holdfast store key"

// Keychain reads an age identity from the system's keychain: the login keychain of macOS, the
// credential manager of Windows, the Secret Service of a Linux desktop. It returns ErrNotFound if
// the keychain has no key with this name; see [NewKeychain].
func Keychain(name string) (*Key, error) {
	text, err := keyring.Get(keychainService, name)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, &session.Error{Op: "open keychain", Err: session.ErrNotFound, Detail: "it has no key named " + name, Hint: "create one with holdfast store key --keychain NAME, or use another name"}
	}
	if err != nil {
		return nil, bad("open keychain", err, "use an identity file if there is no keychain")
	}
	k, err := Identities(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	k.from = "the key " + name + " of the keychain"
	return k, nil
}

// NewKeychain creates an age identity, stores it in the system's keychain and returns it.
// It returns ErrExists if the keychain has an identity with this name: if that were replaced, the
// data it decrypts would be lost.
func NewKeychain(name string) (*Key, error) {
	switch _, err := keyring.Get(keychainService, name); {
	case err == nil:
		return nil, &session.Error{Op: "make key", Err: session.ErrExists, Detail: "the keychain already has a key named " + name, Hint: "use that key, or choose another name"}
	case !errors.Is(err, keyring.ErrNotFound):
		return nil, bad("open keychain", err, "use an identity file if there is no keychain")
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

// WithRecipients returns the key with additional recipients (age1…), such as a colleague or an
// offline backup key. New data keys are wrapped for them too. A store that is opened with different
// recipients starts a new data key. It returns ErrInvalid for an invalid recipient, and for a
// passphrase, which cannot be combined.
func (k *Key) WithRecipients(recipients ...string) (*Key, error) {
	out := *k
	out.recipients = append([]age.Recipient(nil), k.recipients...)
	for _, text := range recipients {
		rs, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, bad("read recipient", err, "a recipient starts with age1")
		}
		out.recipients = append(out.recipients, rs...)
	}
	if _, err := wrap(make([]byte, 32), out.recipients); err != nil {
		return nil, bad("add recipients", err, "a passphrase cannot have recipients, and post-quantum recipients cannot be combined with others")
	}
	return &out, nil
}

func bad(op string, err error, hint string) error {
	return &session.Error{Op: op, Err: session.ErrInvalid, Detail: err.Error(), Hint: hint}
}
