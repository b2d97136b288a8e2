package hostpipe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
)

// ServeOptions configures what the process in the container can use.
type ServeOptions struct {
	// Session is the session that the process may read and write, in addition to the sessions that
	// this one owns. It exists, and the caller holds its lease: Lease, which is zero in a store
	// without leases. The server acquires leases of the owned sessions for the same holder.
	Session string
	Lease   session.Lease
	// Models has the models that the process can use: the primary one, and the fallback.
	Models []model.Model
	// Budget limits the use of Models.
	Budget Budget
	// Ask presents a recorded approval request to the approver, as [agent.Options].Ask does. The
	// server records the approver's answers. If it is nil, no one can answer.
	Ask func(ctx context.Context, q approval.Request) (approval.Answer, error)
	// Event receives the agent's events in order, after their records are durable, with the
	// estimated size of each event in bytes. It is called on the goroutine that reads from the
	// connection, which reads nothing else until Event returns.
	Event func(e event.Event, size int)
}

// Server is the host's side of a connection. Create one with [NewServer].
type Server struct {
	f         frames
	sessions  *session.Sessions
	o         ServeOptions
	unlimited bool // if true, any session and lease is allowed, for tests of the store
	models    []*hostedModel
	limits    *limits
	meter     *meter

	appending sync.Mutex // one batch at a time
	memory    byteSemaphore
	pages     chan struct{} // contains a token for each running request whose response may be large

	work  sync.WaitGroup
	sends sync.WaitGroup // running goroutines of Submit

	mu        sync.Mutex
	cancel    map[uint64]context.CancelFunc // running requests
	leases    map[string]session.Lease      // of owned sessions
	pending   map[uint64]chan error         // the host's requests to the process
	presented map[string]bool               // approval requests already presented
	// Numbers of pending approval requests and of watches, which are limited:
	waiting, watches int
	next             uint64
	ended            bool
	failed           error
}

// NewServer returns the server of a connection with one process. [Server.Serve] runs it.
func NewServer(rw io.ReadWriteCloser, sessions *session.Sessions, o ServeOptions) (*Server, error) {
	if sessions == nil {
		return nil, errors.New("hostpipe: sessions is nil")
	}
	if err := session.CheckID(o.Session); err != nil {
		return nil, err
	}
	return newServer(rw, sessions, o), nil
}

func newServer(rw io.ReadWriteCloser, sessions *session.Sessions, o ServeOptions) *Server {
	s := &Server{
		f: frames{rw: rw, in: hostReadLimits, out: containerReadLimits}, sessions: sessions, o: o, pages: make(chan struct{}, maxPages), presented: map[string]bool{},
		cancel: map[uint64]context.CancelFunc{}, leases: map[string]session.Lease{}, pending: map[uint64]chan error{},
	}
	s.limits, s.meter = newLimits(sessions, o.Session), newMeter(o.Budget)
	for _, m := range o.Models {
		s.models = append(s.models, &hostedModel{m: m})
	}
	return s
}

// Serve answers requests until the connection or ctx ends, and closes the connection. When it
// returns, nothing that it started is running, and the leases that it gave to the process are
// released. It returns nil if the other side ended the connection properly, the error of ctx if ctx
// ended, and otherwise an error that says what the other side did wrong.
func (s *Server) Serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	unhook := context.AfterFunc(ctx, func() { _ = s.f.rw.Close() })
	defer unhook()
	err := s.read(ctx)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	stop()
	_ = s.f.rw.Close() // after this, writers no longer wait for a reader
	s.work.Wait()
	s.end()
	return err
}

// end ends pending [Server.Submit] calls with [ErrLost], and releases the leases that were given to
// the process.
func (s *Server) end() {
	s.mu.Lock()
	s.ended = true
	leases := s.leases
	s.leases = nil
	for id, ch := range s.pending {
		delete(s.pending, id)
		ch <- ErrLost
	}
	s.mu.Unlock()
	s.sends.Wait()
	leaser, ok := session.As[session.Leaser](s.sessions.Store())
	for id, l := range leases {
		if ok {
			_ = leaser.Release(context.Background(), id, l) // if this fails, the lease expires
		}
	}
}

// Failed returns the error that stopped the agent, or nil.
func (s *Server) Failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Limits of one connection:
const (
	maxCalls   = 256 // concurrent requests
	maxPages   = 4   // of these, running requests with a response that may be large; others wait
	maxWatches = 16
	maxPending = 16 // pending approval requests
)

func (s *Server) read(ctx context.Context) error {
	for {
		var r request
		blob, err := s.f.read(&r)
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the agent's connection: %w", err)
		}
		if err := s.take(ctx, &r, blob); err != nil {
			return fmt.Errorf("the agent's connection: %w", err)
		}
	}
}

