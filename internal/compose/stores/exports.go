package stores

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/oklog/ulid/v2"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/session"
)

// exportNote is a file in $HOLDFAST_HOME/exports. It records an export and its path, so that
// erasing finds it.
type exportNote struct {
	Store    string   `json:"store"`
	Sessions []string `json:"sessions"` // the exported sessions, and the sessions whose forks they are
	File     string   `json:"file"`
	SHA256   string   `json:"sha256"`
	Evidence bool     `json:"evidence,omitempty"` // true for an export of the audit trail

	name string // the file name of the note
}

// exportCopies erases exports. It implements [session.ExternalCopies].
type exportCopies struct{ dir, store string }

// NoteExport records the path of an export, so that erasing finds it, before the export is created.
// sum is the SHA-256 of the file in hexadecimal.
func NoteExport(ctx context.Context, e *env.Env, url string, s *session.Sessions, of []session.Meta, path, sum string, evidence bool) error {
	ref, err := Parse(e, url)
	if err != nil || ref.InMemory() {
		return err
	}
	home, err := e.Home()
	if err != nil {
		return nil //nolint:nilerr // without a home folder there is no place for the note
	}
	h := &exportCopies{filepath.Join(home, "exports"), ref.Name}
	n := exportNote{Store: h.store, File: path, SHA256: sum, Evidence: evidence}
	for _, m := range of {
		n.Sessions = append(n.Sessions, m.ID)
		for m.Parent != "" {
			if m, err = s.Get(ctx, m.Parent); err != nil {
				break // a deleted session has nothing to erase
			}
			n.Sessions = append(n.Sessions, m.ID)
		}
	}
	err = h.add(n)
	if err != nil {
		return fmt.Errorf("record the export for erasing: %w", err)
	}
	return nil
}

// add writes a note and replaces earlier ones of the same file.
func (h *exportCopies) add(n exportNote) error {
	before, err := h.notes("")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return err
	}
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(h.dir, ulid.Make().String()+".json"), append(raw, '\n'), 0o600); err != nil {
		return err
	}
	var errs []error
	for _, old := range before {
		if old.File == n.File {
			errs = append(errs, h.drop(old))
		}
	}
	return errors.Join(errs...)
}

func (h *exportCopies) drop(n exportNote) error {
	err := os.Remove(filepath.Join(h.dir, n.name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// notes returns the notes of a session, or all for "". An incomplete note was interrupted by a
// crash before its export was created.
func (h *exportCopies) notes(id string) (list []exportNote, _ error) {
	entries, err := os.ReadDir(h.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(h.dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		n := exportNote{name: e.Name()}
		if json.Unmarshal(raw, &n) == nil && n.Store == h.store && len(n.Sessions) > 0 && (id == "" || slices.Contains(n.Sessions, id)) {
			list = append(list, n)
		}
	}
	return list, nil
}

// affected lists the exports that contain the erased content. The result why has one entry for
// each: the reason why the export cannot be erased, or "".
func (h *exportCopies) affected(e *session.Erasing) (list []exportNote, why []string, _ error) {
	if e.Mask == nil && !e.Changed {
		return nil, nil, nil
	}
	notes, err := h.notes(e.Session)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range notes {
		if e.Mask != nil && !n.Evidence && n.Sessions[0] != e.Session {
			continue // the caller handles this export when it handles its session
		}
		masked, sum, err := readExport(e, n.File)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		stays := ""
		switch {
		case err != nil:
			stays = fmt.Sprintf("it cannot be read (%v): remove it yourself", err)
		case e.Mask != nil && !masked:
			continue
		case n.Evidence:
			stays = "exports of the audit trail are not changed: remove it yourself"
		case sum != n.SHA256:
			stays = "it was changed since it was exported: remove it yourself"
		}
		list, why = append(list, n), append(why, stays)
	}
	return list, why, nil
}

// Find implements [session.ExternalCopies].
func (h *exportCopies) Find(_ context.Context, e *session.Erasing) (list []session.ExternalCopy, _ error) {
	found, why, err := h.affected(e)
	for i, n := range found {
		list = append(list, session.ExternalCopy{Session: e.Session, Kind: "export", Path: n.File, Stays: why[i]})
	}
	return list, err
}

// Erase implements [session.ExternalCopies].
func (h *exportCopies) Erase(_ context.Context, e *session.Erasing) error {
	found, why, err := h.affected(e)
	for i, n := range found {
		if why[i] != "" {
			continue
		}
		if err := os.Remove(n.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := h.drop(n); err != nil {
			return err
		}
	}
	return err
}

// Forget implements [session.ExternalCopies]. Exports are meant to outlive their session, so only
// the notes are deleted.
func (h *exportCopies) Forget(_ context.Context, id string, _ iter.Seq2[session.Record, error]) error {
	notes, err := h.notes(id)
	for _, n := range notes {
		if n.Sessions[0] == id && !n.Evidence {
			err = errors.Join(err, h.drop(n))
		}
	}
	return err
}
