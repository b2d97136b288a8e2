// Package hooktranscript writes a session as a transcript file in Claude Code's form, for hooks
// that read transcript_path.
//
//	agent ── items ─► Mirror ─► transcript-….jsonl ─► hook commands
//
// The shortest use:
//
//	m, err := hooktranscript.New(dir, &hooktranscript.Options{CWD: cwd})
//	// m is a TranscriptObserver of the agent; m.Path() is the hooks' transcript_path
//
// The file is a copy for hooks. It is not the session's log and is never read back.
package hooktranscript

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/transcript"
)

// Options configures [New].
type Options struct {
	Name  string           // of the file; default "transcript-", random letters and ".jsonl"
	CWD   string           // the working folder that the entries name
	Clock func() time.Time // for items without a time; default time.Now
}

// Mirror writes the transcript of a session to a file in Claude Code's JSONL form,
// for hooks that read transcript_path. Each line is one entry:
//
//	{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/w","sessionId":"…","type":"user",
//	 "message":{"role":"user","content":[{"type":"text","text":"hello"}]},"uuid":"…","timestamp":"2026-01-02T03:04:05.000Z"}
//
// Tool results are entries of the user, as in the original. System prompts have no entry. Messages
// from the runtime to the model have "isMeta": true. Mirror is an agent's TranscriptObserver and is
// safe for concurrent use.
type Mirror struct {
	cwd   string
	clock func() time.Time

	mu   sync.Mutex
	file *os.File
	last string // uuid of the previous entry
}

// New creates an empty file in dir, and dir if it does not exist; both are accessible only to their
// owner. An existing file is truncated. The caller closes the mirror; the file is not removed.
func New(dir string, o *Options) (*Mirror, error) {
	m := &Mirror{clock: time.Now}
	name := ""
	if o != nil {
		name, m.cwd = o.Name, o.CWD
		if o.Clock != nil {
			m.clock = o.Clock
		}
	}
	if name != "" && (filepath.Base(name) != name || !filepath.IsLocal(name)) {
		return nil, fmt.Errorf("invalid transcript file name %q; want a name without folders", name)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if name == "" {
		m.file, err = os.CreateTemp(dir, "transcript-*.jsonl")
	} else {
		m.file, err = os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Path returns the absolute path of the file.
func (m *Mirror) Path() string { return m.file.Name() }

// Load writes the existing items of a session.
func (m *Mirror) Load(sessionID string, items []transcript.Encoded) error {
	for _, e := range items {
		if err := m.ItemAppended(sessionID, e); err != nil {
			return err
		}
	}
	return nil
}

// ItemAppended writes one item. The line is complete when it returns.
func (m *Mirror) ItemAppended(sessionID string, item transcript.Encoded) error {
	it, err := item.Decode()
	if err != nil {
		return fmt.Errorf("write the transcript for hooks: %w", err)
	}
	e, ok := m.entry(sessionID, &it)
	if !ok {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last != "" {
		e.Parent = &m.last
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = m.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the transcript for hooks: %w", err)
	}
	m.last = e.UUID
	return nil
}

// Close closes the file.
func (m *Mirror) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// transcriptEntry is one line of the file.
type transcriptEntry struct {
	Parent    *string           `json:"parentUuid"`
	Sidechain bool              `json:"isSidechain"`
	UserType  string            `json:"userType"`
	CWD       string            `json:"cwd"`
	Session   string            `json:"sessionId"`
	Type      string            `json:"type"`
	Message   transcriptMessage `json:"message"`
	Meta      bool              `json:"isMeta,omitempty"`
	UUID      string            `json:"uuid"`
	Timestamp string            `json:"timestamp"`
}

type transcriptMessage struct {
	ID         string           `json:"id,omitempty"`
	Type       string           `json:"type,omitempty"`
	Role       string           `json:"role"`
	Model      string           `json:"model,omitempty"`
	Content    []any            `json:"content"`
	StopReason *string          `json:"stop_reason,omitempty"`
	Usage      *transcriptUsage `json:"usage,omitempty"`
}

type transcriptUsage struct {
	Input      int64 `json:"input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	Output     int64 `json:"output_tokens"`
}

// stopReasons are Claude's words for the end of an answer; others are not changed.
var stopReasons = map[transcript.Finish]string{transcript.FinishStop: "end_turn"}

// entry returns the line for an item; false if it has none.
func (m *Mirror) entry(sessionID string, it *transcript.Item) (*transcriptEntry, bool) {
	e := &transcriptEntry{UserType: "external", CWD: m.cwd, Session: sessionID, UUID: it.ID, Type: "user"}
	switch it.Role {
	case transcript.RoleSystem, transcript.RoleDeveloper:
		return nil, false
	case transcript.RoleAssistant:
		e.Type = "assistant"
		e.Message.ID, e.Message.Type, e.Message.Model = it.ID, "message", it.Model
		if reason := string(it.Finish); reason != "" {
			if word := stopReasons[it.Finish]; word != "" {
				reason = word
			}
			e.Message.StopReason = &reason
		}
		if u := it.Usage; u != nil {
			e.Message.Usage = &transcriptUsage{Input: u.Input, CacheWrite: u.CacheWrite, CacheRead: u.CacheRead, Output: u.Output}
		}
	case transcript.RoleContext, transcript.RoleNotification:
		e.Meta = true
	}
	e.Message.Role = e.Type
	e.Message.Content = blocks(it.Parts)
	at := it.Time
	if at.IsZero() {
		at = m.clock()
	}
	e.Timestamp = at.UTC().Format("2006-01-02T15:04:05.000Z")
	return e, true
}
