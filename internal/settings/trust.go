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

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

const trustFile = "trust.json"

// Trust is the list of folders whose settings the user trusts, each with the digest of their
// content at that time: changed settings need trust again. It is stored in HOLDFAST_HOME. It is not
// safe for concurrent use.
type Trust struct {
	file string
	doc  trustDoc
}

type trustDoc struct {
	Folders map[string]TrustedFolder `json:"folders"`
}

// TrustedFolder is a folder that the user trusts.
type TrustedFolder struct {
	Folder    string    `json:"-"`
	Digest    string    `json:"digest"` // digest of the settings files, SHA-256 in hexadecimal
	TrustedAt time.Time `json:"at"`
	// Hooks are the hooks that may run, each in its form at that time. If Digest is "", only these
	// hooks are trusted.
	Hooks []TrustedHook `json:"hooks,omitempty"`
	// Texts says that its instruction files are treated as the user's. Skills is the digest of its
	// trusted skills and commands.
	Texts  bool   `json:"texts,omitempty"`
	Skills string `json:"skills,omitempty"`
	// Foreign is the digest of the files of other programs.
	Foreign string `json:"foreign,omitempty"`
	// Servers are the decisions about MCP servers, by name.
	Servers []TrustedServer `json:"servers,omitempty"`
}

// TrustedHook is a hook that the user trusts.
type TrustedHook struct {
	Event   string `json:"event"`
	Matcher string `json:"matcher,omitempty"`
	Name    string `json:"name"`   // the command or the URL
	Digest  string `json:"digest"` // [hook.Definition].Digest
	// Blocks says that its failure blocks, regardless of strictHooks.
	Blocks bool `json:"blocks,omitempty"`
}

func trustedHook(d *hook.Definition) TrustedHook {
	return TrustedHook{Event: string(d.Event), Matcher: d.Matcher, Name: HookName(d), Digest: d.Digest, Blocks: d.CanBlock(false)}
}

// same reports whether two values are the same hook, possibly in a different form.
func (h TrustedHook) same(other TrustedHook) bool {
	h.Digest, h.Blocks = other.Digest, other.Blocks
	return h == other
}

// OpenTrust reads the list in a home folder; without a home folder or a list, nothing is trusted. A
// list that is unreadable or writable by others is an *[Error].
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
		return &Error{Problems: []Problem{{File: t.file, Detail: what, Hint: hint, Fatal: true}}}
	}
	if info, err := os.Stat(t.file); err != nil || info.Mode().Perm()&0o022 != 0 {
		return nil, bad("the list of trusted folders is writable by others", "chmod 600 "+quote(t.file))
	}
	t.doc.Folders = nil
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t.doc); err != nil || dec.More() || t.doc.Folders == nil {
		return nil, bad("not a list of trusted folders", "remove the file, and trust your folders again")
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

// Add trusts the folder of loaded settings, with the content of its files and of the files that its
// hooks name at that time. It reports false if the folder has no settings.
func (t *Trust) Add(s *Settings, now time.Time) (bool, error) {
	if s.projectDigest == "" && s.foreignDigest == "" {
		return false, nil
	}
	f := t.doc.Folders[s.Project]
	f.Digest, f.Foreign, f.TrustedAt, f.Hooks, f.Servers = s.projectDigest, s.foreignDigest, now.UTC(), s.trustable(), s.trustableServers(f.Servers, now)
	t.doc.Folders[s.Project] = f
	return true, t.save()
}

// Update keeps a folder trusted after its owner changed one of its settings files: before are the
// previously loaded settings, s the current ones. It reports false, and trusts nothing, if before
// was not completely trusted or another file changed too. The trusted hooks and servers do not
// change.
func (t *Trust) Update(before, s *Settings, file string, now time.Time) (bool, error) {
	if before.projectDigest != "" && !t.trusts(before.Project, before.projectDigest) || s.projectDigest == before.projectDigest {
		return false, nil
	}
	was, is := maps.Clone(before.texts), maps.Clone(s.texts)
	delete(was, file)
	delete(is, file)
	if before.Project != s.Project || !maps.Equal(was, is) {
		return false, nil
	}
	f := t.doc.Folders[s.Project]
	f.Digest = s.projectDigest
	if f.TrustedAt.IsZero() {
		f.TrustedAt = now.UTC()
	}
	t.doc.Folders[s.Project] = f
	return true, t.save()
}

// textsOf returns the texts of files, by name.
func textsOf(files []source) map[string]string {
	texts := map[string]string{}
	for _, f := range files {
		texts[f.file] = string(f.data)
	}
	return texts
}

// AddHooks trusts the hooks of the folder of loaded settings, in their form when the settings were
// loaded, and changes nothing else. It reports false if the folder has no hooks and none were
// trusted.
func (t *Trust) AddHooks(s *Settings, now time.Time) (bool, error) {
	hooks, f := s.trustable(), t.doc.Folders[s.Project]
	if len(hooks) == 0 && len(f.Hooks) == 0 {
		return false, nil
	}
	f.TrustedAt, f.Hooks = now.UTC(), hooks
	t.doc.Folders[s.Project] = f
	return true, t.save()
}

// trustable returns the hooks of the folder that have a digest.
func (s *Settings) trustable() []TrustedHook {
	var list []TrustedHook
	for i := range s.Hooks {
		if h := &s.Hooks[i]; isFolderLayer(h.Origin.Layer) && h.Digest != "" {
			list = append(list, trustedHook(&h.Definition))
		}
	}
	return list
}

// Revoke removes a folder from the list; false if it is not on it.
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

// hooks returns the trusted hooks of a folder.
func (t *Trust) hooks(folder string) []TrustedHook {
	if t == nil {
		return nil
	}
	return t.doc.Folders[folder].Hooks
}

func (t *Trust) trusts(folder, digest string) bool {
	f, ok := t.doc.Folders[folder]
	return ok && digest != "" && f.Digest == digest
}

func (t *Trust) trustsForeign(folder, digest string) bool {
	f, ok := t.doc.Folders[folder]
	return ok && digest != "" && f.Foreign == digest
}

// save replaces the whole list atomically: a crash leaves the old one or the new one.
func (t *Trust) save() error {
	if t.file == "" {
		return fmt.Errorf("%w: no home folder to store trust", ErrInvalid)
	}
	b, err := json.MarshalIndent(t.doc, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(t.file), 0o700); err != nil {
		return err
	}
	return diskfile.Write(t.file, append(b, '\n'))
}

// digest identifies the content of settings files, including names.
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