// take starts a request. Requests without a response are handled before it returns. So is the part
// of a model request that depends on earlier ones.
func (s *Server) take(ctx context.Context, r *request, blob []byte) error {
	switch r.Op {
	case opEvent:
		return s.passEvent(ctx, r)
	case opFailed:
		s.mu.Lock()
		s.failed = r.Error.err()
		s.mu.Unlock()
		return nil
	case opCancel:
		s.mu.Lock()
		stop := s.cancel[r.ID]
		s.mu.Unlock()
		if stop != nil {
			stop()
		}
		return nil
	case opReply:
		s.replied(r)
		return nil
	}
	var do func(context.Context) (reply, []byte, error)
	if r.Op == opStream {
		do = s.stream(r, blob)
	} else {
		do = func(ctx context.Context) (reply, []byte, error) { return s.answer(ctx, r, blob) }
	}
	n := len(blob)
	if err := s.memory.take(ctx, n); err != nil {
		return err
	}
	err := s.begin(ctx, r, func(ctx context.Context) (reply, []byte, error) {
		defer s.memory.release(n)
		return do(ctx)
	})
	if err != nil {
		s.memory.release(n)
	}
	return err
}

// begin answers a request on a new goroutine.
func (s *Server) begin(ctx context.Context, r *request, do func(context.Context) (reply, []byte, error)) error {
	ctx, stop := context.WithCancel(ctx)
	s.mu.Lock()
	_, again := s.cancel[r.ID]
	full := len(s.cancel) >= maxCalls
	if !again && !full {
		s.cancel[r.ID] = stop
	}
	s.mu.Unlock()
	if again || full || r.ID == 0 {
		stop()
		return fmt.Errorf("%w: request %d exceeds the limit of %d concurrent requests", errFrame, r.ID, maxCalls)
	}
	s.work.Go(func() {
		defer stop()
		if r.Op == opRead || r.Op == opList {
			s.pages <- struct{}{} // goroutines that hold a token end with the connection
			defer func() { <-s.pages }()
		}
		a, blob, err := do(ctx)
		a.ID, a.Error = r.ID, toWire(err)
		s.mu.Lock()
		delete(s.cancel, r.ID)
		s.mu.Unlock()
		s.send(&a, blob)
	})
	return nil
}

// send writes a message. A failure closes the connection, which ends Serve.
func (s *Server) send(a *reply, blob []byte) {
	if err := s.f.write(a, blob); err != nil {
		_ = s.f.rw.Close()
	}
}

func (s *Server) answer(ctx context.Context, r *request, blob []byte) (a reply, out []byte, err error) {
	switch r.Op {
	case opAppend:
		return a, nil, s.append(ctx, r, blob)
	case opRead:
		return s.page(ctx, r)
	case opList:
		a.Page, err = s.list(ctx, r)
	case opAcquire:
		a.Lease, err = s.acquire(ctx, r)
	case opRenew:
		err = s.renew(ctx, r)
	case opRelease:
		err = s.release(ctx, r)
	case opHeld:
		a.Lease, err = s.held(ctx, r)
	case opRecover:
		a.Recovery, err = s.recover(ctx, r)
	case opWatch:
		err = s.watch(ctx, r)
	case opAsk:
		err = s.ask(ctx, r.Question)
	default:
		err = refused(r.Op, r.Session, "unknown operation")
	}
	return a, nil, err
}

// Interrupt interrupts the agent, as [agent.Agent.Interrupt] does.
func (s *Server) Interrupt() { s.send(&reply{Op: opInterrupt}, nil) }

// Submit sends additional input to the agent, as [agent.Agent.Submit] does. It returns [ErrLost] if
// the agent has ended. The log then shows whether the agent received the input.
func (s *Server) Submit(ctx context.Context, parts json.RawMessage) error {
	ch := make(chan error, 1)
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return ErrLost
	}
	s.next++
	id := s.next
	s.pending[id] = ch
	s.sends.Add(1)
	s.mu.Unlock()
	go func() { // if the process does not read, this ends with the connection
		defer s.sends.Done()
		s.send(&reply{ID: id, Op: opSubmit, Parts: parts}, nil)
	}()
	select {
	case err := <-ch:
		return err
	case <-ctx.Done():
		s.mu.Lock()
		delete(s.pending, id)
		s.mu.Unlock()
		return ctx.Err()
	}
}

func (s *Server) replied(r *request) {
	s.mu.Lock()
	ch := s.pending[r.ID]
	delete(s.pending, r.ID)
	s.mu.Unlock()
	if ch != nil {
		ch <- r.Error.err()
	}
}
