// Package keys stores the keys of model providers for `holdfast login`: in the desktop's keyring if
// there is one, else in a file that only the user can read.
//
//	login ─► Store ─┬─► keyring        ┐
//	               └─► keys.json 0600 ┴─► Find ─► a model's call
//
// HOLDFAST_HOME/keys.json records where each provider's key is, so that the keyring is queried only
// if needed.
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

// service is the service name of the keys in the keyring.
const service = "holdfast"

// keyringTimeout is how long to wait for a keyring, which may ask the user to unlock it.
const keyringTimeout = 60 * time.Second

// Locations of keys.
const (
	StoreKeyring = "keyring"
	StoreFile    = "file"
)

// Keys are the keys of one HOLDFAST_HOME. It is not safe for concurrent use.
type Keys struct {
	home, file string
	environ    func(name string) string
}

// Entry describes a stored key.
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
	Key   string    `json:"key,omitempty"` // only with StoreFile
	At    time.Time `json:"at"`
}

// Open returns the keys of a home folder; getenv reads the user's environment. It accesses no
// files.
func Open(home string, getenv func(name string) string) *Keys {
	return &Keys{home: home, file: filepath.Join(home, settings.KeysFile), environ: getenv}
}

// File returns the path of the list of keys.
func (k *Keys) File() string { return k.file }

// read reads the file; without one there are no keys. A file that others can read or write is
// rejected.
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

// Location returns where a provider's key is stored, or "".
func (k *Keys) Location(provider string) (string, error) {
	d, err := k.read()
	return d.Keys[provider].Place, err
}

// Find returns the key of a provider, or "" if none is stored.
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
				Message: fmt.Sprintf("cannot read the key of %s from the keyring: %v", provider, err), Cause: err, Result: outcome.Usage,
				Advice: "unlock the keyring, or log in again: holdfast login " + provider,
			}
		}
		return key, nil
	default:
		return "", outcome.Invalid(fmt.Sprintf("%s: %s: unknown place %q", k.file, provider, e.Place), "log in again: holdfast login "+provider)
	}
}

// Store stores the key of a provider and returns its location. If inFile is false and there is a
// keyring, that is the keyring, otherwise the file.
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

// Remove deletes the key of a provider; false if none is stored.
func (k *Keys) Remove(provider string) (bool, error) {
	if _, err := os.Stat(k.file); errors.Is(err, fs.ErrNotExist) {
		return false, nil // nothing to lock
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
				Message: fmt.Sprintf("cannot remove the key of %s from the keyring: %v", provider, err), Cause: err, Result: outcome.Failed,
				Advice: "unlock the keyring and try again",
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

// List lists the stored keys by provider.
func (k *Keys) List() ([]Entry, error) {
	d, err := k.read()
	list := []Entry{}
	for _, name := range slices.Sorted(maps.Keys(d.Keys)) {
		list = append(list, Entry{Provider: name, Store: d.Keys[name].Place, StoredAt: d.Keys[name].At})
	}
	return list, err
}

// user returns the user name under which the keyring stores a key. It is different for each home
// folder.
func (k *Keys) user(provider string) string { return provider + " " + k.home }

// HasKeyring reports whether there is a keyring. On Linux a keyring requires the session bus. If
// there is no session bus, for example on a server, it returns false without starting a program.
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
