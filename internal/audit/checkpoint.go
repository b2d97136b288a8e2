package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/session"
)

// Checkpoint signs the current content of the trail and returns the signed note. If nothing was
// added since the previous note, it returns that note. The first call creates the key. It returns
// ErrCorrupt if leaves that an earlier checkpoint covers were changed.
func (t *Trail) Checkpoint() ([]byte, error) {
	t.signing.Lock()
	defer t.signing.Unlock()
	t.mu.Lock()
	closed, fresh := t.closed, t.unsigned
	t.mu.Unlock()
	if closed {
		return nil, trailError("sign", t.folder, session.ErrClosed, "the trail was closed", "")
	}
	lock, err := t.file(checkpointLock, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	unlock, err := lockFile(lock)
	if err != nil {
		return nil, err
	}
	defer unlock()
	signed, err := t.sign()
	if err != nil {
		hint := "free disk space, and make sure that you own the folder and its files and can write to them"
		if errors.Is(err, session.ErrCorrupt) || errors.Is(err, errNoCheckpoint) {
			hint = inspectHint
		}
		return nil, trailError("sign", t.folder, err, "no new checkpoint was signed", hint)
	}
	t.mu.Lock()
	t.unsigned -= fresh // leaves that are added meanwhile belong to the next checkpoint
	t.mu.Unlock()
	return signed, nil
}

// sign does the work of Checkpoint; the caller holds the lock.
func (t *Trail) sign() ([]byte, error) {
	before, signed, err := readCheckpoint(t.folder)
	if err != nil {
		return nil, err
	}
	end, err := t.completeLength(before)
	if err != nil {
		return nil, err
	}
	if signed != nil && end == before.bytes {
		return signed, nil
	}
	// Leaves, tree and note are synced in parallel. After all of them are durable, the note gets
	// its name.
	var disk errgroup.Group
	disk.Go(t.leaves.Sync)
	next, signed, err := t.signNext(before, signed, end, &disk)
	if synced := disk.Wait(); err != nil {
		return nil, err
	} else if synced != nil {
		return nil, errors.Join(synced, next.Discard())
	}
	if err := appendHistory(filepath.Join(t.folder, historyName), signed); err != nil {
		return nil, errors.Join(err, next.Discard())
	}
	return signed, next.Place(filepath.Join(t.folder, checkpointName))
}

// signNext makes the note for the leaves up to byte end, and the file that will become the
// checkpoint. It starts the syncs of that file and of the tree in the group disk.
func (t *Trail) signNext(before checkpoint, last []byte, end int64, disk *errgroup.Group) (next *diskfile.PendingFile, signed []byte, err error) {
	if err = t.readKey(last != nil); err != nil {
		return nil, nil, err
	}
	if err = t.verify(last); err != nil {
		return nil, nil, err
	}
	now := checkpoint{origin: t.pair.signer.Name(), bytes: end, time: t.clock()}
	if now.size, now.root, err = t.extend(before, end, disk); err != nil {
		return nil, nil, err
	}
	signed, err = note.Sign(&note.Note{Text: now.text()}, t.pair.signer)
	if err != nil {
		return nil, nil, err
	}
	next, err = diskfile.Begin(t.folder, signed)
	if err == nil {
		disk.Go(next.Sync)
	}
	return next, signed, err
}

// verify checks the signature of the last checkpoint, unless it has already done so. A nil note
// means that there is no checkpoint.
func (t *Trail) verify(last []byte) error {
	if last == nil || bytes.Equal(last, t.verified) {
		return nil
	}
	if _, err := note.Open(last, note.VerifierList(t.pair.verifier)); err != nil {
		return fmt.Errorf("the last checkpoint: %w: %w", session.ErrCorrupt, err)
	}
	t.verified = last
	return nil
}

// prepare does some of the work for the first checkpoint in advance, so that Close need not
// wait for it. It writes nothing. Errors are reported later, when a checkpoint is signed.
func (t *Trail) prepare() {
	t.signing.Lock()
	defer t.signing.Unlock()
	t.mu.Lock()
	closed := t.closed
	t.mu.Unlock()
	if closed {
		return
	}
	text, err := readLine(t.folder, keyName)
	if err != nil || t.setKeyPair(text) != nil {
		warmUp()
	} else if _, signed, err := readCheckpoint(t.folder); err == nil {
		_ = t.verify(signed)
	}
}

// completeLength returns the length of the complete leaves in bytes.
func (t *Trail) completeLength(cp checkpoint) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	unlock, err := lockFile(t.lock)
	if err != nil {
		return 0, err
	}
	defer unlock()
	err = t.repairTail(cp)
	return t.end, err
}

