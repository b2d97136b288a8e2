package rows

import (
	"bytes"

	"github.com/holdfast-dev/holdfast/session"
)

// Create checks, in a transaction, whether a batch can create session id, and returns the meta to
// insert. It returns nil if the session already exists with the same records, digest for digest. It
// does not check the epoch of the session's lease.
func (d *Dialect) Create(tx Tx, id string, b *session.Batch) (*session.Meta, error) {
	var num, deleted, head int64
	found, err := first(tx, []any{&num, &deleted}, "SELECT num, deleted FROM sessions WHERE id = ?", id)
	if err != nil {
		return nil, err
	}
	if found {
		same, err := d.present(tx, num, b.Records)
		if err == nil && (!same || deleted != 0) {
			err = &session.Error{Op: "create", Session: id, Err: session.ErrExists}
		}
		return nil, err
	}
	m := session.Meta{}.Apply(b.Delta)
	if b.Expect != m.ParentSeq {
		return nil, &session.Error{Op: "create", Session: id, Seq: m.ParentSeq, Err: session.ErrConflict}
	}
	if m.Parent == "" {
		return &m, nil
	}
	// The lock prevents a delete of the parent before the fork exists. Once the fork exists, the
	// parent's records are kept for it.
	base := b.Delta.Opened.Base
	found, err = first(tx, []any{&head}, "SELECT head FROM sessions WHERE id = ? AND deleted = 0"+d.ForShare, base.Parent)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, NotFound("fork", base.Parent)
	case head < base.Seq:
		return nil, &session.Error{Op: "fork", Session: base.Parent, Seq: head, Err: session.ErrConflict}
	}
	return &m, nil
}

// Refusal returns why a batch could not be appended, or nil if its records are already stored.
// The result again is true if the batch can be appended now.
func (d *Dialect) Refusal(tx Tx, id string, b *session.Batch) (again bool, err error) {
	var num, head, epoch int64
	found, err := first(tx, []any{&num, &head, &epoch}, "SELECT num, head, "+d.epoch()+" FROM sessions WHERE id = ? AND deleted = 0", id)
	if err != nil {
		return false, err
	}
	if !found {
		return false, NotFound("append", id)
	}
	if same, err := d.present(tx, num, b.Records); err != nil || same {
		return false, err
	}
	if b.Epoch != 0 {
		if err := CheckEpoch("append", id, b.Epoch, epoch); err != nil {
			return false, err
		}
	}
	if head == b.Expect {
		return true, nil
	}
	return false, &session.Error{Op: "append", Session: id, Seq: head, Err: session.ErrConflict}
}

// present reports whether all the records are already stored.
func (d *Dialect) present(tx Tx, num int64, records []session.Record) (bool, error) {
	n, same := 0, true
	var digest []byte
	within, args := d.within(num, records[0].Seq-1, records[len(records)-1].Seq)
	err := tx.Query("SELECT substr(chain, 65) FROM records WHERE "+within+" ORDER BY "+d.seq(), args, []any{&digest}, func() bool {
		same = same && n < len(records) && bytes.Equal(digest, records[n].Digest[:])
		n++
		return same
	})
	return same && n == len(records), err
}
