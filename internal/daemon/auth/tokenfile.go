package auth

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// tokensFile is the content of the file: {"version":1,"tokens":[{…,"sha256":"HEX"}]}.
type tokensFile struct {
	Version int        `json:"version"`
	Tokens  []tokenDoc `json:"tokens"`
}

type tokenDoc struct {
	api.Token
	SHA256 string `json:"sha256"` // of the complete secret
}

// fileVersion identifies a version of the file.
type fileVersion struct {
	info fs.FileInfo // nil: the file does not exist
	read time.Time   // when the file was last read, by the system clock, which also sets file times
	ok   bool
}

// settleTime is the minimum age of a file when it is read. The modification time of a younger file
// may not show a later change, because file times have a limited resolution.
const settleTime = 50 * time.Millisecond

// refresh reads the file if it has changed since the last read. While it cannot be read, there are
// no valid tokens.
func (t *tokens) refresh() error {
	info, err := os.Stat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		t.stored, t.seen = nil, fileVersion{ok: true}
		return nil
	}
	if err == nil && t.seen.same(info) {
		return nil
	}
	now := time.Now()
	if err == nil {
		err = checkPrivate(t.path, info)
	}
	var list []storedToken
	if err == nil {
		list, err = readTokens(t.path)
	}
	if err != nil {
		t.stored, t.seen = nil, fileVersion{}
		return err
	}
	t.stored, t.seen = list, fileVersion{info, now, true}
	return nil
}

func (s fileVersion) same(info fs.FileInfo) bool {
	return s.ok && s.info != nil && os.SameFile(s.info, info) && s.info.Size() == info.Size() &&
		s.info.Mode() == info.Mode() && s.info.ModTime().Equal(info.ModTime()) && s.read.Sub(info.ModTime()) > settleTime
}

// checkPrivate rejects a file that other users can read or write.
func checkPrivate(path string, info fs.FileInfo) error {
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return &Error{ErrDamaged, fmt.Sprintf("%s is accessible to other users (mode %04o)", path, info.Mode().Perm()), "chmod 600 " + path}
	}
	return nil
}

const maxTokenFile = 4 << 20

func readTokens(path string) ([]storedToken, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	list, err := parseTokens(b)
	if err != nil {
		return nil, &Error{ErrDamaged, fmt.Sprintf("%s: %v", path, err), "remove it, and create new tokens: holdfast daemon token create"}
	}
	return list, nil
}

func parseTokens(b []byte) ([]storedToken, error) {
	if len(b) > maxTokenFile {
		return nil, fmt.Errorf("longer than %d bytes", maxTokenFile)
	}
	var doc tokensFile
	if err := jsontree.Decode(b, &doc); err != nil {
		return nil, err
	}
	if doc.Version != 1 {
		return nil, fmt.Errorf("unknown version %d", doc.Version)
	}
	list := make([]storedToken, 0, len(doc.Tokens))
	for i, d := range doc.Tokens {
		k, err := d.token()
		if err == nil && slices.ContainsFunc(list, func(o storedToken) bool { return o.ID == k.ID || o.digest == k.digest }) {
			err = errors.New("duplicate id")
		}
		if err != nil {
			return nil, fmt.Errorf("token %d: %w", i+1, err)
		}
		list = append(list, k)
	}
	return list, nil
}

func (d tokenDoc) token() (storedToken, error) {
	k := storedToken{Token: d.Token}
	n, err := hex.Decode(k.digest[:], []byte(d.SHA256)[:min(len(d.SHA256), 2*len(k.digest))])
	switch {
	case err != nil || n != len(k.digest) || len(d.SHA256) != 2*n:
		return storedToken{}, errors.New("sha256 is not 64 hexadecimal digits")
	case d.ID == "":
		return storedToken{}, errors.New("id is missing")
	}
	for _, s := range d.Scopes {
		if !slices.Contains(routes.Scopes(), s) {
			return storedToken{}, fmt.Errorf("%q is not a scope", s)
		}
	}
	k.Scopes = slices.Sorted(slices.Values(d.Scopes))
	return k, nil
}

// write writes the file atomically. The file then contains the recorded uses, too.
func (t *tokens) write() error {
	doc := tokensFile{Version: 1, Tokens: make([]tokenDoc, len(t.stored))}
	for i := range t.stored {
		if at, ok := t.used[t.stored[i].ID]; ok {
			t.stored[i].Used = &at
		}
		doc.Tokens[i] = tokenDoc{t.stored[i].Token, hex.EncodeToString(t.stored[i].digest[:])}
	}
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	if err := diskfile.Write(t.path, append(b, '\n')); err != nil {
		return err
	}
	t.seen = fileVersion{} // the file is read again before the next use
	return nil
}

type fileLock struct{ f *os.File }

func (l *fileLock) release() {
	if l.f != nil {
		diskfile.Unlock(l.f)
		_ = l.f.Close()
	}
}

const (
	lockTries = 500
	lockPause = 10 * time.Millisecond
)

// lock acquires the lock of the folder. If wait is false, it returns nil when another program has
// the lock. Programs hold the lock only while they write a small file, so lock polls until it is
// free.
func (t *tokens) lock(wait bool) (*fileLock, error) {
	f, err := os.OpenFile(t.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock tokens: %w", err)
	}
	for range lockTries {
		ok, err := diskfile.TryLock(f)
		if ok || errors.Is(err, errors.ErrUnsupported) {
			return &fileLock{f}, nil
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock tokens: %w", err), f.Close())
		}
		if !wait {
			break
		}
		time.Sleep(lockPause) // the kernel has no lock with a timeout
	}
	_ = f.Close()
	if wait {
		return nil, fmt.Errorf("%s.lock is locked by another program", t.path)
	}
	return nil, nil
}
