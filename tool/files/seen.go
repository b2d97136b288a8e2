package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/holdfast-dev/holdfast/tool"
)

// maxWhole is the largest file that is edited, or hashed to notice a change.
const maxWhole = 16 << 20

// absent stands for the digest of a file that is not there.
const absent = "absent"

// state is what a file looked like when the model last saw or wrote it.
type state struct {
	size   int64
	time   time.Time
	sum    [sha256.Size]byte
	hashed bool // sum is set: the file was at most maxWhole
}

func stateOf(info fs.FileInfo, sum []byte) state {
	s := state{size: info.Size(), time: info.ModTime(), hashed: len(sum) > 0}
	copy(s.sum[:], sum)
	return s
}

// base identifies what lies at a place: the SHA-256 of a file, "absent" when there
// is nothing, "" when there is no file that can be read. Of a file beyond maxWhole,
// size and time stand for the content.
func base(p tool.Place) (string, *state) {
	file, info, err := p.Open()
	if errors.Is(err, fs.ErrNotExist) {
		return absent, nil
	}
	if err != nil {
		return "", nil
	}
	defer file.Close()
	h := sha256.New()
	if info.Size() > maxWhole {
		fmt.Fprintf(h, "%d bytes at %d", info.Size(), info.ModTime().UnixNano())
		s := stateOf(info, nil)
		return hex.EncodeToString(h.Sum(nil)), &s
	}
	if _, err := io.Copy(h, io.LimitReader(file, maxWhole+1)); err != nil {
		return "", nil
	}
	s := stateOf(info, h.Sum(nil))
	return hex.EncodeToString(s.sum[:]), &s
}

func (f *Files) remember(abs string, s state) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[abs] = s
}

func (f *Files) recall(abs string) (state, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.seen[abs]
	return s, ok
}

// current reads a whole file for an edit and checks that the model knows it as
// it is.
func (f *Files) current(p tool.Place) (original, error) {
	file, info, err := p.Open()
	if err != nil {
		return original{}, err
	}
	defer file.Close()
	if info.Size() > maxWhole {
		return original{}, &tool.PathError{Path: p.Abs, Err: fmt.Errorf("is %d bytes; files beyond %d are not edited", info.Size(), maxWhole)}
	}
	was, ok := f.recall(p.Abs)
	if !ok {
		return original{}, unread(p)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxWhole+1))
	if err != nil {
		return original{}, &tool.PathError{Path: p.Abs, Err: err}
	}
	if !was.hashed || sha256.Sum256(data) != was.sum {
		return original{}, stale(p)
	}
	return original{info, hex.EncodeToString(was.sum[:]), data}, nil
}

// overwritable checks that a file may be replaced without being looked at again, and
// reads what it is. An error that wraps fs.ErrNotExist: there is none.
func (f *Files) overwritable(p tool.Place) (original, error) {
	file, info, err := p.Open()
	if err != nil {
		return original{}, err
	}
	defer file.Close()
	was, ok := f.recall(p.Abs)
	if !ok {
		return original{}, unread(p)
	}
	if was.size != info.Size() || (!was.hashed && !was.time.Equal(info.ModTime())) {
		return original{}, stale(p)
	}
	var held bytes.Buffer
	h := sha256.New()
	all := io.Writer(h)
	if info.Size() <= maxWhole {
		held.Grow(int(info.Size()))
		all = io.MultiWriter(h, &held)
	}
	if _, err := io.Copy(all, io.LimitReader(file, info.Size()+1)); err != nil {
		return original{}, &tool.PathError{Path: p.Abs, Err: err}
	}
	now := h.Sum(nil)
	if was.hashed && [sha256.Size]byte(now) != was.sum {
		return original{}, stale(p)
	}
	o := original{info: info, sum: hex.EncodeToString(now)}
	if info.Size() <= maxWhole {
		if o.data = held.Bytes(); o.data == nil {
			o.data = []byte{} // an empty file is held as well
		}
	}
	return o, nil
}

func unread(p tool.Place) error {
	return &tool.PathError{Path: p.Abs, Err: errors.New("exists and has not been read in this session: read it first")}
}

func stale(p tool.Place) error {
	return &tool.PathError{Path: p.Abs, Err: errors.New("has changed since it was read: read it again")}
}
