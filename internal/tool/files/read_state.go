package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/tool"
)

// maxWhole is the maximum size of a file to edit or to hash.
const maxWhole = 16 << 20

// absent is the value that a missing file has instead of a digest.
const absent = "absent"

// digest returns the SHA-256 of a file's content in hexadecimal. For a file that is larger than
// maxWhole, it returns the size and the time instead.
func digest(info fs.FileInfo, sum []byte) string {
	if info.Size() > maxWhole {
		of := sha256.Sum256(fmt.Appendf(nil, "%d bytes at %d", info.Size(), info.ModTime().UnixNano()))
		sum = of[:]
	}
	return hex.EncodeToString(sum)
}

// stateDigest returns the state of a path: the digest of the file, "absent" if nothing exists, or
// "" if there is no file that can be read.
func stateDigest(p workdir.Path) string {
	file, info, err := p.Open()
	if errors.Is(err, fs.ErrNotExist) {
		return absent
	}
	if err != nil {
		return ""
	}
	defer file.Close()
	if info.Size() > maxWhole {
		return digest(info, nil)
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(file, maxWhole+1)); err != nil {
		return ""
	}
	return digest(info, h.Sum(nil))
}

// markShown records in a result that it shows a file.
func (f *Files) markShown(r *tool.Result, p workdir.Path, digest string) {
	f.remember(p.Abs, digest)
	r.FilesShown = []record.FileShown{{Path: p.Abs, Digest: digest}}
}

func (f *Files) remember(abs, digest string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[abs] = digest
}

func (f *Files) seenDigest(abs string) (digest string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	digest, ok = f.seen[abs]
	return digest, ok
}

// recallingTool is a tool of a session that may be resumed.
type recallingTool struct {
	tool.Tool
	f *Files
}

// RestoreFiles implements [toolext.FileRecaller].
func (t recallingTool) RestoreFiles(seen []record.FileShown) {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	for _, s := range seen {
		if _, since := t.f.seen[s.Path]; !since {
			t.f.seen[s.Path] = s.Digest
		}
	}
}

// current reads a complete file for an edit, and checks that the model knows the current content.
func (f *Files) current(p workdir.Path) (originalFile, error) {
	file, info, err := p.Open()
	if err != nil {
		return originalFile{}, err
	}
	defer file.Close()
	if info.Size() > maxWhole {
		return originalFile{}, &workdir.PathError{Path: p.Abs, Err: fmt.Errorf("is %d bytes; files larger than %d bytes cannot be edited", info.Size(), maxWhole)}
	}
	was, ok := f.seenDigest(p.Abs)
	if !ok {
		return originalFile{}, unreadError(p)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxWhole+1))
	if err != nil {
		return originalFile{}, &workdir.PathError{Path: p.Abs, Err: err}
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != was {
		return originalFile{}, staleError(p)
	}
	return originalFile{info, was, data}, nil
}

// checkOverwrite checks that a file may be replaced, and returns the current content of the file.
// The error wraps fs.ErrNotExist if there is no file.
func (f *Files) checkOverwrite(p workdir.Path) (originalFile, error) {
	file, info, err := p.Open()
	if err != nil {
		return originalFile{}, err
	}
	defer file.Close()
	was, ok := f.seenDigest(p.Abs)
	if !ok {
		return originalFile{}, unreadError(p)
	}
	large := info.Size() > maxWhole
	if large && digest(info, nil) != was {
		return originalFile{}, staleError(p)
	}
	var held bytes.Buffer
	h := sha256.New()
	all := io.Writer(h)
	if !large {
		held.Grow(int(info.Size()))
		all = io.MultiWriter(h, &held)
	}
	if _, err := io.Copy(all, io.LimitReader(file, info.Size()+1)); err != nil {
		return originalFile{}, &workdir.PathError{Path: p.Abs, Err: err}
	}
	o := originalFile{info: info, sum: hex.EncodeToString(h.Sum(nil))}
	if !large {
		if o.sum != was {
			return originalFile{}, staleError(p)
		}
		if o.data = held.Bytes(); o.data == nil {
			o.data = []byte{} // an empty file is also treated as held in memory
		}
	}
	return o, nil
}

func unreadError(p workdir.Path) error {
	return &workdir.PathError{Path: p.Abs, Err: errors.New("exists but has not been read in this session: read it first")}
}

func staleError(p workdir.Path) error {
	return &workdir.PathError{Path: p.Abs, Err: errors.New("has changed since it was read: read it again")}
}
