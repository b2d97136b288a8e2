package quarantine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// mark records that Holdfast, and not a command, has created a name.
type mark struct {
	Path string    `json:"path"`
	File string    `json:"file,omitempty"` // the id of the file, see [fileID]; "" while the file is being created
	Time time.Time `json:"time"`
}

// These say how long marks are valid.
const (
	markTTL = 10 * time.Second // for a name that is being created
	itemTTL = 24 * time.Hour   // for a name that was created; commands that started before have ended by then
)

// MarkOwn calls the function makes, which creates a file and, if necessary, the folders that
// contain it. Sandboxes do not move these to quarantine. Without a quarantine MarkOwn only calls
// makes.
func (f Folder) MarkOwn(path string, makes func() error) error {
	if f == "" {
		return makes()
	}
	var missing []string
	for name := path; name != filepath.Dir(name); name = filepath.Dir(name) {
		if id, _ := fileID(name); id != "" {
			break
		}
		missing = append(missing, name)
	}
	if missing == nil {
		return makes()
	}
	f.sweep()
	for _, name := range missing {
		if err := f.mark(name, ""); err != nil {
			return err
		}
	}
	err := makes()
	for _, name := range missing {
		id, _ := fileID(name)
		if id == "" {
			err = errors.Join(err, os.Remove(f.markFile(name)))
			continue
		}
		err = errors.Join(err, f.mark(name, id))
	}
	return err
}

// IsOwn reports whether the file at a path was created within [Folder.MarkOwn].
func (f Folder) IsOwn(path string) bool {
	b, err := os.ReadFile(f.markFile(path))
	if err != nil {
		return false
	}
	m := mark{}
	if json.Unmarshal(b, &m) != nil || m.Path != path {
		return false
	}
	if m.File == "" {
		return time.Since(m.Time) < markTTL
	}
	id, err := fileID(path)
	return err == nil && id == m.File && time.Since(m.Time) < itemTTL
}

func (f Folder) marks() string { return filepath.Join(string(f), ".kept") }

func (f Folder) markFile(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(f.marks(), hex.EncodeToString(sum[:16]))
}

func (f Folder) mark(path, file string) error {
	b, err := json.Marshal(mark{path, file, time.Now()})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.marks(), 0o700); err != nil {
		return err
	}
	return diskfile.Write(f.markFile(path), b)
}

// sweep removes expired marks.
func (f Folder) sweep() {
	entries, _ := os.ReadDir(f.marks())
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > itemTTL {
			_ = os.Remove(filepath.Join(f.marks(), e.Name()))
		}
	}
}

// fileID identifies a file, so that another file with the same name has a different id; "" if it does not
// exist.
func fileID(path string) (string, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return sysID(info), nil
}
