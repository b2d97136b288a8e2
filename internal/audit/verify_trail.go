package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/holdfast-dev/holdfast/session"
)

// claim is a checkpoint that is compared with the leaves, and where it comes from.
type claim struct {
	checkpoint
	from string
}

// readTrail reads the trail. It reads the checkpoints first, so that the leaves that it reads later
// include all leaves that the checkpoints cover.
func (v *verifyRun) readTrail() error {
	v.sessions = map[string]*sessionLeaves{}
	if _, err := os.Stat(v.dir); errors.Is(err, fs.ErrNotExist) {
		if v.o.Checkpoint != nil || v.o.Key != "" {
			v.addFinding(Finding{Detail: "the trail is missing: no folder " + v.dir})
		} else {
			v.note("no audit trail (%s); only the hash chains were checked", v.dir)
		}
		return nil
	}
	claims, err := v.claims()
	if err != nil {
		return err
	}
	return v.readLeaves(claims)
}

// claims reads the checkpoints, smallest first.
func (v *verifyRun) claims() ([]claim, error) {
	last, err := trailFile(v.dir, checkpointName)
	if err != nil {
		return nil, err
	}
	history, err := trailFile(v.dir, historyName)
	if err != nil {
		return nil, err
	}
	v.signed = len(last)+len(history) > 0
	verifier, err := v.verifier(v.signed)
	if err != nil {
		return nil, err
	}
	var claims []claim
	add := func(signed []byte, from string) {
		if c, err := openCheckpoint(signed, verifier); err != nil {
			v.addFinding(Finding{Detail: from + ": " + err.Error()})
		} else {
			claims = append(claims, claim{c, from})
		}
	}
	notes, torn := splitNotes(history)
	for i, signed := range notes {
		add(signed, fmt.Sprintf("note %d of the file %s", i+1, historyName))
	}
	if len(torn) > 0 {
		v.note("the file %s ends in the middle of a note, as after a crash", historyName)
	}
	if len(last) > 0 {
		add(last, "the file "+checkpointName)
	} else if len(notes) > 0 {
		v.note("the file %s is missing; the newest note of the file %s was used", checkpointName, historyName)
	}
	if v.o.Checkpoint != nil {
		add(v.o.Checkpoint, "the given checkpoint")
	}
	slices.SortStableFunc(claims, func(a, b claim) int { return cmp.Compare(a.size, b.size) })
	for _, c := range claims {
		if c.size >= int64(v.r.Checkpoint) && !strings.HasSuffix(c.from, "elsewhere") {
			v.r.Checkpoint, v.r.Signed = int(c.size), c.time.Format(leafTime)
		}
	}
	return claims, nil
}

// trailFile reads a file that may be missing.
func trailFile(dir, name string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// verifier returns the key that verifies notes, or nil if there is none.
func (v *verifyRun) verifier(signed bool) (note.Verifier, error) {
	stored, err := trailFile(v.dir, verifierName)
	if err != nil {
		return nil, err
	}
	v.r.Key = strings.TrimSpace(v.o.Key)
	if v.r.Key == "" {
		v.r.Key = strings.TrimSpace(string(stored))
		v.compareKeys()
	}
	if v.r.Key == "" {
		if signed {
			v.addFinding(Finding{Detail: "the file " + verifierName + " is missing: the key of the checkpoints is unknown"})
		}
		return nil, nil
	}
	if verifier, err := note.NewVerifier(v.r.Key); err == nil {
		return verifier, nil
	}
	if v.o.Key != "" {
		return nil, &session.Error{
			Op: "verify", Err: session.ErrInvalid, Detail: "not a verifier key: " + v.o.Key,
			Hint: "a verifier key has the form name+hash+data, as in the file " + verifierName,
		}
	}
	v.addFinding(Finding{Detail: "the file " + verifierName + " contains no verifier key"})
	return nil, nil
}

// compareKeys checks whether the public key belongs to the signing key, if the signing key can be
// read.
func (v *verifyRun) compareKeys() {
	secret, err := readLine(v.dir, keyName)
	if err != nil {
		return
	}
	if public, err := publicKey(secret); err != nil {
		v.addFinding(Finding{Detail: "the file " + keyName + " contains no signing key"})
	} else if public != v.r.Key && v.r.Key != "" {
		v.addFinding(Finding{Detail: "the file " + verifierName + " does not belong to the signing key"})
	}
}

func openCheckpoint(signed []byte, verifier note.Verifier) (checkpoint, error) {
	if verifier == nil {
		return checkpoint{}, errors.New("it cannot be verified without a key")
	}
	n, err := note.Open(signed, note.VerifierList(verifier))
	if e, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
		by := "another key"
		if len(e.Note.UnverifiedSigs) > 0 {
			by = fmt.Sprintf("%s+%08x", e.Note.UnverifiedSigs[0].Name, e.Note.UnverifiedSigs[0].Hash)
		}
		return checkpoint{}, fmt.Errorf("it is signed with %s, not with %s+%08x", by, verifier.Name(), verifier.KeyHash())
	}
	if err != nil {
		return checkpoint{}, fmt.Errorf("it was changed: %w", err)
	}
	c, err := parseCheckpoint(n.Text)
	if err == nil && c.origin != verifier.Name() {
		err = fmt.Errorf("it belongs to another trail: %s", c.origin)
	}
	return c, err
}

