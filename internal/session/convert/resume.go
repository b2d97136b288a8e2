package convert

import (
	"crypto/sha256"
	"fmt"
	"io"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// The reasons for a rewrite by an import: the source contains it, or the source's current
// branch differs from the one imported before.
const (
	byImport       = "import"
	byBranchChange = "import, another branch"
)

// priorImport is what an earlier import of the source stored in the log.
type priorImport struct {
	meta     session.Meta
	mapping  vendorMapping
	items    []importedItem // the imported items in their order, including rollbacks
	lines    []uint64       // one bit for each stored line
	foreign  int64          // the first record that belongs to no import, or 0
	diverged bool           // the source differs from the earlier import from here on
	again    bool           // the transcript restarts with the next item
}

type importedItem struct {
	id    string
	ident ident
	again bool
	back  bool
}

func (h *priorImport) has(n int) bool {
	return h != nil && n/64 < len(h.lines) && h.lines[n/64]&(1<<(n%64)) != 0
}

func (h *priorImport) keep(n int) {
	for n/64 >= len(h.lines) {
		h.lines = append(h.lines, 0)
	}
	h.lines[n/64] |= 1 << (n % 64)
}

const deletedInSource = "the session was deleted, but forks of it still need the id"

// findPriorImport looks for an earlier import of the source. proceed is false if there is nothing
// left to import.
func (in *importer) findPriorImport() (proceed bool, err error) {
	id := in.rep.Session
	p, err := in.to.Store().List(in.ctx, session.Query{ID: id})
	if err != nil || len(p.Sessions) == 0 {
		return err == nil, err
	}
	m := p.Sessions[0]
	taken := func(detail, hint string) error {
		return &session.Error{Op: "import", Session: id, Err: session.ErrExists, Detail: detail, Hint: hint}
	}
	if m.Deleted {
		return false, taken(deletedInSource, "")
	}
	if m.Trashed != "" {
		in.rep.warn(0, "session %s is in the trash: nothing was imported", id)
		return false, nil
	}
	mapping, ok, err := in.mapping(m)
	if err != nil {
		return false, err
	}
	if !ok || mapping.Format != in.src.Format || mapping.Session != in.seen.session {
		return false, taken("the stored session was not imported from this file", "holdfast sessions show "+id)
	}
	same, err := in.prefixUnchanged(mapping)
	switch {
	case err != nil:
		return false, err
	case !same:
		in.rep.warn(0, "the file changed since it was imported; session %s is unchanged. To import again, delete it first", id)
		return false, nil
	case mapping.Bytes == in.size:
		in.rep.Status = Unchanged
		return false, nil
	}
	h := &priorImport{meta: m, mapping: mapping}
	if err := in.loadPrior(h); err != nil {
		return false, err
	}
	if h.foreign != 0 {
		in.rep.warn(0, "session %s was continued here since it was imported (record %d): the %d new bytes of the file were not imported", id, h.foreign, in.size-mapping.Bytes)
		return false, nil
	}
	in.prior, in.at = h, m.UpdatedAt
	in.w = &writer{ctx: in.ctx, to: in.to, id: id, dry: in.o.DryRun, head: m.Head, prev: m.HeadDigest, last: m.UpdatedAt}
	in.rep.Status = Continued
	return true, nil
}

// mapping returns how much of the source was read.
func (in *importer) mapping(m session.Meta) (vendorMapping, bool, error) {
	for r, err := range in.to.Store().Read(in.ctx, m.ID, session.Range{Reverse: true}) {
		if err != nil {
			return vendorMapping{}, false, err
		}
		if got, ok := readMapping(&r); ok {
			return got, true, nil
		}
	}
	return vendorMapping{}, false, nil
}

// prefixUnchanged reports whether the file still starts with what was read before.
func (in *importer) prefixUnchanged(m vendorMapping) (bool, error) {
	if m.Bytes > in.size {
		return false, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(in.file, 0, m.Bytes)); err != nil {
		return false, err
	}
	var sum session.Digest
	h.Sum(sum[:0])
	if sum != m.SHA256 {
		return false, nil
	}
	if m.Open && m.Bytes < in.size { // after a line without a line break, only a line break may follow
		next := make([]byte, 1)
		if _, err := in.file.ReadAt(next, m.Bytes); err != nil || next[0] != '\n' {
			return false, err
		}
	}
	return true, nil
}

// loadPrior reads what earlier imports of the source stored in the log.
func (in *importer) loadPrior(h *priorImport) error {
	for r, err := range in.to.Store().Read(in.ctx, h.meta.ID, session.Range{}) {
		if err != nil {
			return err
		}
		if err := r.Check(); err != nil {
			return err
		}
		if !h.note(&r) && h.foreign == 0 {
			h.foreign = r.Seq
		}
		if err := originalLines(&r, in.src.Format, func(k originalLine) error { h.keep(k.n); return nil }); err != nil {
			return fmt.Errorf("record %d: %w", r.Seq, err)
		}
	}
	return nil
}

// note processes a record. It reports whether the record belongs to an import or does not
// change the conversation.
func (h *priorImport) note(r *session.Record) bool {
	add := func(item []byte, again bool) bool {
		if originalOf(item) == nil {
			return false
		}
		h.items = append(h.items, importedItem{id: text(field(item, "id")), ident: identOf(headOf(item), again), again: again})
		return true
	}
	switch r.Kind {
	case session.KindItem:
		return add(field(r.Payload, "item"), false)
	case record.KindRewrite:
		by, cut := text(field(r.Payload, "by")), text(field(r.Payload, "cut"))
		switch {
		case by == byImport && cut != "":
			h.items = append(h.items, importedItem{id: cut, ident: backTo(cut).ident(), back: true})
			return true
		case by == byBranchChange && cut != "":
			at := slices.IndexFunc(h.items, func(i importedItem) bool { return i.id == cut && !i.back })
			h.items = h.items[:at+1]
			return at >= 0
		case by == byImport:
			ok := false
			elements(field(r.Payload, "items"), func(item []byte) bool { ok = add(item, true); return false })
			return ok
		}
		return false
	case record.KindOpened, record.KindWorkspaceEvent, record.KindVendorMapped:
		return true
	}
	return r.Kind.Shared()
}

// backTo is the entry for a rollback in the list of items.
func backTo(id string) *item { return &item{id: "back-" + id} }

// headOf returns the part of a stored item before its metadata.
func headOf(item []byte) []byte {
	var head []byte
	members(item, func(key string, v []byte) bool {
		if key == "metadata" {
			head = item[:cap(item)-cap(v)-len(`,"metadata":`)]
		}
		return head == nil
	})
	return head
}

// ident returns the ident of an item in its stored form.
func (in *importer) ident(it *item) ident {
	if in.o.Mask == nil {
		return it.ident()
	}
	b := it.head([]byte(`{"item":`))
	masked, _ := in.o.Mask.JSON(append(b, "}}"...))
	return identOf(masked[len(`{"item":`):len(masked)-2], it.again)
}

// endBranch ends the branch of an earlier import before the item with index at of the source. The
// items of that branch from this index on are removed.
func (in *importer) endBranch(at int) error {
	h := in.prior
	h.diverged = true
	if at >= len(h.items) {
		return nil
	}
	if len(in.ids) == 0 {
		h.again = true
		return nil
	}
	last := in.ids[len(in.ids)-1]
	if !slices.Contains(transcriptOf(h.items), last) {
		return &session.Error{
			Op: "import", Session: in.rep.Session, Err: session.ErrConflict,
			Detail: "the file now has another branch that starts before a compaction", Hint: "delete the session and import the file again",
		}
	}
	in.rep.warn(0, "the conversation now has another branch: the import continued after item %s", last)
	return in.cut(last, byBranchChange)
}

// transcriptOf lists the ids of the transcript that results from these items.
func transcriptOf(items []importedItem) []string {
	var ids []string
	for _, it := range items {
		switch {
		case it.back:
			ids = ids[:slices.Index(ids, it.id)+1]
		case it.again:
			ids = []string{it.id}
		default:
			ids = append(ids, it.id)
		}
	}
	return ids
}

// upTo returns the number of items in the transcript up to and including the item with this id, or
// 0 if the transcript does not have it.
func (in *importer) upTo(id string) int { return slices.Index(in.ids, id) + 1 }
