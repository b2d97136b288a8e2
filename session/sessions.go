package session

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	Clock  func() time.Time // default time.Now
	NewID  func() string    // record and item ids; default ULIDs that sort by time
	Holder Holder           // the holder of leases; default this process
	TTL    time.Duration    // TTL of a lease between renewals; default 30 s

	// AppendObserver is called for every append, before the append returns; may be nil.
	AppendObserver AppendObserver

	// Copies store text of sessions outside the store.
	Copies []ExternalCopies
}

// Sessions is the set of sessions in one store, with the operations of the Open Agent SDK's
// SessionStore. It is safe for concurrent use.
type Sessions struct {
	store  Store
	opt    Options
	growth growthNotifier

	leasesMu sync.Mutex           // guards leases
	leases   map[string]seenLease // leases whose store cannot tell whether the holder is alive
}

const defaultTTL = 30 * time.Second

// New returns the sessions of a store. It does not access the store. The caller that opened the
// store closes it.
func New(store Store, o *Options) *Sessions {
	s := &Sessions{store: store}
	if o != nil {
		s.opt = *o
	}
	if s.opt.Clock == nil {
		s.opt.Clock = time.Now
	}
	if s.opt.NewID == nil {
		s.opt.NewID = ulids(s.opt.Clock)
	}
	if s.opt.TTL <= 0 {
		s.opt.TTL = defaultTTL
	}
	if s.opt.Holder == (Holder{}) {
		s.opt.Holder = thisProcess()
	}
	if s.opt.Holder.ID == "" {
		s.opt.Holder.ID = uuid.NewString()
	}
	return s
}

// ulids returns a source of ULIDs that increase even within one millisecond.
func ulids(clock func() time.Time) func() string {
	var mu sync.Mutex
	entropy := ulid.Monotonic(rand.Reader, 0) // the library's default source is shared and not safe for concurrent use
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		id, err := ulid.New(ulid.Timestamp(clock()), entropy)
		if err != nil { // the entropy of this millisecond is used up
			id = ulid.Make()
		}
		return id.String()
	}
}

// Store returns the store.
func (s *Sessions) Store() Store { return s.store }

// NewID makes an id for an item or a record.
func (s *Sessions) NewID() string { return s.opt.NewID() }

// Create starts a session and opens its log. If o.SessionID is empty, the id is a new UUID.
// It returns ErrExists if the id is taken.
func (s *Sessions) Create(ctx context.Context, o Opened) (*Log, error) {
	return s.create(ctx, o)
}

// create is Create with further records in the same batch.
func (s *Sessions) create(ctx context.Context, o Opened, more ...Draft) (*Log, error) {
	fresh := o.SessionID == ""
	if fresh {
		o.SessionID = uuid.NewString()
	}
	id := o.SessionID
	if err := CheckID(id); err != nil {
		return nil, err
	}
	if o.Created.IsZero() {
		o.Created = s.opt.Clock()
	}
	o.Format, o.Base = record.FormatVersion, nil
	o.Created = o.Created.UTC().Truncate(time.Millisecond)
	opened, err := o.Drafts()
	if err != nil {
		return nil, err
	}
	exists := &Error{Op: "create", Session: id, Err: ErrExists, Hint: "holdfast run --resume " + id}
	if !fresh {
		if _, err := s.lookup(ctx, id); err == nil {
			return nil, exists
		} else if !errors.Is(err, ErrNotFound) {
			return nil, err
		}
	}
	l := s.newLog(id)
	if err := l.acquire(ctx, false); err != nil {
		if _, gone := s.lookup(ctx, id); gone == nil && errors.Is(err, ErrBusy) {
			return nil, exists
		}
		return nil, err
	}
	_, err = l.append(ctx, append(opened, more...)) // no other process knows the log yet
	if err != nil {
		_ = l.release() // err is more useful
		return nil, err
	}
	l.keepLease()
	return l, nil
}

