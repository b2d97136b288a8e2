package audit

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// checkName returns an error if a key cannot have this name.
func checkName(name string) error {
	odd := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '+' }
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		return fmt.Errorf("%q is not a valid name for a key: it must be UTF-8 without spaces and plus signs", name)
	}
	return nil
}

// keyPair is a signing key together with the values that are derived from it.
type keyPair struct {
	text, public string
	signer       note.Signer
	verifier     note.Verifier
}

func newKeyPair(text string) (p keyPair, err error) {
	p.text = text
	if p.signer, err = note.NewSigner(text); err != nil {
		return p, fmt.Errorf("invalid signing key: %w", err)
	}
	if p.public, err = publicKey(text); err != nil {
		return p, err
	}
	p.verifier, err = note.NewVerifier(p.public)
	return p, err
}

// readKey reads the signing key into the pair. If there is none, it creates one, unless a
// checkpoint was already signed.
func (t *Trail) readKey(signed bool) error {
	text, err := readLine(t.folder, keyName)
	if errors.Is(err, fs.ErrNotExist) && !signed {
		text, err = t.newKey()
	}
	if err != nil {
		return fmt.Errorf("read the signing key: %w", err)
	}
	if err := t.setKeyPair(text); err != nil {
		return err
	}
	public := t.pair.public
	if known, err := readLine(t.folder, verifierName); errors.Is(err, fs.ErrNotExist) { // a crash happened between the two writes
		return diskfile.Write(filepath.Join(t.folder, verifierName), []byte(public+"\n"))
	} else if err != nil || known != public {
		return errors.Join(err, fmt.Errorf("the key in the file %s does not belong to the signing key", verifierName))
	}
	return nil
}

// setKeyPair derives the pair from a key, unless it already belongs to that key.
func (t *Trail) setKeyPair(text string) error {
	if text == t.pair.text && t.pair.signer != nil {
		return nil
	}
	t.pair, t.verified = keyPair{}, nil
	pair, err := newKeyPair(text)
	if err == nil {
		t.pair = pair
	}
	return err
}

// warmUp makes crypto/ed25519 compute the table for the first signature. That takes a millisecond,
// for which Close of a trail would otherwise wait. Trail.prepare calls it after the first leaf,
// because at that time a run waits for its disk and its model. A run that adds nothing signs
// nothing.
func warmUp() { ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) }

func (t *Trail) newKey() (string, error) {
	secret, _, err := note.GenerateKey(rand.Reader, t.name)
	if err == nil {
		err = errors.Join(diskfile.Write(filepath.Join(t.folder, keyName), []byte(secret+"\n")), syncFolder(t.folder))
	}
	return secret, err
}

// publicKey returns the verifier key of a signing key.
func publicKey(secret string) (string, error) {
	bad := errors.New("invalid signing key")
	parts := strings.SplitN(secret, "+", 5) // the parts are PRIVATE, KEY, name, hash, data
	if len(parts) != 5 {
		return "", bad
	}
	data, err := base64.StdEncoding.DecodeString(parts[4])
	if err != nil || len(data) != 1+ed25519.SeedSize {
		return "", bad
	}
	public, ok := ed25519.NewKeyFromSeed(data[1:]).Public().(ed25519.PublicKey)
	if !ok {
		return "", bad
	}
	return note.NewEd25519VerifierKey(parts[2], public)
}

// readLine reads a file of one line.
func readLine(dir, name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, name))
	return strings.TrimSuffix(string(b), "\n"), err
}