// readLeaves reads every leaf, and checks the tree and the checkpoints against them.
func (v *verifyRun) readLeaves(claims []claim) error {
	f, err := os.Open(filepath.Join(v.dir, leavesName))
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.Open(os.DevNull)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	tree, err := os.Open(filepath.Join(v.dir, treeName))
	if errors.Is(err, fs.ErrNotExist) {
		tree, err = os.Open(os.DevNull)
	}
	if err != nil {
		return err
	}
	defer tree.Close()
	w := treeWalk{v: v, claims: claims, tree: bufio.NewReader(tree)}
	w.reach(0)
	lines := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := readLeaf(lines)
		if errors.Is(err, io.EOF) {
			if len(line) > 0 {
				v.note("the leaves end in the middle of a line, as after a crash or while a program writes")
			}
			break
		}
		if err != nil {
			return err
		}
		if w.size%1024 == 0 {
			if err := v.ctx.Err(); err != nil {
				return err
			}
		}
		v.end += int64(len(line))
		w.leaf(line[:len(line)-1])
		w.reach(v.end)
	}
	v.r.Leaves = int(w.size)
	w.finish()
	return nil
}

// deletedMeanwhile reports whether a session was deleted after the leaves were read.
func (v *verifyRun) deletedMeanwhile(id string) bool {
	return v.changedSince(id, func(l leaf) bool { return l.deleted })
}

// changedSince reports whether a matching leaf of a session was written after the leaves were read.
// The function is reports whether a leaf matches.
func (v *verifyRun) changedSince(id string, is func(leaf) bool) bool {
	f, err := os.Open(filepath.Join(v.dir, leavesName))
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewReader(io.NewSectionReader(f, v.end, math.MaxInt64-v.end))
	for {
		line, err := readLeaf(lines)
		if err != nil {
			return false
		}
		if l, err := parseLeaf(line[:len(line)-1]); err == nil && l.session == id && is(l) {
			return true
		}
	}
}

// readLeaf reads a line of any length, with its line break.
func readLeaf(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line)
		rest, more := r.ReadBytes('\n')
		return append(line, rest...), more
	}
	return line, err
}

// treeWalk computes the hash tree while the leaves are read.
type treeWalk struct {
	v         *verifyRun
	claims    []claim // not yet reached
	tree      *bufio.Reader
	truncated bool        // the tree's file has ended
	size      int64       // number of leaves
	right     []tlog.Hash // the roots of the complete subtrees, largest subtree first
	good      int64       // how many leaves a checkpoint proves
	mismatch  int64       // the first leaf for which the tree's file has a different hash
	bad       bool        // a checkpoint does not match
}

