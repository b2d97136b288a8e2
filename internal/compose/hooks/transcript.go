package hooks

import (
	"sync"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/hooktranscript"
	"github.com/holdfast-dev/holdfast/transcript"
)

// hookTranscript is the transcript file for hooks. Nothing is written to it before the first hook
// runs; that hook then sees the whole transcript.
type hookTranscript struct {
	mirror *hooktranscript.Mirror

	mu       sync.Mutex
	loaded   bool
	snapshot func() agent.Snapshot // nil if there is no agent
}

// ready writes the session's items to the file when it is first called.
func (t *hookTranscript) ready() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.loaded || t.snapshot == nil {
		return nil
	}
	t.loaded = true
	s := t.snapshot()
	return t.mirror.Load(s.SessionID, s.Items)
}

// ItemAppended implements [agent.TranscriptObserver].
func (t *hookTranscript) ItemAppended(sessionID string, item transcript.Encoded) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.loaded {
		return nil // the snapshot will contain the new items
	}
	return t.mirror.ItemAppended(sessionID, item)
}
