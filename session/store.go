package session

import (
	"context"
	"iter"
)

// Store keeps logs. It is what a backend implements; everything else in this
// package is built on these three methods and the optional interfaces [Leaser],
// [Deleter], [Rebuilder], [Recoverer] and io.Closer. Package sessiontest checks
// a store against this contract.
//
// All methods may be called concurrently. A store never changes what it was
// given and never hands out memory that it will change.
//
// Ids reach a store only after [CheckID]. Errors are [*Error] values wrapping
// the sentinels of this package.
type Store interface {
	// Append adds a batch to the log of session id, all or nothing, together
	// with the change of its [Meta], and returns after both are durable.
	//
	// The log's head must be b.Expect, otherwise ErrConflict (with Seq set to
	// the head); except that a batch whose records are already there, digest
	// for digest, is a retry and succeeds. A batch with Delta.Opened creates
	// the session: ErrExists when the id is taken, also by a deleted session
	// that forks still need, or by one whose id differs only in case when the
	// store's medium does not tell cases apart. Without it the session must
	// exist: ErrNotFound.
	//
	// A store that is a [Leaser] compares b.Epoch with the session's lease:
	// ErrFenced when they differ. Epoch 0 is for who holds no lease and is
	// good for creating a session and for batches of Shared kinds only.
	Append(ctx context.Context, id string, b Batch) error

	// Read yields the session's own records (a fork's parent has the rest) in
	// the order that r asks for. It sees everything that was acknowledged
	// before the call. A record that cannot be read yields one ErrCorrupt with
	// its Seq and reading goes on behind it. An unknown id yields ErrNotFound;
	// deleted sessions can be read, since forks need them.
	Read(ctx context.Context, id string, r Range) iter.Seq2[Record, error]

	// List returns sessions, those updated last first (then created last, then
	// by id downwards), and a cursor for the next page.
	List(ctx context.Context, q Query) (Page, error)
}

// Batch is one atomic append.
type Batch struct {
	Expect  int64 // the head before it; for a new log 0, for a fork its base's seq
	Epoch   int64 // the writer's lease, or 0
	Records []Record
	Delta   Delta // of Records, see [Fold]
}

// Range says which records to read. The zero Range is all of them, oldest first.
type Range struct {
	After   int64 // only records with a greater seq
	Until   int64 // and seq at most this, when not 0
	Reverse bool  // newest first
	Limit   int   // at most this many, when greater than 0
}

// Query says which sessions to list. Empty fields do not filter.
type Query struct {
	ID            string // this one only, even when it is deleted
	Project       string
	CWD           string
	Tag           string
	Parent        string // forks of this session
	Worktrees     bool   // include sessions whose id starts with "wt-", in any case
	WithApprovals bool   // sessions with open questions only, see [Meta.OpenApprovals]
	Run           string // sessions whose run has this status, see [Meta.Run]; "*" is any
	Owner         string // sessions that work for the run of this one
	Unowned       bool   // sessions that work for no other's run
	WithTrash     bool   // also what is in the trash, which is left out otherwise
	OnlyTrash     bool   // only what is in the trash
	Limit         int    // 0 or less: no limit
	After         string // cursor from [Page]
}

// Page is one page of a list. Next is empty on the last one.
type Page struct {
	Sessions []Meta
	Next     string
}

// Leaser is a store that keeps one writer per session.
type Leaser interface {
	// Acquire gives the lease of id (the session need not exist yet) to h,
	// with an epoch greater than every one before. When somebody holds it and
	// steal says no, the error is a [*BusyError]. steal is called with the
	// current lease, released ones excepted, and decides in one atomic step. What was
	// stolen names its Former. Leases that are handed out tell what Left there is, where
	// the store knows: by its own clock, never by that of whoever asks.
	Acquire(ctx context.Context, id string, h Lease, steal func(Lease) bool) (Lease, error)
	// Renew stores l with its new expiry. ErrFenced when its epoch has passed.
	Renew(ctx context.Context, id string, l Lease) error
	// Release ends the lease. Releasing one that has passed does nothing, but for the
	// Former of the lease that came after: it is gone then.
	Release(ctx context.Context, id string, l Lease) error
	// Held returns the lease of id as it is stored, whether or not it has expired; nil
	// when there is none or it was released. It changes nothing, and the session need not
	// exist.
	Held(ctx context.Context, id string) (*Lease, error)
}

// Deleter is a store that can delete. What forks of the session need stays
// readable for them; the rest, and a parent that was only waiting for its last
// fork to go, is removed from the medium. ErrNotFound when there is no such
// session or it is deleted already. Links are removed, never followed.
type Deleter interface {
	Delete(ctx context.Context, id string) error
}

// sweeper is a store in which crashes, and deletes of what forks need for a while, leave
// something behind that is in nobody's way. Sweep removes it and says how many things it
// removed; sessions are not touched.
type sweeper interface {
	Sweep(ctx context.Context) (int, error)
}

// Rebuilder is a store whose metas can be replaced by ones rebuilt from the log.
type Rebuilder interface {
	PutMeta(ctx context.Context, m Meta) error
}

// Checker is a store that can tell whether it would take a write now, without adding to a
// log. Who lacks it is asked for a list.
type Checker interface {
	// Check returns nil when reads and writes can be expected to succeed, and otherwise
	// the error that they would end with. It returns when ctx ends.
	Check(ctx context.Context) error
}

// Recovery tells what a store did to make a log writable again after a crash.
type Recovery struct {
	Session  string `json:"session"`
	Head     int64  `json:"head"`           // the last good record
	CutBytes int64  `json:"cut_bytes"`      // bytes of a torn tail that were cut
	TailFile string `json:"kept,omitempty"` // where they were put
}

// Recoverer is a store that may find a torn tail. Recover is called once when a
// log is opened for writing; nil means that there was nothing to do.
type Recoverer interface {
	Recover(ctx context.Context, id string) (*Recovery, error)
}

// As finds an optional interface of a store: the store's own, else that of the
// store it wraps (a wrapper has a method Unwrap() Store). A wrapper that must
// hide a power of the inner store implements the interface itself and refuses
// with ErrUnsupported.
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
