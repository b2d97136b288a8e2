package outputs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// Eraser finds and removes the output files of a store's sessions. It is a [session.ExternalCopies].
type Eraser struct {
	Dir    string // $HOLDFAST_HOME/output
	Store  string // see [Files]
	Sealer Sealer // nil if the store is not encrypted
}

var _ session.ExternalCopies = (*Eraser)(nil)

// Find implements [session.ExternalCopies]. It returns files with a hit of the mask, files of erased tool
// uses, and files that cannot be decrypted.
func (h *Eraser) Find(ctx context.Context, e *session.Erasing) ([]session.ExternalCopy, error) {
	files, err := h.files(e.Session, slices.Values(e.Records))
	if err != nil {
		return nil, err
	}
	var list []session.ExternalCopy
	for _, f := range files {
		hit, err := h.matches(ctx, f, e)
		if err != nil {
			return nil, err
		}
		if hit {
			list = append(list, session.ExternalCopy{Session: e.Session, Kind: "output", Path: f.path})
		}
	}
	return list, nil
}

func (h *Eraser) matches(ctx context.Context, f file, e *session.Erasing) (bool, error) {
	for _, use := range e.Uses {
		if f.use == use || f.use == "" && strings.HasPrefix(f.rest, usePart(use)) {
			return true, nil
		}
	}
	if e.Mask == nil {
		return false, nil
	}
	content, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	text, err := open(ctx, h.Sealer, f.path, content)
	return err != nil || e.Hits(string(bytes.ToValidUTF8(text, []byte("\uFFFD")))), nil
}

// Erase implements [session.ExternalCopies].
func (h *Eraser) Erase(ctx context.Context, e *session.Erasing) error {
	list, err := h.Find(ctx, e)
	if err != nil {
		return err
	}
	for _, f := range list {
		if err := remove(f.Path); err != nil {
			return err
		}
	}
	return nil
}

// Forget implements [session.ExternalCopies].
func (h *Eraser) Forget(_ context.Context, id string, records iter.Seq2[session.Record, error]) error {
	files, err := h.files(id, readable(records))
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := remove(f.path); err != nil {
			return err
		}
	}
	return nil
}

// readable skips records that cannot be read.
func readable(records iter.Seq2[session.Record, error]) iter.Seq[session.Record] {
	return func(yield func(session.Record) bool) {
		for r, err := range records {
			if err == nil && !yield(r) {
				return
			}
		}
	}
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// file is an output file of a session.
type file struct {
	path string
	rest string // the name without the session's prefix
	use  string // for a file of an older version: the tool use whose result names it
}

// files lists the files of a session. It reads the records only if there are files of older versions.
func (h *Eraser) files(id string, records iter.Seq[session.Record]) ([]file, error) {
	paths, err := filepath.Glob(filepath.Join(h.Dir, "run-*", "*.txt"))
	if err != nil {
		return nil, err
	}
	var list []file
	old := map[string]string{} // by their name in records
	for _, path := range paths {
		name := filepath.Base(path)
		if rest, ok := strings.CutPrefix(name, prefix(h.Store, id)); ok {
			list = append(list, file{path: path, rest: rest})
		} else if isOld(name) {
			old[filepath.Base(filepath.Dir(path))+"/"+name] = path
		}
	}
	if len(old) == 0 {
		return list, nil
	}
	for r := range records {
		if r.Kind != session.KindItem && r.Kind != record.KindRewrite || !bytes.Contains(r.Payload, []byte("/output-")) {
			continue
		}
		for name, path := range old {
			if bytes.Contains(r.Payload, []byte(name)) {
				list = append(list, file{path: path, use: resultOf(r.Payload, name)})
				delete(old, name)
			}
		}
	}
	return list, nil
}

// resultOf returns the tool use whose result contains a text, or "".
func resultOf(payload json.RawMessage, text string) string {
	it, err := record.ReadItem(payload)
	if err != nil || !strings.Contains(string(it.Item.JSON), text) || len(it.Item.ResultIDs()) != 1 {
		return ""
	}
	return it.Item.ResultIDs()[0]
}
