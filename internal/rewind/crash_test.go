package rewind

import (
	"crypto/sha256"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func TestAllOrNothing(t *testing.T) {
	for _, c := range []struct {
		name, why string
		do        func(d *rewindEnv, h *editor)
		o         Options
	}{
		{"too large", "too large", func(d *rewindEnv, h *editor) {
			d.put("b", strings.Repeat("x", record.MaxSaved+1))
			h.edits("b", "small")
		}, Options{}},
		{"a secret", record.OmittedMasked, func(d *rewindEnv, h *editor) {
			h.saved(&record.FileSaved{Path: d.path("a"), Existed: true, Mode: "644", Digest: "00", Omitted: record.OmittedMasked})
		}, Options{}},
		{"a secret in the path", "secret", func(d *rewindEnv, h *editor) {
			h.saved(&record.FileSaved{Path: d.path("[secret:x]"), Digest: record.FileAbsent, Omitted: record.OmittedMasked})
		}, Options{}},
		{"outside", "outside", func(_ *rewindEnv, h *editor) {
			h.saved(&record.FileSaved{Path: "/nowhere/x", Digest: record.FileAbsent, After: "00"})
		}, Options{}},
		{"not absolute", "absolute", func(_ *rewindEnv, h *editor) {
			h.saved(&record.FileSaved{Path: "../x", Digest: record.FileAbsent})
		}, Options{}},
		{"a folder now", "directory", func(d *rewindEnv, h *editor) {
			h.edits("b", "b1")
			d.put("b", "")
			d.put("b/c", "x")
		}, Options{Force: true}},
		{"a link now", "leads to another place", func(d *rewindEnv, h *editor) {
			h.edits("b", "b1")
			d.put("b", "")
			d.must(os.Symlink("a", d.path("b")))
		}, Options{Force: true}},
		{"a link out", "outside", func(d *rewindEnv, h *editor) {
			h.edits("x/b", "b1")
			d.must(os.RemoveAll(d.path("x")))
			d.must(os.Symlink("/tmp", d.path("x")))
		}, Options{Force: true}},
		{"no content", "not in the log", func(d *rewindEnv, h *editor) {
			h.saved(&record.FileSaved{Path: d.path("a"), Existed: true, Mode: "644", Digest: "00"})
		}, Options{Force: true}},
		{"a content that is another", "does not match", func(d *rewindEnv, h *editor) {
			data, _ := record.PackContent([]byte("x"))
			h.saved(&record.FileSaved{Path: d.path("a"), Existed: true, Mode: "644", Digest: strings.Repeat("0", 64), Data: data})
		}, Options{Force: true}},
		{"a mode that is none", "mode", func(d *rewindEnv, h *editor) {
			data, _ := record.PackContent([]byte("x"))
			h.saved(&record.FileSaved{Path: d.path("a"), Existed: true, Mode: "4755", Digest: session.Digest(sha256.Sum256([]byte("x"))).String(), Data: data})
		}, Options{Force: true}},
		{"the same as one that is none", "no longer in the log", func(d *rewindEnv, h *editor) {
			h.saved(&record.FileSaved{Path: d.path("a"), Existed: true, Mode: "644", Digest: strings.Repeat("0", 64), SameAs: 1})
		}, Options{Force: true}},
		{"the same as one that will be", "is missing", func(d *rewindEnv, h *editor) {
			h.saved(&record.FileSaved{Path: d.path("a"), Existed: true, Mode: "644", Digest: strings.Repeat("0", 64), SameAs: 1000})
		}, Options{Force: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newRewindEnv(t, memory.New())
			d.put("a", "a1")
			d.put("ok", "o1")
			h := d.begin(session.Opened{})
			c.o.Seq = h.says("i")
			h.edits("ok", "o2")
			c.do(d, h)
			id := h.ends()
			was := d.allFiles()
			_, err := d.plan(id, c.o).Apply(t.Context())
			if !errors.Is(err, ErrBlocked) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%v", err)
			}
			d.wantFiles(was)
		})
	}
}

// TestCrashDuringApply: after any number of files, a second rewind restores the rest.
func TestCrashDuringApply(t *testing.T) {
	errCrash := errors.New("crash")
	for after := 1; after <= 4; after++ {
		d := newRewindEnv(t, memory.New())
		d.put("a", "a1")
		d.put("b", "b1")
		h := d.begin(session.Opened{})
		start := h.says("i")
		h.edits("a", "a2")
		h.edits("b", "b2")
		h.edits("c", "c2")
		h.edits("d/e", "e2")
		h.says("i2")
		id := h.ends()
		o := Options{Seq: start, Transcript: true, afterFile: func(n int) error {
			if n == after {
				return errCrash
			}
			return nil
		}}
		if _, err := d.plan(id, o).Apply(t.Context()); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		o.afterFile = nil
		d.apply(id, o)
		d.wantFiles("a=a1 b=b1")
		if m, err := d.s.Get(t.Context(), id); err != nil || m.MessageCount != 1 {
			t.Errorf("%d items, %v", m.MessageCount, err)
		}
	}
	// After a crash between the record and the file, the file still has the recorded content.
	d := newRewindEnv(t, memory.New())
	d.put("a", "a1")
	h := d.begin(session.Opened{})
	start := h.says("i")
	h.edits("a", "a2")
	data, _ := record.PackContent([]byte("a2"))
	h.saved(&record.FileSaved{Path: d.path("a"), Existed: true, Mode: "644", Digest: session.Digest(sha256.Sum256([]byte("a2"))).String(), Data: data, After: session.Digest(sha256.Sum256([]byte("a3"))).String()})
	d.apply(h.ends(), Options{Seq: start})
	d.wantFiles("a=a1")
}

// The model is notified of restored files even if the crash comes after the last file.
func TestCrashStillNotifies(t *testing.T) {
	errCrash := errors.New("crash")
	for after := 1; after <= 2; after++ {
		d := newRewindEnv(t, memory.New())
		d.put("a", "a1")
		h := d.begin(session.Opened{})
		start := h.says("i")
		h.edits("a", "a2")
		h.edits("b", "b2")
		id := h.ends()
		_, err := d.plan(id, Options{Seq: start, afterFile: func(n int) error {
			if n == after {
				return errCrash
			}
			return nil
		}}).Apply(t.Context())
		if !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		reported := ""
		for r, err := range d.s.Records(t.Context(), id, session.Range{After: start}) {
			d.must(err)
			if r.Kind == session.KindItem {
				reported += string(r.Payload)
			}
		}
		for _, want := range []string{d.path("a") + ": restored", d.path("b") + ": deleted"} {
			if !strings.Contains(reported, want) {
				t.Errorf("after %d files: %q is missing in the notification: %s", after, want, reported)
			}
		}
	}
}
