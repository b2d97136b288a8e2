package session_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func savedFile(t *testing.T, use, path, content, after string) session.Draft {
	t.Helper()
	data, ok := record.PackContent([]byte(content))
	if !ok {
		t.Fatal("not saved")
	}
	f := record.FileSaved{
		Use: use, Path: path, Existed: true, Mode: "644", Size: int64(len(content)),
		Digest: session.Digest(sha256.Sum256([]byte(content))).String(), After: session.Digest(sha256.Sum256([]byte(after))).String(), Data: data,
	}
	payload, err := f.Payload()
	if err != nil {
		t.Fatal(err)
	}
	return session.Draft{Kind: record.KindFileSaved, Payload: payload}
}

func TestSavedDataUnchanged(t *testing.T) {
	random := make([]byte, 100_000)
	_, _ = rand.Read(random)
	for _, content := range [][]byte{nil, []byte("text\n"), {0xff, 0, 0x80}, random, bytes.Repeat([]byte("a"), record.MaxSaved)} {
		d, ok := record.PackContent(content)
		if !ok {
			t.Fatalf("%d bytes are not saved", len(content))
		}
		got, err := d.Content(session.Digest(sha256.Sum256(content)).String())
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes came back as %d: %v", len(content), len(got), err)
		}
	}
	if _, ok := record.PackContent(make([]byte, record.MaxSaved+1)); ok {
		t.Error("a content beyond the bound was taken")
	}
	for name, d := range map[string]record.SavedData{"no base64": "%%", "no gzip": "aGFsbG8=", "another content": "H4sIAAAAAAAE/wMAAAAAAAAAAAA="} {
		if _, err := d.Content(session.Digest(sha256.Sum256([]byte("x"))).String()); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// TestSavedFilesAreRedacted erases a content by number, by what it has, and with the use
// that wrote it: path and digests stay, so that whoever goes back knows that it is gone.
func TestSavedFilesAreRedacted(t *testing.T) {
	ctx := context.Background()
	mask := func(p json.RawMessage) json.RawMessage {
		return bytes.ReplaceAll(p, []byte("geheim"), []byte("[gone]"))
	}
	for _, c := range []struct {
		name string
		o    session.RedactOptions
		gone []int64
		why  string
	}{
		{"by number", session.RedactOptions{Seqs: []int64{3}}, []int64{3}, "erased"},
		{"by what it has", session.RedactOptions{Mask: mask}, []int64{3}, record.OmittedMasked},
		{"with the use that wrote it", session.RedactOptions{Seqs: []int64{2}}, []int64{3, 4}, "erased"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := session.New(memory.New(), nil)
			l, err := s.Create(ctx, session.Opened{SessionID: "s"})
			if err != nil {
				t.Fatal(err)
			}
			item := session.Draft{Kind: session.KindItem, Payload: []byte(`{"item":{"role":"assistant","id":"i","parts":[{"type":"tool_use","id":"u1","name":"Write","input":{}}]}}`)}
			result := session.Draft{Kind: session.KindItem, Payload: []byte(`{"item":{"role":"tool","id":"r","parts":[{"type":"tool_result","use_id":"u1","content":[]}]}}`)}
			if _, err := l.Append(ctx, item, savedFile(t, "u1", "/w/a", "das ist geheim", "neu"), savedFile(t, "u2", "/w/a", "neu", "neuer"), result); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Redact(ctx, "s", c.o); err != nil {
				t.Fatal(err)
			}
			for r, err := range s.Effective(ctx, "s", session.Range{}) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Kind != record.KindFileSaved {
					continue
				}
				var f record.FileSaved
				if err := json.Unmarshal(r.Payload, &f); err != nil {
					t.Fatal(err)
				}
				gone := false
				for _, seq := range c.gone {
					gone = gone || seq == r.Seq
				}
				switch {
				case f.Path != "/w/a" || len(f.Digest) != 64:
					t.Errorf("record %d lost its path: %+v", r.Seq, f)
				case gone && (f.Data != "" || f.Omitted != c.why):
					t.Errorf("record %d has data %q, omitted %q", r.Seq, f.Data, f.Omitted)
				case !gone && f.Data == "":
					t.Errorf("record %d lost its content", r.Seq)
				}
			}
			if _, err := s.Verify(ctx, "s"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSavedFilesAreMasked checks that a masking store drops a file content with a secret,
// although its compressed form does not show it.
func TestSavedFilesAreMasked(t *testing.T) {
	mask := func(p json.RawMessage) json.RawMessage {
		return bytes.ReplaceAll(p, []byte("geheim"), []byte("[gone]"))
	}
	for content, found := range map[string]bool{"das ist geheim": true, "das ist keins": false} {
		d := savedFile(t, "u", "/w/a", content, "")
		r := session.Record{Kind: d.Kind, Payload: d.Payload}
		out, masked := r.Mask(mask)
		if masked != found {
			t.Errorf("%q: masked %v", content, masked)
		}
		if found && (strings.Contains(string(out), `"data"`) || !strings.Contains(string(out), record.OmittedMasked)) {
			t.Errorf("%q: %s", content, out)
		}
		again := session.Record{Kind: d.Kind, Payload: out}
		if _, masked := again.Mask(mask); masked {
			t.Errorf("%q: masked twice", content)
		}
	}
	d := savedFile(t, "u", "/w/geheim", "nichts", "")
	r := session.Record{Kind: d.Kind, Payload: d.Payload}
	out, masked := r.Mask(mask)
	if !masked || !strings.Contains(string(out), "/w/[gone]") || strings.Contains(string(out), `"data"`) {
		t.Errorf("a path: %v %s", masked, out)
	}
}
