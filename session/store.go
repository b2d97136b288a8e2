package session

import (
	"context"
	"iter"
)

// Store stores logs. A backend implements it. Everything else in this package uses only these three
// methods and the optional interfaces [Leaser], [Deleter], [Rebuilder], [Recoverer], [Eraser],
// [Watcher], [Checker], [Searcher] and io.Closer. Package sessiontest checks a store against this
// contract.
//
// All methods may be called concurrently. A store never changes its arguments and never returns
// memory that it will change.
//
// A store receives only ids that pass [CheckID]. Errors are [*Error] values that wrap the sentinel
// errors of this package.
type Store interface {
	// Append adds a batch to the log of session id, all or nothing, together with the change of its
	// [Meta], and returns after both are durable.
	//
	// The log's head must be b.Expect, otherwise the error is ErrConflict, with Seq set to the
	// head. There is one exception: a batch whose records are already stored, digest for digest, is
	// a retry and succeeds. A batch with Delta.Opened creates the session. It returns ErrExists if
	// the id is taken. The id of a deleted session that forks still need is also taken. If the
	// store's medium ignores case, an id that differs only in case is taken too. A batch without
	// Delta.Opened requires that the session exists; otherwise the error is ErrNotFound.
	//
	// A store that is a [Leaser] compares b.Epoch with the session's lease, and returns ErrFenced
	// if they differ. Epoch 0 means that the caller has no lease; it is allowed only for creating a
	// session and for batches of Shared kinds.
	Append(ctx context.Context, id string, b Batch) error

	// Read yields the session's own records in the order that r requests. For a fork, the earlier
	// records are in the parent. It sees all records that were acknowledged before the call. For a
	// record that cannot be read it yields one ErrCorrupt with the record's Seq, and continues with
	// the next record. It returns ErrNotFound for an unknown id. Deleted sessions can be read,
	// because forks need them.
	Read(ctx context.Context, id string, r Range) iter.Seq2[Record, error]

	// List returns sessions and a cursor for the next page. They are sorted by updated, then
	// created, then id, all descending.
	List(ctx context.Context, q Query) (Page, error)
}

// Batch is one atomic append.
type Batch struct {
	Expect  int64 // the seq of the head before the batch: 0 for a new log, the base's seq for a new fork
	Epoch   int64 // the writer's lease, or 0
	Records []Record
	Delta   Delta // delta of Records, see [Fold]
}

// Range selects the records to read. The zero Range selects all of them, oldest first.
type Range struct {
	After   int64 // only records with a greater seq
	Until   int64 // only records with a seq of at most this; 0 means no limit
	Reverse bool  // newest first
	Limit   int   // at most this many records; 0 or less means no limit
}

// Query selects the sessions to list. Empty fields do not filter.
type Query struct {
	ID            string // only this session, even if it is deleted
	Project       string
	CWD           string
	Tag           string
	Parent        string // forks of this session
	Worktrees     bool   // include sessions whose id starts with "wt-", in any case
	WithApprovals bool   // only sessions with open approval requests, see [Meta.OpenApprovals]
	Run           string // only sessions whose run has this status, see [Meta.Run]; "*" means any status
	Owner         string // only sessions that work for the run of this session
	Unowned       bool   // only sessions that do not work for the run of another session
	WithTrash     bool   // include sessions in the trash, which are left out otherwise
	OnlyTrash     bool   // only sessions in the trash
	Limit         int    // 0 or less: no limit
	After         string // cursor from [Page]
}

// Page is one page of a list. Next is empty on the last page.
type Page struct {
	Sessions []Meta
	Next     string
}

// Leaser is a store with leases: one writer per session.
type Leaser interface {
	// Acquire gives the lease of id to h, with an epoch greater than every earlier one. The session
	// need not exist yet. If another holder has the lease and steal returns false, the error is a
	// [*BusyError]. The function steal is called with the current lease, but not with a released
	// lease. The decision and the change are one atomic step. A lease that was taken from another
	// holder has its Previous set. The leases in calls of steal, in errors and from Held have
	// Remaining set if the store knows it. It comes from the store's own clock or from a lock,
	// never from the caller's clock.
	Acquire(ctx context.Context, id string, h Lease, steal func(Lease) bool) (Lease, error)
	// Renew stores l with its new expiry. It returns ErrFenced if a newer lease exists.
	Renew(ctx context.Context, id string, l Lease) error
	// Release ends the lease. If a newer lease exists, Release only removes its Previous.
	Release(ctx context.Context, id string, l Lease) error
	// Held returns the lease of id as it is stored, expired or not, or nil if there is none or it
	// was released. It changes nothing, and the session need not exist.
	Held(ctx context.Context, id string) (*Lease, error)
}

// Deleter is a store that can delete. Records that forks of the session need stay readable for
// them. Everything else is removed from the medium, including a parent that was kept only for its
// last fork. It returns ErrNotFound if there is no such session or it is already deleted. Links are
// removed, not followed.
type Deleter interface {
	Delete(ctx context.Context, id string) error
}

// sweeper is a store in which crashes and deletes may leave unused data. Sweep removes this data
// and returns how many rows, files or objects it removed. It does not change sessions.
type sweeper interface {
	Sweep(ctx context.Context) (int, error)
}

// Rebuilder is a store whose session metadata can be replaced by metadata rebuilt from the log.
type Rebuilder interface {
	PutMeta(ctx context.Context, m Meta) error
}

// Checker is a store that can report whether it would accept a write now, without appending to a
// log. A store that is not a Checker is checked with a call of List.
type Checker interface {
	// Check returns nil if reads and writes can be expected to succeed, and otherwise the error
	// they would return. It returns when ctx ends.
	Check(ctx context.Context) error
}

// Recovery is what a store did to make a log writable again after a crash.
type Recovery struct {
	Session  string `json:"session"`
	Head     int64  `json:"head"`           // the last good record
	CutBytes int64  `json:"cut_bytes"`      // bytes of the torn tail that was cut
	TailFile string `json:"kept,omitempty"` // the file with those bytes
}

// Recoverer is a store that may find a torn tail. Recover is called once when a log is opened for
// writing; it returns nil if there was nothing to do.
type Recoverer interface {
	Recover(ctx context.Context, id string) (*Recovery, error)
}

// As returns an optional interface of a store. If the store itself does not implement it, As looks
// at the store that it wraps; a wrapper has a method Unwrap() Store. A wrapper that must hide an
// interface of the inner store implements it and returns ErrUnsupported.
func As[T any](s Store) (T, bool) {
	for {
		if t, ok := s.(T); ok {
			return t, true
		}
		w, ok := s.(interface{ Unwrap() Store })
		if !ok {
			var zero T
			return zero, false
		}
		s = w.Unwrap()
	}
}
