package file

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
)

var _ session.Eraser = (*Store)(nil)

// rewriteName is the name of a log that is being rewritten without the erased payloads. It takes
// effect only when it is renamed.
const rewriteName = logName + ".new"

// Erase implements [session.Eraser]. It writes a new log next to the old one, syncs it, and
// renames it over the old one, so that one complete log exists at any time. Torn tails (torn-*.bin)
// are removed, because they may contain the erased text too. The file system may reuse the blocks
// of the old files.
func (s *Store) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	h, err := s.use("erase", id)
	if err != nil {
		return err
	}
	defer s.release(h)
	switch err := h.enter(ctx, false); {
	case errors.Is(err, fs.ErrNotExist):
		return explain("erase", id, s.eraseDeleted(ctx, id, seqs))
	case err != nil:
		return explain("erase", id, err)
	}
	defer h.leave()
	return explain("erase", id, h.erase(epoch, seqs))
}

// eraseDeleted erases in the part of a deleted session that is kept for its forks. No process
// writes it, so there is no lease.
func (s *Store) eraseDeleted(ctx context.Context, id string, seqs []int64) error {
	release, err := s.lockNames(ctx)
	if err != nil {
		return err
	}
	defer release()
	name := deletedPrefix + id
	d, err := openDir(s.root, name)
	if err != nil {
		return err
	}
	h := &handle{s: s, id: name, dir: d}
	defer h.closeFiles()
	if h.summary, err = s.summaryOf(id, name); err != nil {
		return err
	}
	if h.log, err = s.disk.open(d, logName, os.O_RDWR); err != nil {
		return err
	}
	gone, err := h.ownRecords(seqs)
	if err != nil {
		return err
	}
	if err := h.rewrite(gone); err != nil {
		return err
	}
	if err := s.disk.remove(d, metaName); err != nil { // the summary has the texts that lists show; the log has the rest
		return err
	}
	s.forget(name)
	return s.disk.syncDir(d)
}

// ownRecords checks that the session itself has records with these seqs.
func (h *handle) ownRecords(seqs []int64) (map[int64]bool, error) {
	gone := map[int64]bool{}
	for _, seq := range seqs {
		if seq <= h.summary.Meta.ParentSeq || seq > h.summary.Meta.Head {
			return nil, &session.Error{Op: "erase", Session: h.id, Seq: seq, Err: session.ErrInvalid, Detail: "the session itself has no record with this number"}
		}
		gone[seq] = true
	}
	return gone, nil
}

func (h *handle) erase(epoch int64, seqs []int64) error {
	if err := h.load(false); err != nil {
		return err
	}
	if h.summary.End == 0 {
		return &session.Error{Op: "erase", Session: h.id, Err: session.ErrNotFound}
	}
	if err := h.fence(epoch); err != nil {
		return err
	}
	if h.corrupt != 0 {
		return corrupt("erase", h.id, h.corrupt, h.detail)
	}
	gone, err := h.ownRecords(seqs)
	if err != nil {
		return err
	}
	if err := h.sync(); err != nil { // this makes the redacted record durable in particular
		return h.poison(err)
	}
	if err := h.rewrite(gone); err != nil {
		return err
	}
	return h.removeTorn()
}

// rewrite replaces the log by one without some payloads.
func (h *handle) rewrite(gone map[int64]bool) error {
	if err := h.dir.Remove(rewriteName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := h.s.disk.open(h.dir, rewriteName, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	m, err := h.copyLog(f, gone)
	if err == nil {
		err = h.s.disk.sync(f)
	}
	if err == nil { // the cache belongs to the old log and may contain erased text
		if err = h.s.disk.remove(h.dir, metaName); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = h.s.disk.rename(h.dir, rewriteName, logName)
	}
	if err != nil {
		f.Close()
		_ = h.dir.Remove(rewriteName)
		return err
	}
	h.log.Close()
	h.log, h.summary, h.loaded = f, m, true
	h.acked.Store(m.End)
	if err := h.s.disk.syncDir(h.dir); err != nil {
		return h.poison(err) // after a crash, either of the two files may remain
	}
	if h.summary.Stamp, _, err = statFile(f); err != nil {
		return err
	}
	if err := h.s.disk.replace(h.dir, metaName, h.summary.encode(), true); err != nil {
		return err
	}
	h.saved = m.End
	h.s.forget(h.id)
	return nil
}

// copyLog writes the log's lines to f, some without their payloads, and returns the summary of the
// copy.
func (h *handle) copyLog(f *os.File, gone map[int64]bool) (logSummary, error) {
	m := h.summary
	s := scanner{f: h.log, limit: h.summary.End}
	var (
		buf []byte
		off int64
	)
	flush := func() error {
		err := h.s.disk.write(f, buf, off)
		off += int64(len(buf))
		buf = buf[:0]
		return err
	}
	for {
		l, err := s.next()
		if errors.Is(err, io.EOF) {
			m.End = off + int64(len(buf))
			return m, flush()
		}
		if err != nil {
			return m, err
		}
		if l.bad {
			return m, corrupt("erase", h.id, 0, "the line is damaged")
		}
		if gone[l.rec.Seq] {
			m.Meta.Size -= int64(len(l.rec.Payload))
			l.rec.Payload = nil
		}
		m.Start = off + int64(len(buf))
		buf = appendLine(buf, &l.rec, l.left)
		if len(buf) >= chunk {
			if err := flush(); err != nil {
				return m, err
			}
		}
	}
}

// removeTorn removes the torn tails of crashes.
func (h *handle) removeTorn() error {
	entries, err := fs.ReadDir(h.dir.FS(), ".")
	if err != nil {
		return err
	}
	removed := false
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "torn-") && strings.HasSuffix(e.Name(), ".bin") {
			if err := h.s.disk.remove(h.dir, e.Name()); err != nil {
				return err
			}
			removed = true
		}
	}
	if !removed {
		return nil
	}
	return h.s.disk.syncDir(h.dir)
}