// extend appends to the tree's file the hashes of the leaves from a checkpoint up to byte end. It
// starts the sync of the file in the group disk.
func (t *Trail) extend(from checkpoint, end int64, disk *errgroup.Group) (size int64, root tlog.Hash, err error) {
	f, err := t.file(treeName, os.O_RDWR)
	if err != nil {
		return 0, root, err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // err is more useful
		}
	}()
	h := hashes{file: f, stored: tlog.StoredHashCount(from.size)}
	if was, err := tlog.TreeHash(from.size, &h); err != nil || was != from.root && from.size > 0 {
		// The file is lost or older than the checkpoint, so recreate it from the leaves.
		h = hashes{file: f}
		if err := t.add(&h, 0, 0, from.bytes); err != nil {
			return 0, root, err
		}
		if h.size != from.size || h.root() != from.root {
			return 0, root, fmt.Errorf("%w: the first %d leaves differ from the signed leaves", session.ErrCorrupt, from.size)
		}
	}
	if err := t.add(&h, from.size, from.bytes, end); err != nil {
		return 0, root, err
	}
	root = h.root()
	if err := h.flush(); err != nil {
		return 0, root, err
	}
	disk.Go(func() error { return errors.Join(f.Sync(), f.Close()) })
	return h.size, root, nil
}

// add adds the leaves between two bytes to the tree; the first of them has number n.
func (t *Trail) add(h *hashes, n, from, to int64) error {
	h.size = n
	lines := bufio.NewReader(io.NewSectionReader(t.leaves, from, to-from))
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("leaf %d: %w", h.size+1, err)
		}
		line = line[:len(line)-1]
		if _, err := parseLeaf(line); err != nil {
			return fmt.Errorf("%w: leaf %d is %w", session.ErrCorrupt, h.size+1, err)
		}
		if err := h.add(tlog.RecordHash(line)); err != nil {
			return err
		}
	}
}

// hashes are the hashes in the tree's file and those that will be added to it. Each has 32 bytes;
// they are in the order of [tlog.StoredHashIndex].
type hashes struct {
	file    *os.File
	stored  int64 // number of valid hashes in the file
	size    int64 // number of leaves
	pending []tlog.Hash
}

// ReadHashes implements [tlog.HashReader].
func (h *hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		if at >= h.stored {
			out[i] = h.pending[at-h.stored]
			continue
		}
		if _, err := h.file.ReadAt(out[i][:], at*tlog.HashSize); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (h *hashes) add(record tlog.Hash) error {
	more, err := tlog.StoredHashesForRecordHash(h.size, record, h)
	if err != nil {
		return err
	}
	h.size++
	if h.pending = append(h.pending, more...); len(h.pending) >= 8192 {
		return h.flush()
	}
	return nil
}

func (h *hashes) flush() error {
	buf := make([]byte, 0, len(h.pending)*tlog.HashSize)
	for i := range h.pending {
		buf = append(buf, h.pending[i][:]...)
	}
	_, err := h.file.WriteAt(buf, h.stored*tlog.HashSize)
	h.stored += int64(len(h.pending))
	h.pending = h.pending[:0]
	return err
}

func (h *hashes) root() tlog.Hash {
	root, err := tlog.TreeHash(h.size, h)
	if err != nil {
		return tlog.Hash{}
	}
	return root
}

// appendHistory appends a note to the list of all notes. Before that, it removes a note that a
// crash left incomplete. It does not sync: the last note is also in a separate file.
func appendHistory(path string, signed []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|openFlags, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	const notes = 4096 // longer than one note of this package
	tail := make([]byte, min(info.Size(), notes))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
		return err
	}
	end := info.Size() - int64(len(tail)) + int64(completeNotes(tail))
	if err := f.Truncate(end); err != nil {
		return err
	}
	_, err = f.WriteAt(append(slices.Clip(signed), '\n'), end)
	return err
}

// completeNotes returns the length in bytes of the complete notes at the start of b.
func completeNotes(b []byte) int {
	i := bytes.LastIndex(b, []byte("\n— "))
	for i >= 0 {
		if end := bytes.Index(b[i:], []byte("\n\n")); end >= 0 {
			return i + end + 2
		}
		i = bytes.LastIndex(b[:i], []byte("\n— "))
	}
	return 0
}
