package settings

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const trustFile = "trust.json"

// Trust is the list of folders whose settings a person has agreed to, each with
// the digest of what they said then: changed settings need trust again. It is kept
// in HOLDFAST_HOME. It is not safe for concurrent use.
type Trust struct {
	file string
	doc  trustDoc
}

type trustDoc struct {
	Folders map[string]TrustedFolder `json:"folders"`
}

// TrustedFolder is a folder that a person trusts.
type TrustedFolder struct {
	Folder string    `json:"-"`
	Digest string    `json:"digest"` // of the settings files, SHA-256 in hexadecimal
	At     time.Time `json:"at"`
}

// OpenTrust reads the list in a home folder; without one, or without a list in it,
// nothing is trusted. A list that others may write, or that cannot be read, is an *[Error].
func OpenTrust(home string) (*Trust, error) {
	t := &Trust{doc: trustDoc{Folders: map[string]TrustedFolder{}}}
	if home == "" {
		return t, nil
	}
	t.file = filepath.Join(home, trustFile)
	b, err := os.ReadFile(t.file)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, unreadable("", t.file, err)
	}
	bad := func(what, hint string) error {
		return &Error{Problems: []Problem{{File: t.file, What: what, Hint: hint, Fatal: true}}}
	}
	if info, err := os.Stat(t.file); err != nil || info.Mode().Perm()&0o022 != 0 {
		return nil, bad("others may write the list of trusted folders", "chmod 600 "+quote(t.file))
	}
	t.doc.Folders = nil
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t.doc); err != nil || dec.More() || t.doc.Folders == nil {
		return nil, bad("not a list of trusted folders", "remove the file and trust again what you trust")
	}
	return t, nil
}

// List returns the trusted folders by name.
func (t *Trust) List() []TrustedFolder {
	var list []TrustedFolder
	for _, folder := range slices.Sorted(maps.Keys(t.doc.Folders)) {
		f := t.doc.Folders[folder]
		f.Folder = folder
		list = append(list, f)
	}
	return list
}

// Add trusts the folder of settings that were loaded, with just what its files
// said then. It reports false when that folder brings no settings along.
func (t *Trust) Add(s *Settings, now time.Time) (bool, error) {
	if s.brought == "" {
		return false, nil
	}
	t.doc.Folders[s.Project] = TrustedFolder{Digest: s.brought, At: now.UTC()}
	return true, t.save()
}

// Revoke takes a folder off the list; false when it is not on it.
func (t *Trust) Revoke(folder string) (bool, error) {
	if plain, err := canonical(folder); err == nil {
		folder = plain
	}
	if _, ok := t.doc.Folders[folder]; !ok {
		return false, nil
	}
	delete(t.doc.Folders, folder)
	return true, t.save()
}

func (t *Trust) trusts(folder, digest string) bool {
	f, ok := t.doc.Folders[folder]
	return ok && f.Digest == digest
}

// save replaces the list as a whole: a crash leaves the old one or the new one.
func (t *Trust) save() error {
	if t.file == "" {
		return fmt.Errorf("%w: there is no home folder to keep trust in", ErrInvalid)
	}
	b, err := json.MarshalIndent(t.doc, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(t.file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".trust-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(append(b, '\n'))
	if err == nil {
		err = tmp.Sync()
	}
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), t.file)
}

// digest identifies what settings files say, names included.
func digest(files []source) string {
	if len(files) == 0 {
		return ""
	}
	h := sha256.New()
	for _, f := range files {
		name := filepath.Base(f.file)
		fmt.Fprintf(h, "%d:%s %d:", len(name), name, len(f.data))
		h.Write(f.data)
	}
	return hex.EncodeToString(h.Sum(nil))
}