// OpenOptions are the options of [Sessions.Open].
type OpenOptions struct {
	Takeover bool // take the lease from a live holder
	Trashed  bool // open the session even if it is in the trash; for replication
}

// Open opens an existing session for writing: it takes the lease, lets the store cut a torn tail,
// and reads the head. The [AppendObserver] is called for the head, because the process that wrote
// it may have ended before its own call. Errors: a [*BusyError] with the holder; ErrTrashed if the
// session is in the trash.
func (s *Sessions) Open(ctx context.Context, id string, o *OpenOptions) (*Log, error) {
	m, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if m.Trashed != "" && (o == nil || !o.Trashed) {
		return nil, inTrash(id)
	}
	l := s.newLog(id)
	if err := l.acquire(ctx, o != nil && o.Takeover); err != nil {
		return nil, err
	}
	if err := l.recover(ctx); err != nil {
		_ = l.release() // err is more useful
		return nil, err
	}
	l.keepLease()
	return l, nil
}

// Get returns a session's meta. It returns ErrNotFound if there is none, ErrCorrupt if none of its
// records can be read.
func (s *Sessions) Get(ctx context.Context, id string) (Meta, error) {
	m, err := s.getDamaged(ctx, id)
	if err == nil && m.Lost() {
		return Meta{}, &Error{
			Op: "find", Session: id, Err: ErrCorrupt, Detail: "none of its records can be read", Hint: "holdfast sessions verify " + id,
		}
	}
	return m, err
}

// getDamaged is Get that also returns sessions without a readable record.
func (s *Sessions) getDamaged(ctx context.Context, id string) (Meta, error) {
	if err := CheckID(id); err != nil {
		return Meta{}, err
	}
	m, err := s.lookup(ctx, id)
	if err != nil {
		return Meta{}, err
	}
	if m.Deleted {
		return Meta{}, notFound(id)
	}
	return m, nil
}

// lookup is Get that also returns deleted sessions.
func (s *Sessions) lookup(ctx context.Context, id string) (Meta, error) {
	p, err := s.store.List(ctx, Query{ID: id})
	if err != nil {
		return Meta{}, err
	}
	if len(p.Sessions) == 0 {
		return Meta{}, notFound(id)
	}
	return p.Sessions[0], nil
}

func notFound(id string) error {
	return &Error{Op: "find", Session: id, Err: ErrNotFound, Hint: "holdfast sessions list"}
}

// Check tests whether the store can be read and written now, see [Checker].
func (s *Sessions) Check(ctx context.Context) error {
	if c, ok := As[Checker](s.store); ok {
		return c.Check(ctx)
	}
	_, err := s.store.List(ctx, Query{Limit: 1})
	return err
}

// List lists sessions, newest first.
func (s *Sessions) List(ctx context.Context, q Query) (Page, error) { return s.store.List(ctx, q) }

// Delete permanently removes a session, except the records that its forks need. It returns ErrBusy
// if another process runs it, ErrNotFound if there is none, ErrUnsupported if the store cannot
// delete.
func (s *Sessions) Delete(ctx context.Context, id string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	d, ok := As[Deleter](s.store)
	if !ok {
		return &Error{Op: "delete", Session: id, Err: ErrUnsupported}
	}
	l := s.newLog(id)
	if _, err := s.getDamaged(ctx, id); err != nil {
		return err
	}
	if err := l.acquire(ctx, false); err != nil {
		return err
	}
	defer func() { _ = l.release() }() // a deleted session has no lease
	if err := s.observeDelete(ctx, id); err != nil {
		return err
	}
	// Before, because a copy may need the log to find the session's data, and after, because an
	// indexer may have read the session meanwhile.
	if err := s.forget(ctx, id, s.Records(ctx, id, Range{})); err != nil {
		return err
	}
	if err := d.Delete(ctx, id); err != nil {
		return err
	}
	return s.forget(ctx, id, nil)
}
