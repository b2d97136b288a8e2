package session

import (
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// Meta is what a list shows of a session. The store updates it in the transaction that appends the
// records. It is computed only from the records (see [Delta]) and can be rebuilt.
type Meta struct {
	ID            string    `json:"id"`
	Project       string    `json:"project,omitempty"`
	CWD           string    `json:"cwd,omitempty"`
	Model         string    `json:"model,omitempty"`
	CreatedAt     time.Time `json:"created_at"`
	UpdatedAt     time.Time `json:"updated_at"`
	MessageCount  int       `json:"message_count"` // items of the transcript
	Title         string    `json:"title,omitempty"`
	Summary       string    `json:"summary,omitempty"`
	Tag           string    `json:"tag,omitempty"`
	FirstPrompt   string    `json:"first_prompt,omitempty"`
	GitBranch     string    `json:"git_branch,omitempty"`
	OpenApprovals int       `json:"questions,omitempty"`  // approval requests without an answer
	Size          int64     `json:"size"`                 // size of its payloads in bytes, without those of the parents
	Parent        string    `json:"parent,omitempty"`     // forks
	ParentSeq     int64     `json:"parent_seq,omitempty"` // the last record shared with Parent
	Run           string    `json:"run,omitempty"`        // the status of its run: running, completed, failed, cancelled, interrupted
	Owner         string    `json:"owner,omitempty"`      // the session whose run this session works for
	Trashed       string    `json:"trashed,omitempty"`    // the time when it was moved to the trash, in RFC 3339; "" if it is not in the trash

	Head       int64  `json:"head"`        // seq of the last record
	HeadDigest Digest `json:"head_digest"` // digest of that record

	// Deleted sessions are visible only to forks, which still need their records.
	Deleted bool `json:"deleted,omitempty"`
}

// Delta is the change of a session's [Meta] by a batch of records: absolute values for fields,
// differences for counts. Stores apply it in the transaction that appends the batch. Applying the
// Deltas of all batches in order gives the Meta that the store has.
type Delta struct {
	Opened        *Opened    `json:"opened,omitempty"`     // the batch creates the session
	Messages      int        `json:"messages,omitempty"`   // added to MessageCount, after Reset
	Reset         bool       `json:"reset,omitempty"`      // MessageCount restarts at 0 first
	OpenApprovals int        `json:"-"`                    // added to OpenApprovals: requests minus answers
	Bytes         int64      `json:"bytes,omitempty"`      // added to Size
	Updated       time.Time  `json:"-"`                    // time of the last record
	Prompt        string     `json:"prompt,omitempty"`     // becomes FirstPrompt if FirstPrompt is empty
	Replaced      *string    `json:"replaced,omitempty"`   // always becomes FirstPrompt; applied before Prompt
	Patch         *MetaPatch `json:"patch,omitempty"`      // fields set by meta.changed; later values replace earlier ones
	Head          int64      `json:"-"`                    //
	Digest        Digest     `json:"-"`                    //
	LastModel     string     `json:"last_model,omitempty"` // becomes Model unless the patch sets it
	Run           string     `json:"run,omitempty"`        // becomes Run unless ""
}

// promptLimit is the maximum size of FirstPrompt in bytes.
const promptLimit = 200

// Fold computes the delta of a batch. It decodes only the parts of each payload that it needs: the
// start of an item, and whole payloads of the rare kinds.
func Fold(batch []Record) (Delta, error) {
	var d Delta
	for i := range batch {
		if err := d.add(&batch[i]); err != nil {
			return d, err
		}
	}
	return d, nil
}

func (d *Delta) add(r *Record) error {
	d.Head, d.Digest, d.Updated = r.Seq, r.Digest, r.Time
	switch r.Kind { // works without a payload too
	case record.KindApprovalAsked:
		d.OpenApprovals++
	case record.KindApprovalResolved:
		d.OpenApprovals--
	}
	if r.Payload == nil {
		return nil
	}
	bad := func(err error) error {
		return &Error{Op: "read " + string(r.Kind), Seq: r.Seq, Err: ErrCorrupt, Detail: err.Error()}
	}
	if record.IsSealed(r.Payload) {
		if err := d.addSealed(r); err != nil {
			return bad(err)
		}
		return nil
	}
	d.Bytes += int64(len(r.Payload))
	switch r.Kind {
	case record.KindOpened:
		var o Opened
		if err := json.Unmarshal(r.Payload, &o); err != nil {
			return bad(err)
		}
		d.Opened = &o
	case KindItem:
		it, err := record.ReadItem(r.Payload)
		if err != nil {
			return bad(err)
		}
		if it.Queued {
			return nil
		}
		d.Messages++
		switch it.Item.Role() {
		case "user":
			if d.Prompt == "" {
				text, _ := record.CutCommands(it.Item.Text())
				d.Prompt = clip(text, promptLimit)
			}
		case "assistant":
			if m := it.Item.Model(); m != "" {
				d.LastModel = m
				if d.Patch != nil {
					d.Patch.Model = nil // the later value wins
				}
			}
		}
	case record.KindRewrite:
		var w Rewrite
		if err := json.Unmarshal(r.Payload, &w); err != nil {
			return bad(err)
		}
		d.Reset, d.Messages = true, w.Messages
	case record.KindMetaChanged:
		var p MetaPatch
		if err := json.Unmarshal(r.Payload, &p); err != nil {
			return bad(err)
		}
		if d.Patch == nil {
			d.Patch = &MetaPatch{}
		}
		if p.FirstPrompt != nil {
			d.Replaced, d.Prompt = p.FirstPrompt, ""
		}
		d.Patch.merge(p)
	case record.KindRunEvent:
		var e runEventPayload
		if err := json.Unmarshal(r.Payload, &e); err != nil {
			return bad(err)
		}
		if e.Status != "" {
			d.Run = e.Status
		}
	case record.KindRedacted:
		var p record.Redacted
		if err := json.Unmarshal(r.Payload, &p); err != nil {
			return bad(err)
		}
		if p.Listed != nil {
			if err := d.relist(p.Listed); err != nil {
				return bad(err)
			}
		}
	}
	return nil
}

// addSealed adds a record with an encrypted or masked payload.
func (d *Delta) addSealed(r *Record) error {
	var (
		one Delta
		err error
	)
	if instead, ok := record.ReadMasked(r.Payload); ok {
		err = one.add(&Record{Seq: r.Seq, Kind: r.Kind, Payload: instead})
	} else {
		var s *record.Sealed
		if s, err = record.ReadSealedHead(r.Payload); err == nil {
			err = json.Unmarshal(s.Delta, &one)
		}
	}
	if err == nil && (one.Opened != nil) != (r.Kind == record.KindOpened) {
		err = errors.New("the payload does not match its kind")
	}
	if err != nil {
		return err
	}
	d.merge(&one)
	return nil
}

// merge adds to d the delta of the next record, except the fields that every record sets.
func (d *Delta) merge(one *Delta) {
	d.Bytes += one.Bytes
	if one.Opened != nil {
		d.Opened = one.Opened
	}
	if one.Reset {
		d.Reset, d.Messages = true, 0
	}
	d.Messages += one.Messages
	if one.Replaced != nil {
		d.Replaced, d.Prompt, d.LastModel = one.Replaced, "", ""
	}
	if d.Prompt == "" {
		d.Prompt = one.Prompt
	}
	if one.LastModel != "" {
		d.LastModel = one.LastModel
		if d.Patch != nil {
			d.Patch.Model = nil // the later value wins
		}
	}
	if one.Patch != nil {
		if d.Patch == nil {
			d.Patch = &MetaPatch{}
		}
		d.Patch.merge(*one.Patch)
	}
	if one.Run != "" {
		d.Run = one.Run
	}
}

// relist replaces the fields that lists show by those of a redacted record.
func (d *Delta) relist(l *record.Listed) error {
	var patch MetaPatch
	if l.Patch != nil {
		if err := json.Unmarshal(l.Patch, &patch); err != nil {
			return err
		}
	}
	d.Reset, d.Messages, d.Prompt, d.LastModel = true, l.Messages, "", ""
	d.Replaced = &l.Prompt
	if l.Run != "" {
		d.Run = l.Run
	}
	if d.Patch == nil {
		d.Patch = &MetaPatch{}
	}
	d.Patch.merge(patch)
	return nil
}

func (p *MetaPatch) merge(q MetaPatch) {
	for _, f := range []struct{ dst, src **string }{
		{&p.Title, &q.Title},
		{&p.Summary, &q.Summary},
		{&p.Tag, &q.Tag},
		{&p.CWD, &q.CWD},
		{&p.Project, &q.Project},
		{&p.Model, &q.Model},
		{&p.GitBranch, &q.GitBranch},
		{&p.Trashed, &q.Trashed},
	} {
		if *f.src != nil {
			*f.dst = *f.src
		}
	}
}

// Apply returns the meta after the batch that d came from.
func (m Meta) Apply(d Delta) Meta {
	if o := d.Opened; o != nil {
		m = Meta{
			ID: o.SessionID, Project: o.Project, CWD: o.CWD, Model: o.Model, GitBranch: o.GitBranch,
			CreatedAt: o.Created, Title: o.Title, Summary: o.Summary, Tag: o.Tag, FirstPrompt: o.Prompt, Owner: o.Owner,
		}
		if b := o.Base; b != nil {
			m.Parent, m.ParentSeq, m.MessageCount = b.Parent, b.Seq, b.Messages
		}
	}
	if d.Reset {
		m.MessageCount = 0
	}
	m.MessageCount += d.Messages
	m.OpenApprovals += d.OpenApprovals
	m.Size += d.Bytes
	m.UpdatedAt, m.Head, m.HeadDigest = d.Updated, d.Head, d.Digest
	if d.Replaced != nil {
		m.FirstPrompt = *d.Replaced
	}
	if m.FirstPrompt == "" {
		m.FirstPrompt = d.Prompt
	}
	if d.LastModel != "" {
		m.Model = d.LastModel
	}
	if d.Run != "" {
		m.Run = d.Run
	}
	if p := d.Patch; p != nil {
		for _, f := range []struct {
			dst *string
			src *string
		}{
			{&m.Title, p.Title},
			{&m.Summary, p.Summary},
			{&m.Tag, p.Tag},
			{&m.CWD, p.CWD},
			{&m.Project, p.Project},
			{&m.Model, p.Model},
			{&m.GitBranch, p.GitBranch},
			{&m.Trashed, p.Trashed},
		} {
			if f.src != nil {
				*f.dst = *f.src
			}
		}
	}
	return m
}

// Lost reports whether none of the session's records can be read. Meta then has only the data that
// is known from other sources.
func (m *Meta) Lost() bool { return m.Head <= 0 }

// Runs reports whether the session's run has the given status; "*" matches any status.
func (m *Meta) Runs(status string) bool {
	return m.Run != "" && (status == "*" || status == m.Run)
}

// clip cuts s to at most n bytes at a character boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
