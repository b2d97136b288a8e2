package convert

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// The limits of one record of lines that became no item.
const (
	unmappedBatchLines = 64
	unmappedBatchBytes = 128 << 10
)

// begin makes the first record of a new session.
func (in *importer) begin() error {
	o := session.Opened{
		Format: record.FormatVersion, SessionID: in.rep.Session, Created: in.clampTime(in.seen.created, 0), CWD: in.seen.cwd,
		GitBranch: in.seen.branch, Title: in.seen.title, Summary: in.seen.summary, Tag: in.seen.tag, Owner: in.src.Owner,
	}
	if o.Created.IsZero() {
		o.Created = in.o.Clock()
	}
	o.Created = o.Created.UTC().Truncate(time.Millisecond)
	if in.o.Project != nil && o.CWD != "" {
		o.Project = in.o.Project(o.CWD)
	}
	in.w = &writer{ctx: in.ctx, to: in.to, id: in.rep.Session, dry: in.o.DryRun}
	drafts, err := o.Drafts()
	if err != nil {
		return err
	}
	for i := range drafts {
		drafts[i].Payload, _ = in.o.Mask.JSON(drafts[i].Payload)
	}
	d := drafts[0]
	if text(field(d.Payload, "session_id")) != o.SessionID {
		return &session.Error{
			Op: "import", Session: text(field(d.Payload, "session_id")), Err: session.ErrInvalidID, Detail: "the session's id or the file's name contains a secret",
			Hint: "rename the file",
		}
	}
	for _, d := range drafts {
		in.w.add(d, o.Created)
	}
	in.at = o.Created
	in.rep.Status = Imported
	return in.storeCompanion()
}

// storeCompanion stores the companion file of a sub-agent.
func (in *importer) storeCompanion() error {
	if in.src.Companion == "" {
		return nil
	}
	raw, err := os.ReadFile(in.src.Companion)
	if err != nil {
		in.rep.warn(0, "%s cannot be read: %v", filepath.Base(in.src.Companion), err)
		return nil
	}
	line, _ := jsonOf(raw)
	if line == nil {
		in.rep.warn(0, "%s is not JSON", filepath.Base(in.src.Companion))
		return nil
	}
	b := append([]byte(`{"event":"imported","about":`), line...)
	b, _ = in.o.Mask.JSON(append(b, '}'))
	in.w.add(session.Draft{Kind: record.KindWorkspaceEvent, Payload: b}, in.at)
	return nil
}

// item appends an item of the source, unless an earlier import stored it.
func (in *importer) item(it *item) error {
	at := in.made
	in.made++
	defer func() {
		if it.again {
			in.ids = in.ids[:0]
		}
		in.ids = append(in.ids, it.id)
	}()
	it.time = in.clampTime(it.time, it.line)
	if it.time.After(in.at) {
		in.at = it.time
	}
	if h := in.prior; h != nil && !h.diverged {
		if at < len(h.items) && h.items[at].ident == in.ident(it) {
			return in.storeOriginals(it.kept)
		}
		if err := in.endBranch(at); err != nil {
			return err
		}
	}
	in.items++
	keep := in.missing(it.kept)
	for _, k := range keep {
		in.note(k)
	}
	kind, head, tail := session.KindItem, `{"item":`, "}"
	if it.again || in.prior != nil && in.prior.again {
		if in.prior != nil {
			in.prior.again = false
		}
		kind, head, tail = record.KindRewrite, `{"reason":"compaction","by":"`+byImport+`","items":[`, `],"messages":1}`
	}
	in.buf = it.append(append(in.buf[:0], head...), keep, in.table)
	in.buf = append(in.buf, tail...)
	payload := in.mask(in.buf, len(keep), keep)
	in.w.add(session.Draft{Kind: kind, Payload: bytes.Clone(payload)}, in.at)
	return nil
}

// mask masks a record's secrets and counts lines with secrets in the record or in its original
// lines.
func (in *importer) mask(payload []byte, lines int, keeps []originalLine) []byte {
	if in.o.Mask == nil {
		return payload
	}
	masked, found := in.o.Mask.JSON(payload)
	if len(found) > 0 || slices.ContainsFunc(keeps, func(k originalLine) bool { return k.masked }) {
		in.masked += max(lines, 1)
	}
	return masked
}

