package daemon

import (
	"cmp"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
)

// framing makes a feed's events into frames, once for all connections. What an agent
// is called is no part of its own session's records, so there is one encoding for
// each name.
type framing struct {
	mu   sync.Mutex
	made map[string]*feed.Encoding
}

// maxFramings bounds the names that are remembered: a strategy may call its agent
// what it likes.
const maxFramings = 1000

func (f *framing) of(agentName string) *feed.Encoding {
	f.mu.Lock()
	defer f.mu.Unlock()
	if in := f.made[agentName]; in != nil {
		return in
	}
	if f.made == nil || len(f.made) >= maxFramings {
		f.made = map[string]*feed.Encoding{}
	}
	in := &feed.Encoding{Encode: func(e *feed.Event) [][]byte { return framesOf(e, agentName) }}
	f.made[agentName] = in
	return in
}

func framesOf(e *feed.Event, agentName string) [][]byte {
	if e.Kind == feed.Delta {
		if b := wire.ProjectDelta(e.Session, cmp.Or(e.Agent, agentName), e.Time, e.Delta); b != nil {
			return [][]byte{b}
		}
		return nil
	}
	sources := make([]wire.Source, len(e.Records))
	for i := range e.Records {
		r := &e.Records[i]
		sources[i] = wire.Source{Agent: cmp.Or(r.Agent, agentName), Session: r.Session, Record: r.Record}
	}
	return wire.Project(e.Session, e.Seq, sources...)
}
