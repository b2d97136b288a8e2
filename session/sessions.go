package session

import (
	"context"
	"iter"
	"time"

	"github.com/holdfast-dev/holdfast/transcript"
)

// Options adjusts [New]. The zero value works.
type Options struct {
	Clock  func() time.Time // default time.Now
	NewID  func() string    // record and item ids; default ULIDs that sort by time
	Holder Holder           // who leases are for; default this process
	TTL    time.Duration    // of a lease between renewals; default 30 s
}

// Sessions is the set of sessions in one store, with the operations of the
// seed's SessionStore. It is safe for concurrent use.
type Sessions struct {
	store Store
	opt   Options
}

// New returns the sessions of a store. It does not touch the store.
func New(store Store, o *Options) *Sessions { panic("to be written") }

// Store returns the store.
func (s *Sessions) Store() Store { return s.store }

// NewID makes an id for an item or a record.
func (s *Sessions) NewID() string { return s.opt.NewID() }

// Create starts a session and opens its log. o.SessionID may be empty: the id
// is then a new UUID. ErrExists when it is taken.
func (s *Sessions) Create(ctx context.Context, o Opened) (*Log, error) { panic("to be written") }

// OpenOptions adjusts [Sessions.Open].
type OpenOptions struct {
	Takeover bool // take the lease from a live holder
}

// Open opens an existing session for writing: it takes the lease (a
// [*BusyError] names who else has it), lets the store cut a torn tail, and
// reads the head.
func (s *Sessions) Open(ctx context.Context, id string, o *OpenOptions) (*Log, error) {
	panic("to be written")
}

// Save makes the stored transcript of id be items: what is stored already is
// left alone, what is new is appended, and when the two differ in the middle
// one rewrite record replaces it. A nil patch leaves the metadata alone, and
// nil fields of it too. The session is created when there is none.
func (s *Sessions) Save(ctx context.Context, id string, items []transcript.Item, patch *MetaPatch) error {
	panic("to be written")
}

// LoadOptions pages [Sessions.Load]. Limit alone gives the last Limit items;
// with Offset (0-based, from the oldest) it gives the items from there on.
// Values of 0 or less mean unset.
type LoadOptions struct {
	Limit  int
	Offset int
}

// Loaded is a session as read from the store. Meta.MessageCount counts the
// whole transcript, whatever the page.
type Loaded struct {
	Meta  Meta
	Items []transcript.Encoded
}

// Load reads a session's transcript, or its last items. It takes no lease and
// changes nothing. ErrNotFound when there is none.
func (s *Sessions) Load(ctx context.Context, id string, o *LoadOptions) (*Loaded, error) {
	panic("to be written")
}

// Get returns a session's meta. ErrNotFound when there is none.
func (s *Sessions) Get(ctx context.Context, id string) (Meta, error) { panic("to be written") }

// Find resolves what a person typed to one session: an id, else a title, else
// an unambiguous beginning of an id. The error otherwise wraps ErrNotFound and
// its Hint lists the nearest.
func (s *Sessions) Find(ctx context.Context, name string) (Meta, error) { panic("to be written") }

// List lists sessions, newest first.
func (s *Sessions) List(ctx context.Context, q Query) (Page, error) { panic("to be written") }

// Records yields the records of a session, its parents' included, so that seqs
// run from 1 without gaps. Reading follows the rules of [Store.Read].
func (s *Sessions) Records(ctx context.Context, id string, r Range) iter.Seq2[Record, error] {
	panic("to be written")
}

// ForkOptions adjusts [Sessions.Fork].
type ForkOptions struct {
	ID    string // of the new session; default a new UUID
	UpTo  *int   // index of the last transcript item to keep; nil keeps all
	At    string // or its item id
	Title string
}

// Fork starts a new session that shares src's records up to a point. Nothing is
// copied. It returns the new id. Errors: ErrNotFound, ErrExists, and ErrInvalid
// for an index out of range or an unknown item id, whose Hint lists the nearest.
func (s *Sessions) Fork(ctx context.Context, src string, o *ForkOptions) (string, error) {
	panic("to be written")
}

// Delete removes a session for good, but for the records that forks of it need.
func (s *Sessions) Delete(ctx context.Context, id string) error { panic("to be written") }

// Rename sets the title. It works while somebody else runs the session.
func (s *Sessions) Rename(ctx context.Context, id, title string) error { panic("to be written") }

// Tag sets the tag; an empty one clears it.
func (s *Sessions) Tag(ctx context.Context, id, tag string) error { panic("to be written") }

// Patch changes metadata by a meta.changed record, without a lease.
func (s *Sessions) Patch(ctx context.Context, id string, p MetaPatch) error { panic("to be written") }