// rolledBack removes everything after an item, because the source has a rollback.
func (in *importer) rolledBack(id string) error {
	at := in.made
	in.made++
	it := backTo(id)
	defer func() { in.ids = in.ids[:in.upTo(id)] }()
	if h := in.prior; h != nil && !h.diverged {
		if at < len(h.items) && h.items[at].ident == in.ident(it) {
			return nil
		}
		if err := in.endBranch(at); err != nil {
			return err
		}
	}
	return in.cut(id, byImport)
}

// cut writes a record that removes everything after an item.
func (in *importer) cut(id, by string) error {
	d, err := session.NewDraft(record.KindRewrite, session.Rewrite{Reason: "truncate", By: by, TruncateAfter: id, Messages: in.upTo(id)})
	if err == nil {
		in.w.add(d, in.at)
	}
	return err
}

// addUnmapped adds a line that became no item.
func (in *importer) addUnmapped(k originalLine) error {
	in.rep.UnmappedLines++
	if in.prior.has(k.n) {
		return nil
	}
	in.note(k)
	in.unmapped = append(in.unmapped, k)
	in.unmappedBytes += len(k.raw)
	if len(in.unmapped) >= unmappedBatchLines || in.unmappedBytes >= unmappedBatchBytes {
		in.writeUnmapped()
	}
	return nil
}

// storeOriginals stores lines of existing items that are not stored yet.
func (in *importer) storeOriginals(all []originalLine) error {
	for _, k := range in.missing(all) {
		in.note(k)
		in.unmapped = append(in.unmapped, k)
		in.unmappedBytes += len(k.raw)
	}
	return nil
}

func (in *importer) missing(all []originalLine) []originalLine {
	if in.prior == nil {
		return all
	}
	var list []originalLine
	for _, k := range all {
		if !in.prior.has(k.n) {
			list = append(list, k)
		}
	}
	return list
}

// note marks a line as stored.
func (in *importer) note(k originalLine) {
	in.rep.Lines++
	if in.prior != nil {
		in.prior.keep(k.n)
	}
}

// writeUnmapped writes the collected unmapped lines.
func (in *importer) writeUnmapped() {
	if len(in.unmapped) == 0 {
		return
	}
	d := unmappedDraft(in.src.Format, in.unmapped)
	d.Payload = in.mask(d.Payload, 1, in.unmapped)
	in.w.add(d, in.at)
	in.unmapped, in.unmappedBytes = nil, 0
}

// flush ends a batch with a record of how much of the source was read.
func (in *importer) flush() error {
	in.writeUnmapped()
	m := vendorMapping{
		Vendor: in.src.Format.vendor(), Session: in.seen.session, Format: in.src.Format, File: shortName(in.src.Path),
		Bytes: in.read, Lines: in.n, Open: in.n == in.count && !in.ended, Masked: in.masked,
	}
	if in.prior != nil {
		m.Masked += in.prior.mapping.Masked
	}
	in.sum.Sum(m.SHA256[:0])
	d, err := m.draft()
	if err != nil {
		return err
	}
	in.w.add(d, in.at)
	if err := in.w.flush(); err != nil {
		return err
	}
	in.rep.Items, in.rep.Masked = in.items, in.masked
	return nil
}

// finish writes the remaining records and the changed fields that session lists show.
func (in *importer) finish() error {
	if in.prior != nil {
		if !in.prior.diverged && in.made < len(in.prior.items) {
			if err := in.endBranch(in.made); err != nil {
				return err
			}
		}
		if err := in.retitle(); err != nil {
			return err
		}
	}
	in.w.extendTo(in.clampTime(in.seen.updated, 0))
	return in.flush()
}

// retitle updates the title, the summary and the tag.
func (in *importer) retitle() error {
	m, p, changed := in.prior.meta, session.MetaPatch{}, false
	for _, f := range []struct {
		to  **string
		now string
		was string
	}{{&p.Title, in.seen.title, m.Title}, {&p.Summary, in.seen.summary, m.Summary}, {&p.Tag, in.seen.tag, m.Tag}} {
		if f.now != "" && f.now != f.was && f.was == "" {
			*f.to, changed = &f.now, true
		}
	}
	if !changed {
		return nil
	}
	p.By = byImport
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	in.w.add(session.Draft{Kind: record.KindMetaChanged, Payload: in.mask(b, 0, nil)}, in.at)
	return nil
}

// shortName returns the names of a file and of its folder: enough to find it, without revealing the
// user's folders.
func shortName(path string) string {
	return filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path)
}
