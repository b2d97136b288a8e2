// Package keys keeps the keys of model providers for `holdfast login`: in the keyring of the
// desktop where there is one, else in a file that only the person can read.
//
//	login ─► Keep ─┬─► keyring        ┐
//	               └─► keys.json 0600 ┴─► Find ─► a model's call
//
// HOLDFAST_HOME/keys.json says for each provider where its key is, so that no keyring is asked
// in vain.
package keys

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// service is the name under which the keyring has the keys.
const service = "holdfast"

// keyringTimeout bounds how long a keyring is waited for: it may ask a person to unlock it.
const keyringTimeout = 60 * time.Second

// The places of keys.
const (
	StoreKeyring = "keyring"
	StoreFile    = "file"
)

// Keys are the keys of one HOLDFAST_HOME. It is not safe for concurrent use.
type Keys struct {
	home, file string
	environ    func(name string) string
}

// Entry says where a key is.
type Entry struct {
	Provider string    `json:"provider"`
	Store    string    `json:"place"` // StoreKeyring or StoreFile
	StoredAt time.Time `json:"at"`
}

type document struct {
	Keys map[string]storedKey `json:"keys"`
}

type storedKey struct {
	Place string    `json:"place"`
	Key   string    `json:"key,omitempty"` // of StoreFile
	At    time.Time `json:"at"`
}

// Open names the keys of a home; getenv is the person's environment. It reads nothing.
func Open(home string, getenv func(name string) string) *Keys {
	return &Keys{home: home, file: filepath.Join(home, settings.KeysFile), environ: getenv}
}

// File is where it is written down which keys there are.
func (k *Keys) File() string { return k.file }

// read reads the file; without one there are no keys. One that others may read or write is refused.
func (k *Keys) read() (document, error) {
	d := document{Keys: map[string]storedKey{}}
	info, err := os.Stat(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return d, outcome.Invalid(fmt.Sprintf("%s can be read by others (mode %04o)", k.file, info.Mode().Perm()), fmt.Sprintf("chmod 600 %q", k.file))
	}
	b, err := os.ReadFile(k.file)
	if err != nil {
		return d, err
	}
	d.Keys = nil
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil || d.Keys == nil {
		return d, outcome.Invalid(k.file+" is not a list of keys", "remove it, and log in again: holdfast login PROVIDER")
	}
	return d, nil
}

func (k *Keys) write(d document) error {
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(k.home, 0o700); err != nil {
		return err
	}
	return diskfile.Write(k.file, append(b, '\n'))
}

// Location says where the key of a provider is, or "".
func (k *Keys) Location(provider string) (string, error) {
	d, err := k.read()
	return d.Keys[provider].Place, err
}

// Find returns the key of a provider, or "" when none is kept.
func (k *Keys) Find(provider string) (key string, err error) {
	d, err := k.read()
	if err != nil {
		return "", err
	}
	switch e := d.Keys[provider]; e.Place {
	case "":
		return "", nil
	case StoreFile:
		return e.Key, nil
	case StoreKeyring:
		key, err = withTimeout(func() (string, error) { return keyring.Get(service, k.user(provider)) })
		if err != nil {
			return "", &outcome.Failure{
				Message: fmt.Sprintf("the key of %s is in the keyring, which does not give it: %v", provider, err), Cause: err, Result: outcome.Usage,
				Advice: "unlock the keyring, or log in again: holdfast login " + provider,
			}
		}
		return key, nil
	default:
		return "", outcome.Invalid(fmt.Sprintf("%s: %s: unknown place %q", k.file, provider, e.Place), "log in again: holdfast login "+provider)
	}
}

// Store keeps the key of a provider and says where: in the keyring when there is one and inFile is
// false, else in the file.
func (k *Keys) Store(provider, key string, inFile bool, now time.Time) (place string, err error) {
	unlock, err := k.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	d, err := k.read()
	if err != nil {
		return "", err
	}
	e := storedKey{Place: StoreFile, Key: key, At: now.UTC().Truncate(time.Second)}
	if !inFile && k.HasKeyring() {
		_, err := withTimeout(func() (string, error) { return "", keyring.Set(service, k.user(provider), key) })
		if err == nil {
			e.Place, e.Key = StoreKeyring, ""
		}
	}
	if old := d.Keys[provider]; old.Place == StoreKeyring && e.Place == StoreFile {
		k.forget(provider)
	}
	d.Keys[provider] = e
	return e.Place, k.write(d)
}

// Remove forgets the key of a provider; false when none is kept.
func (k *Keys) Remove(provider string) (bool, error) {
	if _, err := os.Stat(k.file); errors.Is(err, fs.ErrNotExist) {
		return false, nil // and nothing is made to lock
	}
	unlock, err := k.lock()
	if err != nil {
		return false, err
	}
	defer unlock()
	d, err := k.read()
	if err != nil {
		return false, err
	}
	e, ok := d.Keys[provider]
	if !ok {
		return false, nil
	}
	if e.Place == StoreKeyring {
		if err := k.forget(provider); err != nil && !errors.Is(err, keyring.ErrNotFound) {
			return false, &outcome.Failure{
				Message: fmt.Sprintf("the key of %s cannot be taken out of the keyring: %v", provider, err), Cause: err, Result: outcome.Failed,
				Advice: "unlock the keyring, and try again",
			}
		}
	}
	delete(d.Keys, provider)
	return true, k.write(d)
}

func (k *Keys) forget(provider string) error {
	_, err := withTimeout(func() (string, error) { return "", keyring.Delete(service, k.user(provider)) })
	return err
}

// List says which keys there are, by provider.
func (k *Keys) List() ([]Entry, error) {
	d, err := k.read()
	list := []Entry{}
	for _, name := range slices.Sorted(maps.Keys(d.Keys)) {
		list = append(list, Entry{Provider: name, Store: d.Keys[name].Place, StoredAt: d.Keys[name].At})
	}
	return list, err
}

// user names a key in the keyring: keys of another home are others.
func (k *Keys) user(provider string) string { return provider + " " + k.home }

// HasKeyring reports whether there is a keyring to ask. On Linux that is the session bus; without
// one, on a server for example, nothing is started to find out.
func (k *Keys) HasKeyring() bool {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return true
	}
	address := k.environ("DBUS_SESSION_BUS_ADDRESS")
	if address == "" || address == "autolaunch:" {
		return false
	}
	for part := range strings.SplitSeq(address, ",") {
		if path, ok := strings.CutPrefix(part, "unix:path="); ok {
			_, err := os.Stat(path)
			return err == nil
		}
	}
	return true
}

// withTimeout calls a keyring, which can hang.
func withTimeout(call func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		text, err := call()
		done <- answer{text, err}
	}()
	timer := time.NewTimer(keyringTimeout)
	defer timer.Stop()
	select {
	case a := <-done:
		return a.text, a.err
	case <-timer.C:
		return "", fmt.Errorf("it did not answer within %s", keyringTimeout)
	}
}
