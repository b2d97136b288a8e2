package vendoragent

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Mapping is the payload of a vendor.mapped record: from here on this id is the vendor's session for the Holdfast session.
// Each generation has an id that was never used before.
type Mapping struct {
	Vendor      string `json:"vendor"`
	Session     string `json:"session"` // the vendor's id; "" until the vendor reports it
	Generation  int    `json:"generation"`
	Workspace   string `json:"workspace,omitempty"`
	WorkspaceID string `json:"workspace_id,omitempty"`
	// Reason says why there is a new one: "new", or what was wrong with the old one.
	Reason string `json:"reason"`
}

// The workspace events.
const (
	EventResumeFailed = "resume_failed" // the vendor's session could not be resumed
	EventVendorEnded  = "vendor_ended"  // the vendor's process ended during a turn
	EventDeleted      = "deleted"       // the workspace was deleted; the session stays
)

// Event is the payload of a workspace.event record.
type Event struct {
	Event       string `json:"event"`
	Workspace   string `json:"workspace,omitempty"`
	WorkspaceID string `json:"workspace_id,omitempty"`
	Vendor      string `json:"vendor,omitempty"`
	Session     string `json:"session,omitempty"` // the vendor's id
	Reason      string `json:"reason,omitempty"`
	OOM         bool   `json:"oom,omitempty"`    // it ran out of memory
	Stderr      string `json:"stderr,omitempty"` // the end of its standard error
}

// readMapping reads a record's mapping. ok is false for other records, including those left by an import of a
// vendor's files.
func readMapping(r *session.Record) (m Mapping, ok bool) {
	if r.Kind != record.KindVendorMapped || r.Payload == nil || json.Unmarshal(r.Payload, &m) != nil {
		return Mapping{}, false
	}
	return m, m.Generation > 0
}

// vendorSessions is what a session's log says about the vendor's sessions.
type vendorSessions struct {
	last     *Mapping // of this vendor in this workspace, nil if there is none
	changed  bool     // the transcript was rewritten since then
	newest   int      // latest generation of any vendor and workspace
	sessions map[string]bool
}

// readKnown reads only a session's own records: inherited records of a fork describe the parent's vendor session.
func readKnown(ctx context.Context, s *session.Sessions, id, vendor, workspaceID string) (vendorSessions, error) {
	k := vendorSessions{sessions: map[string]bool{}}
	if s == nil || id == "" {
		return k, nil
	}
	meta, err := s.Get(ctx, id)
	if errors.Is(err, session.ErrNotFound) {
		return k, nil
	}
	if err != nil {
		return k, err
	}
	for r, err := range s.Records(ctx, id, session.Range{After: meta.ParentSeq}) {
		if err != nil {
			return k, err
		}
		switch r.Kind {
		case record.KindRewrite, record.KindRedacted:
			k.changed = true
		case record.KindVendorMapped:
			m, ok := readMapping(&r)
			if !ok {
				continue
			}
			k.newest = max(k.newest, m.Generation)
			k.sessions[m.Session] = true
			k.last, k.changed = nil, false
			if m.Vendor == vendor && m.WorkspaceID == workspaceID {
				k.last = &m
			}
		}
	}
	return k, nil
}

// metadataKey is the metadata key under which an item names the vendor's session that has it.
const metadataKey = "vendor"

// vendorMark is the value of metadataKey in an item's metadata.
type vendorMark struct {
	Name    string `json:"name"`
	Session string `json:"session"`
	// FileBytes is the size of the vendor's session file at that time. The file only grows.
	FileBytes int64 `json:"kept,omitempty"`
}

// stamp marks an item with the vendor's session that has it.
func (m vendorMark) stamp(it *transcript.Item) {
	b, err := json.Marshal(m)
	if err != nil {
		return // strings and a number cannot fail
	}
	meta := map[string]json.RawMessage{metadataKey: b}
	maps.Copy(meta, it.Metadata)
	it.Metadata = meta
}

// markOf reads an item's mark; the zero mark if it has none.
func markOf(e transcript.Encoded) (m vendorMark) {
	raw := jsonscan.Object(jsonscan.Object(e.JSON).Field("metadata")).Field(metadataKey)
	if raw == nil || json.Unmarshal(raw, &m) != nil {
		return vendorMark{}
	}
	return m
}
