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

// Options adjusts [New]. The zero value works.
type Options struct {
	Clock  func() time.Time // default time.Now
	NewID  func() string    // record and item ids; default ULIDs that sort by time
	Holder Holder           // who leases are for; default this process
	TTL    time.Duration    // of a lease between renewals; default 30 s

	// AppendObserver is told of every append, before it returns; nil: nobody is.
	AppendObserver AppendObserver

	// Copies keep text of sessions beside the store.
	Copies []ExternalCopies
}

// Sessions is the set of sessions in one store, with the operations of the
// seed's SessionStore. It is safe for concurrent use.
type Sessions struct {
	store  Store
	opt    Options
	growth growthNotifier

	seen   sync.Mutex           // guards what follows
	leases map[string]seenLease // of sessions whose store cannot tell whether their holder lives
}

const defaultTTL = 30 * time.Second

// New returns the sessions of a store. It does not touch the store, and whoever
// opened the store closes it.
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

// ulids returns a source of ULIDs that rise even within one millisecond.
func ulids(clock func() time.Time) func() string {
	var mu sync.Mutex
	entropy := ulid.Monotonic(rand.Reader, 0) // the library's own is shared and not safe for several readers
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

// Create starts a session and opens its log. o.SessionID may be empty: the id
// is then a new UUID. ErrExists when it is taken.
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
	_, err = l.append(ctx, append(opened, more...)) // nobody else knows the log yet
	if err != nil {
		_ = l.release() // err says more
		return nil, err
	}
	l.keepLease()
	return l, nil
}

// OpenOptions adjusts [Sessions.Open].
type OpenOptions struct {
	Takeover bool // take the lease from a live holder
	Trashed  bool // also when it is in the trash, for who keeps copies in step
}

// Open opens an existing session for writing: it takes the lease (a
// [*BusyError] names who else has it; ErrTrashed when it is in the trash), lets the store cut a torn tail, and
// reads the head. The witness is told of the head, since whoever wrote it may
// have ended before telling.
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
		_ = l.release() // err says more
		return nil, err
	}
	l.keepLease()
	return l, nil
}

// Get returns a session's meta. ErrNotFound when there is none, ErrCorrupt when none of its
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

// getDamaged is Get that also finds what is damaged as a whole.
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

// lookup is Get that also finds what is deleted.
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

// Check asks the store whether it can be read and written now, see [Checker].
func (s *Sessions) Check(ctx context.Context) error {
	if c, ok := As[Checker](s.store); ok {
		return c.Check(ctx)
	}
	_, err := s.store.List(ctx, Query{Limit: 1})
	return err
}

// List lists sessions, newest first.
func (s *Sessions) List(ctx context.Context, q Query) (Page, error) { return s.store.List(ctx, q) }

// Delete removes a session for good, but for the records that forks of it need.
// ErrBusy when somebody else runs it, ErrNotFound when there is none,
// ErrUnsupported when the store cannot delete.
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
	defer func() { _ = l.release() }() // what was deleted has no lease either
	if err := s.witnessDelete(ctx, id); err != nil {
		return err
	}
	// Before, since a copy may need the log to know what is the session's, and after, since
	// whoever indexes may have met it meanwhile.
	if err := s.forget(ctx, id, s.Records(ctx, id, Range{})); err != nil {
		return err
	}
	if err := d.Delete(ctx, id); err != nil {
		return err
	}
	return s.forget(ctx, id, nil)
}
