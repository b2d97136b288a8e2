package file

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// A summary made before approval requests or runs were counted is ignored.
func TestOldSummaryRebuilt(t *testing.T) {
	for _, format := range []int{0, 2} {
		t.Run(strconv.Itoa(format), func(t *testing.T) { foldedAnew(t, format) })
	}
}

func foldedAnew(t *testing.T, format int) {
	t.Helper()
	dir := fastDir(t)
	s := openStore(t, dir)
	a, lease := begin(t, s, "s")
	add(t, s, a, lease.Epoch, a.items(3, 200)...)
	add(t, s, a, lease.Epoch, a.record(record.KindApprovalAsked, []byte(`{"id":"q"}`)))
	add(t, s, a, lease.Epoch, a.record(record.KindRunEvent, []byte(`{"status":"running"}`)))
	if err := s.Release(t.Context(), "s", lease); err != nil {
		t.Fatal(err)
	}
	s.Close()
	name := filepath.Join(dir, "s", metaName)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := decodeSummary(b); !ok || m.Format != summaryFormat || m.Meta.OpenApprovals != 1 {
		t.Fatalf("%+v", m)
	}
	var fields map[string]any
	if err := json.Unmarshal(b[9:], &fields); err != nil {
		t.Fatal(err)
	}
	delete(fields, "format")
	delete(fields["meta"].(map[string]any), "run")
	if format == 0 {
		delete(fields["meta"].(map[string]any), "questions")
	} else {
		fields["format"] = format
	}
	old, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	line := append(make([]byte, 8), ' ')
	putHex(line, checksum(old))
	line = append(append(line, old...), '\n')
	if m, ok := decodeSummary(line); !ok || m.Format != format || m.Meta.Run != "" || m.End == 0 {
		t.Fatalf("%+v", m)
	}
	if err := os.WriteFile(name, line, 0o600); err != nil {
		t.Fatal(err)
	}

	s = openStore(t, dir)
	p, err := s.List(t.Context(), session.Query{WithApprovals: true, Run: "running"})
	if err != nil || len(p.Sessions) != 1 || p.Sessions[0].OpenApprovals != 1 || p.Sessions[0].MessageCount != 3 {
		t.Fatalf("%+v, %v", p, err)
	}
	// The next writer continues from there and saves a summary of the current format.
	lease = take(t, s, "s")
	add(t, s, a, lease.Epoch, a.record(record.KindApprovalAsked, []byte(`{"id":"r"}`)))
	if err := s.Release(t.Context(), "s", lease); err != nil {
		t.Fatal(err)
	}
	if b, err = os.ReadFile(name); err != nil || !bytes.Contains(b, []byte(`"questions":2`)) {
		t.Fatalf("%s, %v", b, err)
	}
}

// Reading behind the head is what a waiting session does all the time.
func TestReadPastHead(t *testing.T) {
	s := openStore(t, fastDir(t))
	a, lease := begin(t, s, "s")
	add(t, s, a, lease.Epoch, a.items(3, 200)...)
	for _, after := range []int64{4, 5, 1 << 40} {
		if got, faults := readAll(t, s, "s", session.Range{After: after}); len(got) != 0 || faults != nil {
			t.Errorf("after %d: %d records, %v", after, len(got), faults)
		}
	}
	add(t, s, a, lease.Epoch, a.item("news"))
	if got, _ := readAll(t, s, "s", session.Range{After: 4}); len(got) != 1 || got[0].Seq != 5 {
		t.Errorf("%+v", got)
	}
}
