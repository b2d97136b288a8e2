package daemon

import (
	"cmp"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
)

// frameCache encodes each event of a feed once, for all connections. The records of an agent's
// session do not contain the agent's name, so there is one encoding for each name.
type frameCache struct {
	mu     sync.Mutex
	frames map[string]*feed.Encoding
}

// maxCachedNames is the maximum number of cached names; a strategy may use any names.
const maxCachedNames = 1000

func (f *frameCache) of(agentName string) *feed.Encoding {
	f.mu.Lock()
	defer f.mu.Unlock()
	if in := f.frames[agentName]; in != nil {
		return in
	}
	if f.frames == nil || len(f.frames) >= maxCachedNames {
		f.frames = map[string]*feed.Encoding{}
	}
	in := &feed.Encoding{Encode: func(e *feed.Event) [][]byte { return framesOf(e, agentName) }}
	f.frames[agentName] = in
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