func (w *treeWalk) leaf(line []byte) {
	w.size++
	l, err := parseLeaf(line)
	if err != nil {
		w.v.addFinding(Finding{Leaf: w.size, Detail: "the line is " + err.Error()})
	} else if p := w.v.sessionOf(l.session); l.deleted {
		p.deletes = append(p.deletes, deletedAt{at: len(p.leaves), leaf: w.size})
	} else {
		p.leaves = append(p.leaves, leafRef{seq: l.seq, leaf: w.size, digest: l.digest})
	}
	h := tlog.RecordHash(line)
	w.compare(h)
	for n := w.size - 1; n&1 == 1; n >>= 1 {
		last := len(w.right) - 1
		h = tlog.NodeHash(w.right[last], h)
		w.right = w.right[:last]
		w.compare(h)
	}
	w.right = append(w.right, h)
}

// compare compares a hash with the next hash of the tree's file, if a checkpoint covers it.
func (w *treeWalk) compare(h tlog.Hash) {
	if w.truncated || w.mismatch != 0 || w.size > int64(w.v.r.Checkpoint) {
		return
	}
	var stored tlog.Hash
	if _, err := io.ReadFull(w.tree, stored[:]); err != nil {
		w.truncated = true
	} else if stored != h {
		w.mismatch = w.size
	}
}

func (w *treeWalk) root() tlog.Hash {
	if w.size == 0 {
		root, _ := tlog.TreeHash(0, nil) // the hash of an empty tree, for which no hashes are read
		return root
	}
	h := w.right[len(w.right)-1]
	for i := len(w.right) - 2; i >= 0; i-- {
		h = tlog.NodeHash(w.right[i], h)
	}
	return h
}

// reach checks the checkpoints that cover exactly the leaves read so far. These leaves end at byte
// end.
func (w *treeWalk) reach(end int64) {
	for len(w.claims) > 0 && w.claims[0].size == w.size {
		c := w.claims[0]
		w.claims = w.claims[1:]
		switch {
		case c.root == w.root() && c.bytes == end:
			w.good = w.size
		case w.bad: // already reported
		default:
			w.bad = true
			w.differs(c)
		}
	}
}

// differs reports which leaf is different from the signed leaf, if the file of the tree shows that.
func (w *treeWalk) differs(c claim) {
	if w.mismatch > w.good {
		w.v.addFinding(Finding{Leaf: w.mismatch, Detail: fmt.Sprintf("the leaf was changed, removed or moved after it was signed (%s covers %d leaves)", c.from, c.size)})
		return
	}
	f := Finding{Detail: fmt.Sprintf("leaves %d to %d differ from the signed leaves (%s)", w.good+1, c.size, c.from)}
	if w.good < c.size {
		f.Leaf = w.good + 1
	}
	w.v.addFinding(f)
}

// finish reports the checkpoints that cover more leaves than the trail has.
func (w *treeWalk) finish() {
	if len(w.claims) > 0 {
		c := w.claims[len(w.claims)-1]
		w.v.addFinding(Finding{
			Leaf:   w.size + 1,
			Detail: fmt.Sprintf("leaves %d to %d are missing: %s covers %d", w.size+1, c.size, c.from, c.size),
		})
	}
	switch covered := int64(w.v.r.Checkpoint); {
	case w.v.r.Key != "" && !w.v.signed && w.size == 0:
		w.v.addFinding(Finding{Detail: "the leaves and the checkpoints are missing: a key exists, which is created with the first checkpoint"})
	case w.v.r.Key != "" && !w.v.signed:
		w.v.note("a key exists but no checkpoint: a crash interrupted the first signature, or all checkpoints were removed")
	case w.mismatch != 0 && !w.bad && len(w.claims) == 0:
		w.v.addFinding(Finding{Leaf: w.mismatch, Detail: "the file " + treeName + " was changed, but the leaf equals the signed leaf"})
	case w.truncated && covered > 0:
		w.v.note("the file %s is shorter than the last checkpoint; it will be recreated from the leaves", treeName)
	case covered == 0 && w.size > 0:
		w.v.note("no checkpoint was signed yet, so removed leaves would not be detected")
	case covered < w.size:
		w.v.note("leaves %d to %d are newer than the last checkpoint, so their removal would not be detected", covered+1, w.size)
	}
	if torn, _ := filepath.Glob(filepath.Join(w.v.dir, tornPrefix+"*")); len(torn) > 0 {
		w.v.note("%d %s removed from the leaves: %s", len(torn), plural(len(torn), "incomplete line of a crash was", "incomplete lines of crashes were"), torn[0])
	}
}
